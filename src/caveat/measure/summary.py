"""Summary: samples become rows, conditions and validity. One code for measured, simulated and imported samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.errors import UsageError
from caveat.figures import Check, Provenance, Row, Run, Value, conditions_of, printable
from caveat.measure.arrivals import arrival_checks
from caveat.measure.cache import CACHED_SHARE, cache_rows
from caveat.measure.certified import certified_rows
from caveat.measure.client import Client, client_checks
from caveat.measure.columns import SampleColumns, Samples, columns_of
from caveat.measure.consistency import consistency_checks
from caveat.measure.goodput import Slo, goodput_rows, limit_checks, limit_conditions
from caveat.measure.growth import growth_checks
from caveat.measure.latencies import latency_rows
from caveat.measure.loadgen_definitions import loadgen_rows
from caveat.measure.observed import observed_notes
from caveat.measure.rates import rate_rows
from caveat.measure.rows import Absent, Item
from caveat.measure.scenario import Scenario
from caveat.measure.scenario_checks import scenario_checks
from caveat.measure.tokens import Tokens, lengths, only_capped, token_counts
from caveat.measure.windows import WarmUp, Window, window_of
from caveat.units import NS_PER_S

_CLASSES_SAID = 8
_MOST_FAILED = 0.01  # failures beyond this share make latencies those of the lucky


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What samples say: rows, the conditions that they show, validity, and which metrics have no value and why."""

    rows: tuple[Row, ...]
    conditions: Mapping[str, Value]
    validity: tuple[Check, ...]
    absent: tuple[Absent, ...]

    def row(self, metric: str) -> Row | None:
        """The row of one metric key."""
        return next((row for row in self.rows if row.metric == metric), None)

    def why_absent(self, metric: str) -> str | None:
        """Why a metric has no value; None where it has one or does not concern these samples."""
        return next((absent.reason for absent in self.absent if absent.metric == metric), None)


def summarize(
    samples: Samples,
    *,
    workload: Mapping[str, Value | None],
    slo: Slo | None = None,
    warmup: WarmUp | None = None,
    seed: int = 0,
    client: Client | None = None,
    confidence: float = 0.95,
    scenario: Scenario | None = None,
) -> Summary:
    """The summary of samples: a table, a Parquet file, or the parts of one that still grows.

    `workload` holds the plan's description as values of conditions, `seed` makes the bootstrap intervals the same each
    time, `client` is what the generator knows about itself, `scenario` what the run had to keep to: its limits stand
    in the place of an `slo`, and its conditions before those of the workload. Raises CannotSayError where no request
    is left to summarise, InputError or NotFoundError where the samples cannot be read.
    """
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence: found {confidence}, expected a share from 0.5 to below 1")
    if scenario is not None:
        _check_alone(slo, warmup)
        workload, slo = {**workload, **scenario.conditions()}, scenario.slo()
    columns = columns_of(samples)
    window = window_of(columns, warmup)
    tokens = token_counts(columns, window)
    items = tuple(_items(columns, window, tokens, workload, slo, seed, confidence))
    return Summary(
        rows=tuple(item for item in items if isinstance(item, Row)),
        absent=tuple(item for item in items if isinstance(item, Absent)),
        conditions=_conditions(columns, window, tokens, workload, slo, items),
        validity=(
            _failures(columns, window),
            *_demands(columns, window, tokens, items, slo, scenario, confidence),
            *arrival_checks(columns, window, workload, client),
            *growth_checks(columns, window, tokens, by_rules=scenario is not None),
            *client_checks(columns, window, client),
            *consistency_checks(columns, window, tokens, workload, confidence),
        ),
    )


def _check_alone(slo: Slo | None, warmup: WarmUp | None) -> None:
    if slo is not None:
        raise UsageError("found limits beside a scenario, which has its own", next="put them into the scenario")
    if warmup is not None:
        raise UsageError("found a warm-up rule beside a scenario, which counts every request", next="leave it out")


def _demands(
    columns: SampleColumns,
    window: Window,
    tokens: Sequence[Tokens],
    items: Sequence[Item],
    slo: Slo | None,
    scenario: Scenario | None,
    confidence: float,
) -> Iterator[Check]:
    """What was asked of latencies; of a scenario by LoadGen's definitions, with everything else that it asks."""
    if scenario is None:
        yield from limit_checks(columns, window, tokens, slo, items, confidence)
    else:
        yield from scenario_checks(columns, window, tokens, scenario)


def run_of(
    summary: Summary,
    *,
    subject: str,
    provenance: Provenance,
    conditions: Mapping[str, Value | None],
    not_applicable: Iterable[str] = (),
    primary: str | None = None,
    samples: str | None = None,
) -> Run:
    """A Run of the summary. What the samples show overrules what the caller's conditions say about the same key.

    `not_applicable` are conditions that such a run cannot have; one that has a value is applicable all the same.
    """
    return Run(
        subject=subject,
        provenance=provenance,
        conditions=conditions_of({**conditions, **summary.conditions}, not_applicable=tuple(not_applicable)),
        rows=summary.rows,
        validity=summary.validity,
        primary=primary,
        samples=samples,
        notes=(*observed_notes(summary.absent), *_absences(summary.absent)),
    )


def _items(
    columns: SampleColumns,
    window: Window,
    tokens: Sequence[Tokens],
    workload: Mapping[str, Value | None],
    slo: Slo | None,
    seed: int,
    confidence: float,
) -> Iterator[Item]:
    rng = np.random.default_rng(seed)
    yield from latency_rows(columns, window, tokens, confidence, rng)
    yield from rate_rows(columns, window, tokens, confidence)
    yield from goodput_rows(columns, window, tokens, slo, confidence)
    yield from certified_rows(columns, window, tokens)
    scenario = str(workload.get("scenario") or "")
    yield from loadgen_rows(columns, window, tokens, scenario, confidence, _each(workload))
    yield from cache_rows(columns, window, confidence, rng)  # last: what is drawn before stays as it was


def _each(workload: Mapping[str, Value | None]) -> int:
    """Samples of one query."""
    each = workload.get("samples_per_query")
    return each if isinstance(each, int) and each >= 1 else 1


def _conditions(
    columns: SampleColumns,
    window: Window,
    tokens: Sequence[Tokens],
    workload: Mapping[str, Value | None],
    slo: Slo | None,
    items: Sequence[Item],
) -> dict[str, Value]:
    """What was planned, overruled by what was seen; what was not seen is not there."""
    scheduled = columns.present("scheduled_ns")[window.rows].any()
    values = {item.metric: item.value for item in items if isinstance(item, Row)}
    own = tokens[0] if tokens else None
    seen: dict[str, Value | None] = {
        "warmup": window.warmup,
        "queries": len(window.rows) // _each(workload),
        "duration_s": window.length_ns / NS_PER_S,
        "scheduled_qps": values.get("caveat-offered-rate") if scheduled else None,
        "completed_qps": values.get("caveat-request-rate"),
        "latency_clock": workload.get("latency_clock") or ("scheduled arrival" if scheduled else "issue"),
        "token_source": own.words if own else None,
        "input_tokens": lengths(own.input) if own and own.input is not None else None,
        "output_tokens": lengths(own.output) if own else None,
        "cached_share": values.get(CACHED_SHARE),
        "input_tokens_requested": _wanted(columns, window, "input"),
        "output_tokens_requested": None if only_capped(workload) else _wanted(columns, window, "output"),
        **limit_conditions(slo, tokens, items),
    }
    known = {key: value for key, value in seen.items() if value is not None}
    return {**{key: value for key, value in workload.items() if value is not None}, **known}


def _wanted(columns: SampleColumns, window: Window, name: str) -> dict[str, float] | None:
    wanted = columns.numbers(f"{name}_tokens_wanted")[window.rows]
    return lengths(wanted) if (wanted > 0).any() else None


def _failures(columns: SampleColumns, window: Window) -> Check:
    n, failed = len(window.ok), int((~window.ok).sum())
    how = f" ({_classes(columns, window)})" if failed else ""
    sentence = (
        f"{n - failed:,} of {n:,} measured requests succeeded and {failed:,} failed{how}; {_MOST_FAILED:.0%} may."
    )
    return Check(aspect="error rate", outcome="pass" if failed <= _MOST_FAILED * n else "fail", sentence=sentence)


def _classes(columns: SampleColumns, window: Window) -> str:
    """How the failures failed, the most frequent first; a success without an end has no class."""
    failed = np.zeros(columns.rows, dtype=np.bool_)
    failed[window.rows[~window.ok]] = True
    classes = columns.counts("error_class", failed)
    said = classes.most_common(_CLASSES_SAID)
    named = [f"{count:,} {printable(name or 'without an end')[:60]}" for name, count in said]
    others = classes.total() - sum(count for _, count in said)
    return ", ".join([*named, f"{others:,} others"] if others else named)


def _absences(absent: Sequence[Absent]) -> Iterator[str]:
    """One sentence a reason, with the metrics that it keeps away."""
    by_reason: dict[str, list[str]] = {}
    for one in absent:
        by_reason.setdefault(one.reason, []).append(one.metric)
    yield from (f"absent: {', '.join(metrics)}: {reason}" for reason, metrics in by_reason.items())
