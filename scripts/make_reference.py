"""Make the reference pages of docs/ from the code: conditions, metrics, workloads, rules, caveats, problems, errors,
command line, features of the simulator.

python scripts/make_reference.py           write them
python scripts/make_reference.py --check   fail if one is not what the code says
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import msgspec
from workload_page import default_of, workloads_page

DOCS = Path(__file__).parent.parent / "docs"
ACTIONS = {"simulate": ("run",)}
"""Actions of a verb whose options stand on a page of their own."""
MADE = "<!-- made by scripts/make_reference.py; change the code, not this page -->\n"


def pages() -> Iterator[tuple[str, str]]:
    """Every page as (path below docs, Markdown)."""
    yield "conditions.md", conditions_page()
    yield "metrics.md", metrics_page()
    yield "workloads.md", workloads_page()
    yield "loopback.md", loopback_page()
    yield "problems.md", problems_page()
    yield "error-classes.md", error_classes_page()
    yield "command-line.md", command_line_page()
    yield from rule_pages()
    yield from caveat_pages()
    yield from simulator_pages()


def conditions_page() -> str:
    from caveat.figures import GROUPS, TABLE

    lines = [
        "# Conditions",
        "",
        "Every condition of a run is *known*, *undisclosed* or *not applicable*. A value that is missing is never",
        "zero and never assumed. These are the keys of `--where` and `--columns`; parts of lengths and numbers take a",
        "dot: `output_tokens.mean`.",
    ]
    for group in GROUPS:
        lines += ["", f"## {group}", "", "| key | kind | unit | meaning |", "| --- | --- | --- | --- |"]
        for row in (row for row in TABLE if row.group == group):
            allowed = f" One of: {', '.join(row.allowed)}." if row.allowed else ""
            lines.append(f"| `{row.key}` | {row.kind} | {row.unit} | {row.meaning}.{allowed} |")
    return "\n".join(lines) + "\n"


def metrics_page() -> str:
    from caveat.figures import METRICS

    lines = [
        "# Metrics",
        "",
        "A metric is a definition, not a word. Two figures may be compared only if their keys are equal.",
    ]
    definitions = dict.fromkeys(metric.definition for metric in METRICS.values())
    for definition in definitions:
        metrics = [metric for metric in METRICS.values() if metric.definition == definition]
        first = metrics[0]
        meaning = first.meaning.removeprefix(f"{first.statistic} of: ")
        lines += [
            "",
            f"## {definition}",
            "",
            f"{meaning}.",
            "",
            f"- name: `{first.name}`, unit `{first.unit}`, better: {first.better}",
            f"- window: {first.window}",
            f"- tokens counted: {first.token_source}",
            f"- percentiles: {next((m.percentile_method for m in metrics if m.percentile_method != 'none'), 'none')}",
            f"- source: {first.source}",
            f"- keys: {', '.join(f'`{metric.key}`' for metric in metrics)}",
        ]
    return "\n".join(lines) + "\n"


LOOPBACK = """\
# Loopback

`caveat loopback` is an OpenAI-compatible endpoint that answers in known times and logs the truth about every request.
It calibrates this machine's generator, and stands in for a server in tests and in these pages. Options say the usual:

```text
caveat loopback --port 8000 --ttft 100ms --itl 20ms
caveat loopback --ttft 'lognormal(200ms, 0.6)' --slots 8
```

A delay is a time (`100ms`; a bare number is seconds) or a law: `exponential(mean)`, `lognormal(median, sigma)`, sigma
being the deviation of the logarithm. All the rest stands in a TOML file, `--behaviour FILE`, where times are seconds:

```toml
# behaviour.toml
ttft_s = "lognormal(0.2, 0.6)"
itl_s = 0.02
slots = 8
tokens_per_chunk = 4

[[faults]]
kind = "stall"
rate = 0.05
seconds = 2.0
```
"""


def loopback_page() -> str:
    from caveat.loopback import Behaviour, Fault

    parts = [LOOPBACK]
    for title, record in (("Settings", Behaviour), ("Faults", Fault)):
        shown = inspect.cleandoc(record.__doc__ or "")
        head = "`[[faults]]`, several may be given.\n\n" if record is Fault else ""
        fields = msgspec.structs.fields(record)
        defaults = ["| setting | default |", "| --- | --- |"]
        defaults += [f"| `{field.name}` | {default_of(field)} |" for field in fields]
        parts += [f"## {title}\n\n{head}```text\n{shown}\n```\n", *defaults, ""]
    return "\n".join(parts).rstrip() + "\n"


def problems_page() -> str:
    from caveat.importers import PROBLEM_CODES

    lines = [
        "# Problems of an import",
        "",
        "Each problem names a code, a file, where possible a line, what was found and what was expected. One bad file",
        "never stops a tree. `caveat import` exits with 1 if there was any.",
        "",
        "| code | what is wrong | what was expected |",
        "| --- | --- | --- |",
        *(f"| `{code}` | {wrong} | {expected} |" for code, (wrong, expected) in sorted(PROBLEM_CODES.items())),
    ]
    return "\n".join(lines) + "\n"


def error_classes_page() -> str:
    from caveat.loadgen import CLASSES, CLIENT_LIMITS

    lines = [
        "# Error classes of requests",
        "",
        "A request that fails is a sample with one of these classes (`error_class`) and a text (`error_text`), never a",
        "missing row. It counts in the error rate, and in goodput as a request that met no limit. What ended with no",
        "error has neither.",
        "",
        "| class | what happened | whose limit |",
        "| --- | --- | --- |",
    ]
    for name, happened in CLASSES.items():
        said = happened.removesuffix(": the client's own limit")
        whose = "the client's: the run says nothing of the server" if name in CLIENT_LIMITS else ""
        lines.append(f"| `{name}` | {said} | {whose} |")
    return "\n".join(lines) + "\n"


def command_line_page() -> str:
    from caveat.cli.main import COMMANDS, overview

    os.environ["COLUMNS"] = "100"
    lines = ["# Command line", "", "```text", overview(), "```"]
    for verb in COMMANDS:
        lines += ["", f"## caveat {verb.name}", "", "```text", help_of(verb.name), "```"]
        for action in ACTIONS.get(verb.name, ()):
            lines += ["", f"### caveat {verb.name} {action}", "", "```text", help_of(verb.name, action), "```"]
    return "\n".join(lines) + "\n"


def help_of(*verb: str) -> str:
    from caveat.cli.main import main

    text = io.StringIO()
    with redirect_stdout(text):
        main([*verb, "--help"])
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())


def rule_pages() -> Iterator[tuple[str, str]]:
    from caveat.compare import RULES

    index = [
        "# Rules of comparison",
        "",
        "`caveat compare` asks every rule. The verdict is the worst of its findings:",
        "not-comparable > unknown > comparable-with-caveats > comparable.",
        "",
        "| rule | what it asks | where a value is undisclosed |",
        "| --- | --- | --- |",
    ]
    for rule in RULES:
        index.append(f"| [{rule.id}]({rule.id}.md) | {rule.title} | {rule.undisclosed} |")
        yield f"rules/{rule.id}.md", f"# {rule.id}\n\n{inspect.cleandoc(rule.ask.__doc__ or '')}\n"
    yield "rules/README.md", "\n".join(index) + "\n"


def caveat_pages() -> Iterator[tuple[str, str]]:
    from caveat.caveats import CATALOGUE

    index = [
        "# Caveats",
        "",
        "What one must know before using a figure of a certain kind. `caveat explain ID` prints the page with evidence",
        "that is computed from the ledger at hand; no number is typed into a page.",
        "",
        "| id | what one must know |",
        "| --- | --- |",
        *(f"| `{caveat.id}` | {caveat.title} |" for caveat in CATALOGUE),
    ]
    yield "caveats.md", "\n".join(index) + "\n"


# page below docs/simulator, module of caveat.simulator, its settings
FEATURES = (
    ("disaggregation", "disaggregation", "Disaggregation"),
    ("several-models", "several_models", "SeveralModels"),
    ("autoscaling", "autoscaling", "Autoscaling"),
    ("failures", "failures", "Failures"),
    ("explain", "explain", "Question"),
    ("ablate", "ablate_sides", "Assumed"),
)


def simulator_pages() -> Iterator[tuple[str, str]]:
    """From the heads of the modules and the docstrings of their settings, whose fields and defaults follow."""
    from caveat.simulator import FleetTable

    for page, module_name, settings_name in FEATURES:
        module = importlib.import_module(f"caveat.simulator.{module_name}")
        head = importlib.import_module(f"caveat.simulator.{page}") if page == "ablate" else module
        settings = getattr(module, settings_name)
        title, _, rest = inspect.cleandoc(head.__doc__ or "").partition(": ")
        shown = inspect.cleandoc(settings.__doc__ or "")
        if module_name in FleetTable.__struct_fields__:
            shown = f"[fleet.{module_name}] in a model file, or --set fleet.{module_name}.KEY=VALUE\n\n{shown}"
        defaults = ["| setting | default |", "| --- | --- |", *_defaults(settings)]
        said = rest[0].upper() + rest[1:]
        for opening in ("What it models. ", "What it leaves out. ", "Limit case. ", "In the load fraction. "):
            said = said.replace(opening, f"## {opening.rstrip('. ')}\n\n")
        body = f"# {title}\n\n{said}\n\n## Settings\n\n```text\n{shown}\n```\n\n"
        yield f"simulator/{page}.md", body + "\n".join(defaults) + "\n"


def _defaults(settings: type) -> Iterator[str]:
    for field in msgspec.structs.fields(settings):
        default = "none: it must be given" if field.required else f"`{field.default}`"
        yield f"| `{field.name}` | {default} |"


def main(argv: list[str]) -> int:
    stale = []
    for name, text in pages():
        path = DOCS / name
        wanted = MADE + text
        if path.exists() and path.read_text() == wanted:
            continue
        stale.append(name)
        if "--check" not in argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted)
    if stale and "--check" in argv:
        print(f"not what the code says: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    print(f"{len(stale)} pages written" if "--check" not in argv else "all pages are what the code says")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
