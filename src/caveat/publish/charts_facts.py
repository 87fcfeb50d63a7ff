"""What is said of a distribution beside its curve: the run's own percentiles, why one is absent, and the limit.

The same words stand on pictures and on screens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from caveat.figures import Figure, Row, Run, limit_percentile
from caveat.measure import Cdf, observed_words
from caveat.units import format_seconds

_USUAL = ("p50", "p90", "p99")
_ABSENT = "absent: "  # how a run's note begins that says why a figure is not there
# The reason why an interval for a percentile could not be made; a test holds it against what is written.
_FEW = re.compile(
    r"found (?P<found>[\d,]+) requests?(?: tell as much as (?P<told>[\d,]+) independent ones)?, "
    r"expected (?P<needed>[\d,]+) for an interval"
)


class Percentile(NamedTuple):
    """A percentile of the run on a curve: its name, its row, and the share of all requests where the curve has it."""

    name: str
    row: Row
    share: float


class Limit(NamedTuple):
    """A latency limit of the run's conditions."""

    seconds: float
    words: str


def percentiles(figure: Figure, cdf: Cdf) -> list[Percentile]:
    """The usual ones and that of the limits, as far as the run could state them."""
    found = ((name, figure.run.row(f"{cdf.definition}.{name}")) for name in _names(figure))
    return [Percentile(name, row, _share(name) * cdf.n / cdf.of) for name, row in found if row is not None]


def facts(figure: Figure, cdf: Cdf) -> str:
    """`p50 50.4 ms, p90 52.9 ms; too few independent requests for p99 (137 of 368)`."""
    return "; ".join(_facts(figure, cdf))


def _facts(figure: Figure, cdf: Cdf) -> Iterator[str]:
    known = {one.name: one.row for one in percentiles(figure, cdf)}
    yield from _listed(f"{name} {_value(row)}" for name, row in known.items() if row.spread is not None)
    seen = observed_words(figure.run)
    observed = {name: _value(row) for name, row in known.items() if row.spread is None}
    observed |= {name: seen[key] for name in _names(figure) if (key := f"{cdf.definition}.{name}") in seen}
    for said in _listed(f"{name} {observed[name]}" for name in sorted(observed, key=_share)):
        yield f"{said} observed, no interval"
    absent = [name for name in _names(figure) if name not in known and name not in observed]
    yield from _absences({name: why_absent(figure.run, f"{cdf.definition}.{name}") for name in absent})


def _listed(said: Iterable[str]) -> list[str]:
    """One text of several, none of none."""
    return [text] if (text := ", ".join(said)) else []


def _value(row: Row) -> str:
    return format_seconds(row.value)


def _absences(reasons: dict[str, str]) -> Iterator[str]:
    """Too few requests in one clause for all percentiles; every other reason as the run's notes have it."""
    few = {name: found for name, reason in reasons.items() if (found := _FEW.match(reason))}
    said = (f"{name} ({found['told'] or found['found']} of {found['needed']})" for name, found in few.items())
    yield from (f"too few independent requests for {text}" for text in _listed(said))
    yield from (
        f"{name} absent: {reason}" if reason else f"{name} absent"
        for name, reason in reasons.items()
        if name not in few
    )


def why_absent(run: Run, key: str) -> str:
    """Why a run has no such row, as its notes say it; empty where they say nothing."""
    for note in run.notes:
        keys, _, reason = note.removeprefix(_ABSENT).partition(": ")
        if note.startswith(_ABSENT) and key in keys.split(", "):
            return reason
    return ""


def limit_of(figure: Figure, name: str) -> Limit | None:
    """The limit on `ttft`, `tpot` or `latency`, and at which percentile it is: `limit 5.2 ms at p90`."""
    seconds = figure.conditions.number(f"{name}_limit_s") if name else None
    if seconds is None:
        return None
    at = limit_percentile(figure.conditions)
    return Limit(seconds, f"limit {format_seconds(seconds)}{f' at {at}' if at else ''}")


def _names(figure: Figure) -> list[str]:
    return sorted({*_USUAL, limit_percentile(figure.conditions) or _USUAL[0]}, key=_share)


def _share(name: str) -> float:
    return float(name.removeprefix("p")) / 100
