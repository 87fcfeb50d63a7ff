"""The tables of a run: latencies with their percentiles side by side, rates below each other, checks by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from caveat.cli.console import heading, show, show_lines, width
from caveat.figures import Check, Figure, Row, Run, limit_percentile
from caveat.measure import observed_words
from caveat.publish import cell, plain_table
from caveat.units import format_interval, format_quantity

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

# The word of the trade, and the definition that it stands for here. A run has one of the two ways to count tokens.
LATENCIES = (
    ("TTFT", "caveat-ttft"),
    ("TPOT", "caveat-tpot-usage"),
    ("TPOT", "caveat-tpot-client"),
    ("ITL", "caveat-inter-chunk"),
    ("E2E", "caveat-latency"),
)
PERCENTILES = ("p50", "p90", "p99")
RATES = (
    "caveat-request-rate",
    "caveat-output-tokens-rate-usage",
    "caveat-output-tokens-rate-client",
    "caveat-goodput",
    "caveat-goodput-share",
    "caveat-error-rate",
)
FIRST = (
    *RATES,
    *(f"{name}.{p}" for name in ("caveat-ttft", "caveat-tpot-usage", "caveat-latency") for p in PERCENTILES),
)
"""What a prediction is held against."""
IN_SCENARIO = (
    "loadgen-completed-tokens-rate",
    "loadgen-offline-tokens-rate",
    "loadgen-stream-tokens-rate",
    "loadgen-single-stream-latency.p90",
    "loadgen-multi-stream-latency.p99",
    "loadgen-ttft.p99",
    "loadgen-tpot.p99",
    "caveat-certified-ttft.p99",
    "caveat-certified-tpot-usage.p99",
    "caveat-certified-latency.p99",
)
"""Before the rates of a run in a scenario: LoadGen's own definitions, and what early stopping certifies."""
MARKS = {"pass": "ok", "fail": "NO", "unknown": "?", "not applicable": "-"}
_NAMES_WIDE, _PERCENTILE_WIDE = 22, 18  # columns that names, and a percentile with its interval, usually take
_ABSENT = "absent: "  # how a run's note begins that says why a figure is not there


def print_main_tables(run: Run, *, scenario: bool) -> None:
    """Latencies, rates, and why a figure that one looks for first is not there."""
    rates = (*(IN_SCENARIO if scenario else ()), *RATES)
    shown = _percentiles(run)
    if width() >= _NAMES_WIDE + _PERCENTILE_WIDE * len(shown):
        tables = [_latencies(run, shown), rows_table(run, rates)]
    else:
        tables = [rows_table(run, (*_latency_keys(shown), *rates))]
    for table in tables:
        if table.row_count:
            show(cell(""), table)
    show_lines(list(_absences(run, _latency_keys(shown))), indent=0)


def _percentiles(run: Run) -> list[str]:
    """The usual ones and that of the limits."""
    return sorted({*PERCENTILES, limit_percentile(run.conditions) or PERCENTILES[0]}, key=lambda name: float(name[1:]))


def _latency_keys(percentiles: Sequence[str]) -> list[str]:
    return [f"{definition}.{percentile}" for _, definition in LATENCIES for percentile in percentiles]


def _latencies(run: Run, percentiles: Sequence[str]) -> Table:
    """A row a latency; in each cell the value and below it the interval."""
    table = plain_table(["latency", *percentiles, "n"], right=[*percentiles, "n"])
    seen = observed_words(run)
    for name, definition in LATENCIES:
        keys = [f"{definition}.{percentile}" for percentile in percentiles]
        rows = [run.row(key) for key in keys]
        counts = [row.n for row in rows if row is not None and row.n is not None]
        if any(row is not None or key in seen for key, row in zip(keys, rows, strict=True)):
            cells = [_value_cell(row, seen.get(key)) for key, row in zip(keys, rows, strict=True)]
            table.add_row(_two_lines(name, definition), *cells, f"{max(counts):,}" if counts else "")
    return table


def _value_cell(row: Row | None, observed: str | None) -> Text:
    """The figure; where there is none, what was seen, and that it is no figure."""
    if row is not None:
        return _two_lines(format_quantity(row.value, row.definition.unit), interval(row))
    return _two_lines(f"({observed})", "seen, no interval") if observed else _two_lines("absent", "")


def _two_lines(first: str, second: str) -> Text:
    from rich.text import Text

    return Text.assemble(first, "\n" if second else "", (second, "dim"))


def rows_table(run: Run, keys: Sequence[str]) -> Table:
    """A row of the run on each line, those that it has."""
    table = plain_table(["metric", "value", "interval", "n"], right=["value", "n"])
    for key in keys:
        row = run.row(key)
        if row is not None:
            table.add_row(key, cell(Figure(run, key).text), cell(interval(row)), f"{row.n:,}" if row.n else "")
    return table


def interval(row: Row) -> str:
    """`200 to 204 ms`; empty without an interval."""
    if row.spread is None:
        return ""
    return format_interval(row.spread.low, row.spread.high, row.definition.unit)


def _absences(run: Run, keys_shown: Sequence[str]) -> Iterator[str]:
    """`absent: caveat-ttft.p99: found 137 requests, expected 368`, of the latencies of the first table alone."""
    wanted = set(keys_shown) - {row.metric for row in run.rows}
    for note in run.notes:
        if not note.startswith(_ABSENT):
            continue
        keys, _, reason = note.removeprefix(_ABSENT).partition(": ")
        here = [key for key in keys.split(", ") if key in wanted]
        if here:
            yield f"absent: {_folded(here)}: {reason}"


def _folded(keys: Sequence[str]) -> str:
    """`caveat-ttft p50 p99, caveat-latency p99`: a definition once, with what is absent of it."""
    by_definition: dict[str, list[str]] = {}
    for key in keys:
        definition, _, statistic = key.rpartition(".")
        by_definition.setdefault(definition, []).append(statistic)
    return ", ".join(f"{definition} {' '.join(statistics)}" for definition, statistics in by_definition.items())


def print_checks(run: Run) -> None:
    """What did not pass, a sentence each; what passed, in one line."""
    heading("validity")
    others = [check for check in run.validity if check.outcome in ("fail", "unknown")]
    if others:
        show(_checks_table(sorted(others, key=lambda check: check.outcome)))
    for outcome, word in (("pass", "passed"), ("not applicable", "not applicable")):
        counts = Counter(check.aspect for check in run.validity if check.outcome == outcome)
        if counts:
            said = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in counts.items())
            show_lines([f"{MARKS[outcome]:<2}  {word}: {said}"], indent=0, hang=4)


def print_validity(run: Run) -> None:
    """The whole vector, one sentence a line, with its outcome before it."""
    heading("validity")
    show(_checks_table(run.validity))


def _checks_table(checks: Sequence[Check]) -> Table:
    table = plain_table(["", "aspect", "what was found"])
    for check in checks:
        table.add_row(f"{MARKS[check.outcome]:<2}", cell(check.aspect), cell(check.sentence))
    return table
