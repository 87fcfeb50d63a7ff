"""The validity of a run as its log and its accuracy report show it: one entry for each thing that could be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from caveat.facts import Benchmark, accuracy_thresholds, tokens_per_sample_range
from caveat.figures import METRICS, Check, Row
from caveat.importers.mlperf.accuracy_report import AccuracyReport
from caveat.importers.mlperf.joined_log import JoinedLog
from caveat.importers.mlperf.loadgen_detail import KEPT_ERRORS
from caveat.importers.mlperf.log_conditions import LoggedLimits, limited_percentile, limits_of
from caveat.importers.mlperf.log_rows import OPEN_LOOP, TOKENS_PER_SAMPLE
from caveat.units import format_number, format_seconds, seconds_from_ms, seconds_from_ns

_TTFT = tuple(key for key in METRICS if key.startswith("loadgen-ttft."))
_TPOT = tuple(key for key in METRICS if key.startswith("loadgen-tpot."))
_TOKEN_RATES = tuple(key for key, metric in METRICS.items() if metric.name == "output_token_rate")

_PASSED = re.compile(r"run successful|processed at least", re.IGNORECASE)
_FAILED = re.compile(r"need to (?:run|process) at least", re.IGNORECASE)

# words of an error, metrics that it concerns; an error that no line knows concerns all
_ERROR_CONCERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"first[ _-]?token", (*_TTFT, *_TPOT)),
    (r"n_tokens|number of tokens", (*_TPOT, *_TOKEN_RATES, TOKENS_PER_SAMPLE)),
)

_ORDER = ("min", "p50", "p90", "p95", "p97", "p99", "p99.9", "max")
MIN_DURATION_S = 600.0  # closed division, every scenario: mlcommons/inference loadgen/mlperf.conf @ b66003e
_SLACK = 1.0001  # logged rates have six digits


def checks_of(
    joined: JoinedLog,
    rows: tuple[Row, ...],
    accuracy: AccuracyReport | None,
    *,
    benchmark: Benchmark | None,
    round_name: str | None,
    scenario: str,
    closed: bool,
) -> tuple[Check, ...]:
    """Every entry that this run gives. What only the closed division demands is left out in the open one."""
    values = {row.metric: row.value for row in rows}
    checks = [_verdict(joined), *_lengths_of_run(joined, closed), *_early_stopping(joined, scenario), _errors(joined)]
    if scenario in OPEN_LOOP:
        checks.append(_limits(joined, limits_of(joined, scenario), values))
    if closed and benchmark is not None and round_name is not None:
        checks.append(_accuracy(accuracy, accuracy_thresholds(benchmark, round_name, scenario)))
        checks += _length(accuracy, values, tokens_per_sample_range(benchmark, round_name, scenario))
    cap = benchmark.output_tokens_cap if closed and benchmark else None
    checks.append(_consistency(joined, values, scenario, cap))
    if len(joined.logs) > 1:
        checks.append(_agreement(joined))
    return tuple(checks)


def _verdict(joined: JoinedLog) -> Check:
    """What LoadGen itself says."""
    verdict = joined.log.text("result_validity")
    reason = joined.log.text("result_invalid_reason") or ""
    return Check(
        aspect="harness verdict",
        outcome="pass" if verdict == "VALID" else "fail",
        sentence="LoadGen calls the run valid" if verdict == "VALID" else f"LoadGen: INVALID {reason}".strip(),
    )


def _lengths_of_run(joined: JoinedLog, closed: bool) -> Iterator[Check]:
    """Whether the demands on duration and queries were met, and whether the duration demanded was that of the rules."""
    for aspect, key in (
        ("minimum duration", "result_min_duration_met"),
        ("minimum queries", "result_min_queries_met"),
    ):
        met, demanded_ms = joined.log.flag(key), joined.log.count("effective_min_duration_ms")
        if aspect == "minimum duration" and closed and demanded_ms is not None:
            demanded_s = seconds_from_ms(demanded_ms)
            if demanded_s < MIN_DURATION_S:
                sentence = f"{format_seconds(demanded_s)} demanded, the rules ask {format_seconds(MIN_DURATION_S)}"
                yield Check(aspect=aspect, outcome="fail", sentence=sentence)
                continue
        if met is not None:
            yield Check(aspect=aspect, outcome="pass" if met else "fail")


def _early_stopping(joined: JoinedLog, scenario: str) -> Iterator[Check]:
    """One entry for each percentile that is tested. LoadGen leaves the TTFT's empty once the TPOT's has failed."""
    if scenario == "offline":
        return
    for aspect, key, metric in (
        ("early stopping (TTFT)", "early_stopping_ttft_result", "loadgen-ttft.p99"),
        ("early stopping (TPOT)", "early_stopping_tpot_result", "loadgen-tpot.p99"),
        ("early stopping", "early_stopping_result", "loadgen-latency.p99"),
    ):
        text = joined.log.text(key)
        if text is None:
            continue
        if _FAILED.search(text):
            yield Check(aspect=aspect, outcome="fail", sentence=" ".join(text.replace("*", " ").split())[:200])
        elif _PASSED.search(text):
            yield Check(aspect=aspect, outcome="pass")
        else:
            yield Check(aspect=aspect, outcome="unknown", sentence="the log does not say", metrics=(metric,))


def _limits(joined: JoinedLog, limits: LoggedLimits, values: Mapping[str, float]) -> Check:
    """Below each limit, not at it; and LoadGen's own answer."""
    percentile = limited_percentile(joined)
    pairs = [
        (name, values[metric], limit)
        for name, metric, limit in (
            ("TTFT", f"loadgen-ttft.{percentile}", limits.ttft_s),
            ("TPOT", f"loadgen-tpot.{percentile}", limits.tpot_s),
            ("latency", f"loadgen-latency.{percentile}", limits.latency_s),
        )
        if limit is not None and metric in values
    ]
    met = joined.log.flag("result_perf_constraints_met")
    sentence = ", ".join(
        f"{percentile} {name} {format_seconds(at)} of {format_seconds(limit)}" for name, at, limit in pairs
    )
    if met is False or any(at >= limit for _, at, limit in pairs):
        return Check(aspect="latency limits", outcome="fail", sentence=sentence)
    return Check(aspect="latency limits", outcome="pass" if met and pairs else "unknown", sentence=sentence)


def _errors(joined: JoinedLog) -> Check:
    """VALID with errors is not valid for the metrics that the errors concern."""
    count, logged = joined.log.count("num_errors"), joined.log.errors
    if not count:
        silent = count == 0 or joined.detail is not None  # a detail log lists every error, old ones without a count
        return Check(aspect="errors", outcome="pass" if silent else "unknown")
    concerned: set[str] = set()
    if len(logged) == KEPT_ERRORS:
        logged = ()  # so many kinds that there may be others, which were not kept
    for error in logged:
        found = next((metrics for words, metrics in _ERROR_CONCERNS if re.search(words, error.text, re.IGNORECASE)), ())
        if not found:
            logged = ()
            break
        concerned.update(found)
    told = f": {joined.log.errors[0].text}" if joined.log.errors else ""
    return Check(
        aspect="errors",
        outcome="fail",
        sentence=f"LoadGen logged {count:,} errors{told}",
        metrics=tuple(sorted(concerned)) if logged else (),
    )


def _accuracy(report: AccuracyReport | None, thresholds: Mapping[str, float] | None) -> Check:
    scores = report.scores if report else {}
    missing = [key for key in thresholds or {} if key not in scores]
    if not thresholds or missing:
        named = ", ".join(missing) or "a target"
        return Check(aspect="accuracy", outcome="unknown", sentence=f"not found: {named}")
    missed = [f"{key} {scores[key]:g} of {least:g}" for key, least in thresholds.items() if scores[key] < least]
    return Check(
        aspect="accuracy",
        outcome="fail" if missed else "pass",
        sentence=f"too low: {', '.join(missed)}" if missed else "",
    )


def _length(
    report: AccuracyReport | None, values: Mapping[str, float], bounds: tuple[float, float] | None
) -> Iterator[Check]:
    """The rules test the accuracy run's mean; where its report has none, the performance run's."""
    told = report.tokens_per_sample if report else None
    mean = told if told is not None else values.get(TOKENS_PER_SAMPLE)
    if bounds is None:
        return
    if mean is None:
        yield Check(aspect="output length", outcome="unknown", sentence="no output length was found")
        return
    inside = bounds[0] <= mean <= bounds[1]
    sentence = f"{format_number(mean)} tokens/sample, {format_number(bounds[0])} to {format_number(bounds[1])} asked"
    yield Check(aspect="output length", outcome="pass" if inside else "fail", sentence=sentence)


def _agreement(joined: JoinedLog) -> Check:
    return Check(
        aspect="sources agree",
        outcome="unknown" if joined.differing else "pass",
        sentence=f"summary and detail log differ on {', '.join(joined.differing[:5])}" if joined.differing else "",
    )


def _consistency(joined: JoinedLog, values: Mapping[str, float], scenario: str, cap: int | None) -> Check:
    """Whether the numbers of the run can all be true at once."""
    contradictions = [
        *_disorder(values),
        *_windows(joined, values, scenario),
        *_late_first_tokens(values),
    ]
    length = values.get(TOKENS_PER_SAMPLE)
    if length is not None and cap is not None and length > cap + 1.005:  # some stacks count one token more
        contradictions.append(f"{format_number(length)} tokens a sample above the cap of {cap}")
    return Check(
        aspect="consistency", outcome="fail" if contradictions else "pass", sentence="; ".join(contradictions[:4])
    )


def _disorder(values: Mapping[str, float]) -> Iterator[str]:
    """Percentiles that fall, and means outside the extremes."""
    for definition in ("loadgen-ttft", "loadgen-tpot", "loadgen-latency"):
        known = [(rank, values[key]) for rank in _ORDER if (key := f"{definition}.{rank}") in values]
        yield from (f"{definition} {a} above {b}" for (a, low), (b, high) in pairwise(known) if low > high)
        mean, sizes = values.get(f"{definition}.mean"), [size for _, size in known]
        if mean is not None and sizes and not min(sizes) <= mean <= max(sizes):
            yield f"{definition} mean outside its range"


def _late_first_tokens(values: Mapping[str, float]) -> Iterator[str]:
    """The first token of each sample comes before its end, so every order statistic does."""
    for rank in ("mean", *_ORDER):
        first, whole = values.get(f"loadgen-ttft.{rank}"), values.get(f"loadgen-latency.{rank}")
        if first is not None and whole is not None and first > whole:
            yield f"{rank} of TTFT above that of the whole request"


def _windows(joined: JoinedLog, values: Mapping[str, float], scenario: str) -> Iterator[str]:
    """Rates times windows are counts, and nothing completes before it is scheduled."""
    n = joined.samples
    rate, slowest_s = values.get("loadgen-offline-samples-rate"), values.get("loadgen-latency.max")
    if scenario == "offline" and n and rate and slowest_s and not n / _SLACK <= rate * slowest_s <= n * _SLACK:
        yield f"{format_number(rate * slowest_s)} samples by rate and window, {n:,} by count"
    scheduled, completed = (values.get(f"loadgen-{word}-samples-rate") for word in ("scheduled", "completed"))
    if scheduled and completed and completed > scheduled * _SLACK + 0.01:
        yield "completed at a higher rate than scheduled"
    drawn_ns = joined.log.count("generated_query_duration")
    if scenario in OPEN_LOOP and n and scheduled and drawn_ns:
        last_s = (n - 1) / scheduled
        if last_s > seconds_from_ns(drawn_ns) * _SLACK + 0.01 * last_s / scheduled:
            yield "the last query was scheduled after the end of the schedule"
