"""What stands above every chart: the figure, its conditions, its validity, its caveats. No chart is made without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from caveat.figures import Check, Conditions, Figure, Run
from caveat.publish.carried import carried
from caveat.publish.text import cut, printable, wrapped
from caveat.units import format_number

_LONGEST = 400  # characters of one condition, whoever wrote it

# The conditions that change how a curve of latencies is read, in the order of the line.
_CONDITIONS = (
    "model",
    "engine",
    "weight_precision",
    "input_tokens",
    "output_tokens",
    "token_source",
    "arrivals",
    "loop",
    "target_qps",
    "concurrency",
    "queries",
    "duration_s",
    "warmup",
    "latency_clock",
    "ttft_limit_s",
    "tpot_limit_s",
    "latency_limit_s",
    "limit_percentile",
    "prefix_caching",
    "harness",
    "run_date",
)


class Head(NamedTuple):
    """The lines above a chart. `alarm` is true where nobody may read the curve without the marks."""

    marks: tuple[str, ...]
    title: str
    lines: tuple[str, ...]
    alarm: bool

    @property
    def heading(self) -> str:
        """Marks and title in one line."""
        return "  ".join((*(f"[{mark}]" for mark in self.marks), self.title))


def marks(figure: Figure) -> tuple[str, ...]:
    """The words that a reader must meet first: what is not measured, not verified or not valid."""
    origin, review = figure.provenance.origin, figure.conditions.words("review")
    said = {
        "SIMULATED": origin == "simulated" or review == "simulated",
        "DERIVED": origin == "derived",
        "UNVERIFIED": review == "unverified",
        "NOT VALID": figure.outcome == "fail",
        "VALIDITY UNKNOWN": figure.outcome == "unknown",
    }
    return tuple(mark for mark, true in said.items() if true)


def untold(run: Run) -> str | None:
    """Why a simulated run's waiting is not drawn, where its load may be too near to what the model carries."""
    failed = (one for one in run.validity if one.aspect == "load fraction" and one.outcome == "fail")
    check = next(failed, None) if run.provenance.origin == "simulated" else None
    return None if check is None else f"waiting is not drawn: {check.sentence}"


def head_of(figure: Figure, *, width: int = 165) -> Head:
    """The head of a chart of one run, in lines of at most `width` characters."""
    known, of = figure.conditions.disclosed()
    texts = (
        figure.summary(),
        *packed([*conditions(figure), f"{known} of {of} conditions disclosed"], width),
        validity_line(figure),
        *filter(None, [untold(figure.run)]),
        f"caveats: {', '.join(name for name, _ in carried(figure)) or 'none'}",
        f"{figure.metric.meaning}; {figure.id}",
    )
    title = f"{figure.text}  {figure.metric.key}"
    return Head(marks(figure), printable(title), _folded(texts, width), figure.outcome == "fail")


def head_of_many(
    figures: Sequence[Figure], title: str, hardware: str, texts: Sequence[str], *, width: int = 165
) -> Head:
    """The head of a chart of several runs: derived values, what the runs share, outcomes, all caveats."""
    said = (
        *packed([f"{len(figures)} runs on {hardware}", *conditions(figures[0], figures)], width),
        *texts,
        f"validity: {_outcomes(figures)}",
        f"caveats: {', '.join(dict.fromkeys(name for figure in figures for name, _ in carried(figure))) or 'none'}",
        f"runs: {', '.join(figure.short_id.partition('.')[0] for figure in figures)}",
    )
    return Head(
        marks_of_many(figures), printable(title), _folded(said, width), all(f.outcome == "fail" for f in figures)
    )


def marks_of_many(figures: Sequence[Figure]) -> tuple[str, ...]:
    """The marks of derived values from several figures: `1 OF 3 NOT VALID` where not all of them have one."""
    counts = Counter(mark for figure in figures for mark in marks(figure))
    counts.pop("DERIVED", None)
    return ("DERIVED", *(m if n == len(figures) else f"{n} OF {len(figures)} {m}" for m, n in counts.items()))


def conditions(figure: Figure, figures: Sequence[Figure] = ()) -> list[str]:
    """`model llama`, `arrivals poisson`, ...: what is known, and of several figures only what they share."""
    c = figure.conditions
    return [
        f"{key.removesuffix('_s').replace('_', ' ')} {_value(c, key)}"
        for key in _CONDITIONS
        if c.state(key) == "known" and all(_value(other.conditions, key) == _value(c, key) for other in figures)
    ]


def packed(parts: Sequence[str], width: int) -> list[str]:
    """Parts joined by semicolons, as many on a line as fit: none is torn from its name."""
    lines = [""]
    for part in map(printable, parts):
        joined = f"{lines[-1]}; {part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= width else [*lines, part]
    return lines


def _value(c: Conditions, key: str) -> str:
    """Of a distribution of lengths the mean and the 99th percentile; everything else as it is."""
    parts = c.numbers(key)
    if "mean" in parts:
        p99 = f", p99 {format_number(parts['p99'])}" if "p99" in parts else ""
        return f"mean {format_number(parts['mean'])}{p99}"
    return cut(c.text(key), _LONGEST)


def validity_line(figure: Figure) -> str:
    """The outcome and, where it is not pass, the sentences of the entries that made it so."""
    said = [_sentence(entry) for entry in figure.validity if entry.outcome == figure.outcome != "pass"]
    return " ".join((f"validity {figure.outcome}.", *said[:3], *([f"And {len(said) - 3} more."] if said[3:] else [])))


def _sentence(entry: Check) -> str:
    return f"{entry.aspect}: {entry.sentence}" if entry.sentence else f"{entry.aspect}."


def _outcomes(figures: Sequence[Figure]) -> str:
    counts = {outcome: sum(figure.outcome == outcome for figure in figures) for outcome in ("pass", "fail", "unknown")}
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)


def _folded(texts: Sequence[str], width: int) -> tuple[str, ...]:
    return tuple(line for text in texts for line in wrapped(text, width, hang=0).splitlines())
