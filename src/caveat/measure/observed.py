"""What was observed where no figure could be made: percentiles without an interval, as notes of a Run and back.

A note holds words, not a value: nothing compares, exports or plots it. It is written and read here alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caveat.figures import METRICS, Run
from caveat.measure.rows import Absent

_HEAD = "observed, no interval: "


def observed_notes(absent: Sequence[Absent]) -> Iterator[str]:
    """One note a definition: `observed, no interval: caveat-ttft p50 4.12 s; p90 7.8 s`."""
    found: dict[str, list[str]] = {}
    for one in absent:
        if one.observed:
            metric = METRICS[one.metric]
            found.setdefault(metric.definition, []).append(f"{metric.statistic} {one.observed}")
    yield from (f"{_HEAD}{definition} {'; '.join(said)}" for definition, said in found.items())


def observed_words(run: Run) -> dict[str, str]:
    """What was observed, `4.12 s`, by metric key, of a run's percentiles that have no figure."""
    found: dict[str, str] = {}
    for note in run.notes:
        if not note.startswith(_HEAD):
            continue
        definition, _, rest = note.removeprefix(_HEAD).partition(" ")
        for said in rest.split("; "):
            statistic, _, words = said.partition(" ")
            key = f"{definition}.{statistic}"
            if key in METRICS and run.row(key) is None and words:
                found[key] = words
    return found
