"""The published value of a table row: which metric it is, in which unit it truly stands, and when it is refused.

The metric follows round, benchmark and scenario, as in the checker; the unit column is a label that was wrong more
than once, so it is checked, never believed alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from caveat.facts import ROUNDS, Benchmark, result_key, round_named
from caveat.figures import METRICS, Row
from caveat.importers.mlperf.result_metrics import LOADGEN_METRICS
from caveat.importers.mlperf.rules_conditions import may_be_endpoints
from caveat.units import MS_PER_S, Unit

HIGHEST = 1e12  # no rate and no time of a real system comes near; counters that overflowed do

# Label in lower case: the unit, and what the value is divided by.
UNITS: dict[str, tuple[Unit, float]] = {
    "tokens/s": (Unit.TOKENS_PER_SECOND, 1),
    "samples/s": (Unit.SAMPLES_PER_SECOND, 1),
    "queries/s": (Unit.SAMPLES_PER_SECOND, 1),
    "tasks/s": (Unit.TASKS_PER_SECOND, 1),
    "latency (ms)": (Unit.SECOND, MS_PER_S),
    "latency (s)": (Unit.SECOND, 1),
}

POWER_UNITS = ("watts", "millijoules")
"""Rows with these labels hold the power measurement of the row before them, not a result."""

# Model, scenario and label where the label is known to be wrong, and the rounds: () is every round. The value is
# tokens/s: it equals the token rate in the logs of v5.1 and v6.0, and in v4.1 it fits the other copies only so.
WRONG_LABELS: dict[tuple[str, str, str], tuple[str, ...]] = {
    ("whisper", "offline", "samples/s"): (),
    ("llama3.1-8b", "interactive", "queries/s"): ("v5.1",),
    ("mixtral-8x7b", "server", "queries/s"): ("v4.1",),
}

# Where no LoadGen key is known, the label alone says it.
_BY_LABEL: dict[tuple[str, str], str] = {("offline", "tasks/s"): "loadgen-offline-tasks-rate"}

ENDPOINTS_NOTE = (
    "the row has the shape that the checker gives to results of the Endpoints harness (more digits than LoadGen "
    "logs, or an accuracy without a name): its window and its count of tokens may be that harness's own"
)


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a row gives no value. `code` is that of a problem; empty where the row is merely passed over."""

    message: str
    code: str = ""
    found: str = ""
    expected: str = ""


def published_row(
    cells: Mapping[str, str], benchmark: Benchmark, round_name: str | None, scenario: str, *, column: str = "Result"
) -> Row | Refusal:
    """The value under its metric, in the metric's unit, with a note on everything that was corrected.

    `column` is the name of the column that the value stands in.
    """
    label = cells.get("unit", "").strip().lower()
    metric, notes = _metric(benchmark, round_name, scenario, label)
    if metric is None:
        return Refusal(message=f"no source says which metric {benchmark.id} {scenario} publishes")
    divisor = 1.0
    unit = METRICS[metric].unit
    if not label:
        notes.append(f"the table has no unit; {unit.value} follows from round, benchmark and scenario")
        divisor = MS_PER_S if unit is Unit.SECOND else 1.0
    elif label not in UNITS or UNITS[label][0] is not unit:
        if not _known_wrong(benchmark, scenario, label, round_name):
            return _unexpected_unit(cells["unit"], unit)
        notes.append(_correction(cells["unit"], benchmark, scenario))
    else:
        divisor = UNITS[label][1]
    value = number(cells.get("value", ""))
    if value is None or not 0 < value < HIGHEST:
        return _impossible(cells.get("value", "nothing"))
    if _endpoints_shape(cells, benchmark, round_name, unit):
        notes.append(ENDPOINTS_NOTE)
    return Row(metric=metric, value=value / divisor, source_key=column, notes=tuple(notes))


def number(text: str) -> float | None:
    """A plain finite number; None for anything else."""
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _metric(benchmark: Benchmark, round_name: str | None, scenario: str, label: str) -> tuple[str | None, list[str]]:
    key = result_key(round_name, benchmark.id, scenario) if round_name else None
    if key is not None:
        return LOADGEN_METRICS[key], []
    by_label = _BY_LABEL.get((scenario, label))
    if by_label is not None:
        return by_label, []
    for known in reversed(ROUNDS):
        key = result_key(known.name, benchmark.id, scenario)
        if key is not None:
            what = f"{benchmark.id} in {round_name}" if round_name else "a row without a round"
            return LOADGEN_METRICS[key], [f"the tables do not have {what}; the metric is that of {known.name}"]
    return None, []


def _known_wrong(benchmark: Benchmark, scenario: str, label: str, round_name: str | None) -> bool:
    rounds = WRONG_LABELS.get((benchmark.model, scenario, label))
    return rounds is not None and (not rounds or round_name in rounds)


def _correction(label: str, benchmark: Benchmark, scenario: str) -> str:
    return (
        f"the table says {label}, the value is tokens/s: the log key behind it counts tokens, and the checker's "
        f"table of units lacked {benchmark.model} {scenario}"
    )


def _unexpected_unit(label: str, unit: Unit) -> Refusal:
    return Refusal(
        code="unit-unexpected",
        message="the unit contradicts the metric of this round, benchmark and scenario: not recorded",
        found=label[:80],
        expected=unit.value,
    )


def _impossible(text: str) -> Refusal:
    return Refusal(
        code="value-impossible",
        message="the result is zero, negative, too large or no number: not recorded",
        found=text[:80],
        expected=f"a number above 0 and below {HIGHEST:g}",
    )


def _endpoints_shape(cells: Mapping[str, str], benchmark: Benchmark, round_name: str | None, unit: Unit) -> bool:
    if round_name is None or round_named(round_name) is None or not may_be_endpoints(benchmark, round_name):
        return False
    digits = sum(character.isdigit() for character in cells["value"].strip("0."))
    nameless = number(cells.get("accuracy", "")) is not None
    return nameless or (unit is not Unit.SECOND and digits > 9)  # LoadGen: six digits, or two decimals
