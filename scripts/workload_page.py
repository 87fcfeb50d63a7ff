"""docs/workloads.md: every part of a workload document with its fields, from the records, and an example of each."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from caveat.workload import (
    AnyShape,
    Arrivals,
    Client,
    Curve,
    Gaps,
    Joint,
    Limits,
    Part,
    Prefixes,
    SampleSet,
    Separate,
    Sessions,
    State,
    Think,
    Window,
    Workload,
    kind_of,
    records_in,
)

HEAD = """\
# Workloads

What can be offered: when requests arrive, how long they are, how they hang together, and where the plan ends. A
workload is a document in TOML or JSON, given as `--workload FILE`, or the part `[workload]` of a
[spec](measuring.md#a-whole-experiment-in-a-file), where every table has `workload.` before its name. This one is whole:

```toml
# chat.toml
name = "assistant, weekday"
seed = 7

[arrivals]
kind = "poisson"
rate_qps = 4.0

[lengths]
kind = "separate"
input = { kind = "fixed", value = 512 }
output = { kind = "fixed", value = 128 }

[limits]
duration_s = 60.0
```

```sh
caveat measure http://127.0.0.1:8000 --workload chat.toml --dry-run
```

Each block below takes the place of the tables that it names, here or in a document of your own; all of them run. A
field or kind that is not known is refused, with those that are. The same as a JSON Schema:
[spec-1.schema.json](../schema/spec-1.schema.json).
"""

SECTIONS: tuple[tuple[str, str, Any], ...] = (
    ("The document", "", Workload | Limits),
    (
        "Arrivals",
        "When requests arrive: `[arrivals]`. Processes with times are open loops, which no answer holds back.",
        Arrivals,
    ),
    ("Parts of arrivals", "What stands inside some of them.", State | Curve | Window | Client),
    ("Gaps", "Families of the times between arrivals, and of think times.", Gaps),
    ("Lengths", "Input and output together: `[lengths]`.", Separate | Joint),
    ("Shapes", "One length, or a number of turns. Tokens are whole, from 1 to 16,777,216.", AnyShape | Part),
    ("Sessions", "Conversations: `[sessions]`. Arrivals are then starts of conversations.", Sessions | Think),
    ("Prefixes", "System prompts that requests share: `[prefixes]`.", Prefixes),
    ("Samples", "A set that requests are taken from: `[samples]`.", SampleSet),
)
"""Heading, what stands below it, and the records of the section."""

SHAPE = '[lengths]\nkind = "separate"\ninput = {}\noutput = {{ kind = "fixed", value = 128 }}'
GAPPED = (
    '[arrivals]\nkind = "diurnal"\ncurve = {{ kind = "sine", mean_qps = 4.0, swing = 0.5, period_s = 60.0 }}\ngaps = {}'
)

EXAMPLES: dict[str, str] = {
    "Limits": "[limits]\nduration_s = 60.0\nrequests = 1000",
    "Constant": '[arrivals]\nkind = "constant"\nrate_qps = 4.0',
    "Poisson": '[arrivals]\nkind = "poisson"\nrate_qps = 4.0',
    "Gamma": '[arrivals]\nkind = "gamma"\nrate_qps = 4.0\ncv = 2.0',
    "Weibull": '[arrivals]\nkind = "weibull"\nrate_qps = 4.0\ncv = 2.0',
    "Mmpp": '[arrivals]\nkind = "mmpp"\nstates = [{ rate_qps = 1.0, mean_s = 20.0 }, { rate_qps = 9.0, mean_s = 5.0 }]',
    "Diurnal": '[arrivals]\nkind = "diurnal"\ncurve = { kind = "sine", mean_qps = 4.0, swing = 0.8, period_s = 60.0 }',
    "Ramp": '[arrivals]\nkind = "ramp"\nfrom_qps = 1.0\nto_qps = 8.0\nover_s = 60.0',
    "Windows": (
        '[arrivals]\nkind = "windows"\nend_s = 60.0\nwindows = [\n  { start_s = 0.0, rate_qps = 2.0 },\n'
        '  { start_s = 30.0, rate_qps = 8.0, gaps = { kind = "gamma", cv = 2.0 } },\n]'
    ),
    "Trace": '[arrivals]\nkind = "trace"\ntimes_ns = [0, 250_000_000, 300_000_000, 2_000_000_000]\nspeed = 1.0',
    "Superposition": (
        '[arrivals]\nkind = "superposition"\nclients = [\n'
        '  { name = "people", arrivals = { kind = "poisson", rate_qps = 3.0 } },\n'
        '  { name = "a job", arrivals = { kind = "constant", rate_qps = 1.0 } },\n]'
    ),
    "Loadgen": '[arrivals]\nkind = "loadgen"\nseed = 1\ntarget_qps = 4.0\nmin_duration_ns = 60_000_000_000',
    "Burst": '[arrivals]\nkind = "burst"\n\n[limits]\nrequests = 1000',
    "Concurrency": '[arrivals]\nkind = "concurrency"\nrequests = 8\n\n[limits]\nrequests = 200',
    "Streams": (
        '[arrivals]\nkind = "streams"\nsamples = 8\nmin_duration_ns = 60_000_000_000\n\n'
        "[samples]\nsize = 64\n\n[limits]\nrequests = 100_000"
    ),
    "Points": (
        '[arrivals]\nkind = "diurnal"\n'
        'curve = { kind = "points", points = [[0.0, 2.0], [30.0, 8.0], [30.0, 2.0], [60.0, 2.0]] }'
    ),
    "Sine": (
        '[arrivals]\nkind = "diurnal"\n'
        'curve = { kind = "sine", mean_qps = 4.0, swing = 0.8, period_s = 60.0, peak_s = 30.0 }'
    ),
    "ConstantGaps": GAPPED.format('{ kind = "constant" }'),
    "ExponentialGaps": GAPPED.format('{ kind = "exponential" }'),
    "GammaGaps": GAPPED.format('{ kind = "gamma", cv = 2.0 }'),
    "WeibullGaps": GAPPED.format('{ kind = "weibull", cv = 2.0 }'),
    "LognormalGaps": GAPPED.format('{ kind = "lognormal", cv = 2.0 }'),
    "Separate": (
        '[lengths]\nkind = "separate"\ninput = { kind = "lognormal", mean = 400.0, cv = 0.8 }\n'
        'output = { kind = "lognormal", mean = 128.0, cv = 0.5 }\n'
        "correlation = 0.3\ninput_max = 8192\noutput_cap = 1024"
    ),
    "Joint": '[lengths]\nkind = "joint"\ncells = [[100, 199, 1, 50, 80], [1000, 1999, 200, 400, 20]]',
    "Fixed": SHAPE.format('{ kind = "fixed", value = 512 }'),
    "Uniform": SHAPE.format('{ kind = "uniform", low = 100, high = 900 }'),
    "Normal": SHAPE.format('{ kind = "normal", mean = 512.0, sd = 64.0 }'),
    "Lognormal": SHAPE.format('{ kind = "lognormal", p50 = 300.0, p90 = 1500.0 }'),
    "Pareto": SHAPE.format('{ kind = "pareto", minimum = 100.0, alpha = 1.5 }'),
    "Geometric": SHAPE.format('{ kind = "geometric", mean = 300.0 }'),
    "Histogram": SHAPE.format('{ kind = "histogram", edges = [1, 128, 512, 4096], counts = [40, 50, 10] }'),
    "Mixture": (
        '[lengths]\nkind = "separate"\noutput = { kind = "fixed", value = 128 }\n\n[lengths.input]\nkind = "mixture"\n'
        'parts = [\n  { weight = 0.9, shape = { kind = "lognormal", mean = 300.0, cv = 1.0 } },\n'
        '  { weight = 0.1, shape = { kind = "pareto", minimum = 2000.0, alpha = 1.5 } },\n]'
    ),
    "Sessions": (
        '[sessions]\nturns = { kind = "geometric", mean = 4.0 }\n'
        'think = { mean_s = 5.0, gaps = { kind = "lognormal", cv = 1.5 } }\ncontext_max = 32_768'
    ),
    "Prefixes": '[prefixes]\nprompts = 10\ntokens = { kind = "fixed", value = 1024 }\nzipf = 1.0\nshare = 0.8',
    "SampleSet": "[samples]\nsize = 64\nseed = 3",
}
"""A part of a document for each record that is not shown inside another's example."""

UNITS = {"_s": "s", "_ns": "ns", "_qps": "requests/s", "_tokens": "tokens", "_max": "tokens", "_cap": "tokens"}
TOKENS = ("value", "low", "high", "mean", "sd", "p50", "p90", "minimum", "edges", "cells", "tokens")
_FIELD = re.compile(r"^(\w+) {2,}(\S.*)$")


def workloads_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for section in SECTIONS for line in _section(*section))]).rstrip() + "\n"


def _section(title: str, intro: str, hint: Any) -> Iterator[str]:
    yield from (f"## {title}", "")
    if intro:
        yield from (intro, "")
    for record in records_in(hint):
        yield from _record(record)


def _record(record: type) -> Iterator[str]:
    about, meanings = taken_apart(record)
    yield from (f"### {_title(record)}", "", about, "")
    fields = msgspec.structs.fields(record)
    if fields:
        yield from ("| field | what | unit | default | meaning |", "| --- | --- | --- | --- | --- |")
        for field in fields:
            cells = (f"`{field.name}`", _type(field.type), _unit(field.name), default_of(field), meanings[field.name])
            yield f"| {' | '.join(cells)} |"
        yield ""
    if record.__name__ in EXAMPLES:
        yield from ("```toml", EXAMPLES[record.__name__], "```", "")


def taken_apart(record: type) -> tuple[str, dict[str, str]]:
    """What a docstring says of a record, and of each of its fields."""
    about: list[str] = []
    meanings: dict[str, str] = {}
    for line in inspect.cleandoc(record.__doc__ or "").splitlines():
        found = _FIELD.match(line)
        if found and found[1] in record.__struct_fields__:  # type: ignore[attr-defined]
            meanings[found[1]] = found[2]
        elif meanings and line.startswith(" "):
            meanings[list(meanings)[-1]] += f" {line.strip()}"
        else:
            about.append(line)
    return "\n".join(about).strip(), meanings


def _title(record: type) -> str:
    """`kind = "gamma"`, or the name of what is the only one at its place."""
    return f'kind = "{kind_of(record)}"' if kind_of(record) else record.__name__


def _unit(name: str) -> str:
    if name in TOKENS:
        return "tokens"
    return next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")


def default_of(field: msgspec.structs.FieldInfo) -> str:
    """As it would stand in a document."""
    if field.required:
        return "must be given"
    if field.default is None:
        return "none"
    return f"`{_plain(field.default)}`"


def _plain(value: object) -> str:
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict):
        plain = {key: each for key, each in plain.items() if each is not None}
    return msgspec.json.encode(plain).decode() if not isinstance(plain, bool) else str(plain).lower()


_WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def _type(hint: Any) -> str:
    """`number`, `list of states`, `gaps`."""
    if hint in _WORDS:
        return _WORDS[hint]
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return f"list of {_type(inside[0])}s" if len(inside) == 2 and inside[1] is ... else "list"
    if origin is typing.Literal:
        return f'"{inside[0]}"'
    if origin in (typing.Union, types.UnionType):
        rest = [each for each in inside if each is not type(None)]
        return _type(rest[0]) if len(rest) == 1 else _family(records_in(hint))
    return _family([hint])


# The first record of a family, and where the family is described.
_FAMILIES: dict[str, str] = {
    "ConstantGaps": "gaps",
    "Fixed": "shapes",
    "Separate": "lengths",
    "Constant": "arrivals",
    "Points": "parts-of-arrivals",
}


def _family(records: Sequence[type]) -> str:
    name = records[0].__name__
    if name in _FAMILIES:
        place = _FAMILIES[name]
        return f"[{'curve' if name == 'Points' else place.removesuffix('s') if place != 'gaps' else place}](#{place})"
    return f"[{name.lower()}](#{name.lower()})"
