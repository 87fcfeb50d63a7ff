"""The conditions that a LoadGen log states: settings in effect, load, limits and how close latencies came."""

from __future__ import annotations

import re

import msgspec

from caveat.figures import Row, Value
from caveat.importers.mlperf.joined_log import JoinedLog
from caveat.importers.mlperf.loadgen_log import LATENCY_LIMIT, TPOT_LIMIT, TTFT_LIMIT, LoadgenLog
from caveat.importers.mlperf.log_rows import OPEN_LOOP, STREAMS, TOKENS_PER_SAMPLE
from caveat.importers.mlperf.rules_conditions import LOADGEN_HARNESS
from caveat.importers.mlperf.stated_text import stated
from caveat.units import seconds_from_ms, seconds_from_ns

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z?", re.ASCII)

_TOKEN_KEYS = ("ttft_limit_s", "tpot_limit_s", "headroom_ttft", "headroom_tpot")
_REQUEST_KEYS = ("latency_limit_s", "headroom_latency")


class LoggedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits in effect, in seconds; None where there is none."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None


def limits_of(joined: JoinedLog, scenario: str) -> LoggedLimits:
    """The latency limits of an open-loop run. Other scenarios have none, whatever defaults their logs print."""
    if scenario not in OPEN_LOOP:
        return LoggedLimits()
    if joined.token_mode:
        return LoggedLimits(ttft_s=_seconds(joined.log, TTFT_LIMIT), tpot_s=_seconds(joined.log, TPOT_LIMIT))
    return LoggedLimits(latency_s=_seconds(joined.log, LATENCY_LIMIT))


def conditions_logged(
    joined: JoinedLog, scenario: str, rows: tuple[Row, ...], round_name: str | None
) -> tuple[dict[str, Value | None], tuple[str, ...]]:
    """(values, keys that do not apply)."""
    log, by_metric = joined.log, {row.metric: row for row in rows}
    length = by_metric.get(TOKENS_PER_SAMPLE)
    values: dict[str, Value | None] = {
        "scenario": scenario,
        "round": round_name,
        "harness": LOADGEN_HARNESS,
        "harness_version": stated(log.text("loadgen_version")),
        "run_date": _date(log.text("test_datetime")),
        "fingerprint": joined.fingerprint,
        "queries": joined.queries,
        "samples_per_query": joined.samples // joined.queries if joined.samples and joined.queries else None,
        "min_queries": log.count("effective_min_query_count"),
        "min_duration_s": _milliseconds(log, "effective_min_duration_ms"),
        "duration_s": _duration_s(joined, scenario, by_metric),
        "dataset_samples": log.count("effective_performance_sample_count") or None,
        "target_qps": None if scenario in STREAMS else log.number("effective_target_qps"),
        "output_tokens": _length(length) if length else None,
    }
    if scenario in OPEN_LOOP:
        values |= _open_loop(joined, scenario, by_metric)
        return values, _REQUEST_KEYS if joined.token_mode else _TOKEN_KEYS
    return values, ()


def limited_percentile(joined: JoinedLog) -> str:
    """The percentile that the log's limits are on; p99, which the rules ask, where an old log does not say it."""
    share = joined.log.number("effective_target_latency_percentile")
    return "p99" if share is None else f"p{100 * share:g}"


def _open_loop(joined: JoinedLog, scenario: str, by_metric: dict[str, Row]) -> dict[str, Value | None]:
    limits, percentile = limits_of(joined, scenario), limited_percentile(joined)

    def headroom(metric: str, limit_s: float | None) -> float | None:
        row = by_metric.get(metric)
        return row.value / limit_s if row and limit_s else None

    return {
        "scheduled_qps": _value(by_metric, "loadgen-scheduled-samples-rate"),
        "completed_qps": _value(by_metric, "loadgen-completed-samples-rate"),
        "coalesced": joined.log.flag("requested_server_coalesce_queries"),
        "schedule": "not checked" if joined.detail else "not checkable",
        "schedule_ns": joined.log.count("generated_query_duration"),
        "whole_sets": joined.log.flag("effective_sample_concatenate_permutation"),
        "limit_percentile": joined.log.number("effective_target_latency_percentile"),
        "ttft_limit_s": limits.ttft_s,
        "tpot_limit_s": limits.tpot_s,
        "latency_limit_s": limits.latency_s,
        "headroom_ttft": headroom(f"loadgen-ttft.{percentile}", limits.ttft_s),
        "headroom_tpot": headroom(f"loadgen-tpot.{percentile}", limits.tpot_s),
        "headroom_latency": headroom(f"loadgen-latency.{percentile}", limits.latency_s),
    }


def _duration_s(joined: JoinedLog, scenario: str, by_metric: dict[str, Row]) -> float | None:
    """The window over which LoadGen forms its rates: to the slowest sample (Offline), to the completion of the last
    issued query (Server: (n - 1) / completed rate), to the issue of the last query (streams).
    """
    if scenario == "offline":
        return _value(by_metric, "loadgen-latency.max")
    metric = "loadgen-stream-samples-rate" if scenario in STREAMS else "loadgen-completed-samples-rate"
    n, rate = joined.samples, _value(by_metric, metric)
    return (n - 1) / rate if n and n > 1 and rate else None


def _length(row: Row) -> Value:
    return {"mean": row.value, "n": float(row.n)} if row.n else {"mean": row.value}


def _value(by_metric: dict[str, Row], metric: str) -> float | None:
    row = by_metric.get(metric)
    return row.value if row else None


def _seconds(log: LoadgenLog, key: str) -> float | None:
    """A limit; zero is how LoadGen writes that there is none."""
    nanoseconds = log.count(key)
    return seconds_from_ns(nanoseconds) if nanoseconds else None


def _milliseconds(log: LoadgenLog, key: str) -> float | None:
    milliseconds = log.count(key)
    return None if milliseconds is None else seconds_from_ms(milliseconds)


def _date(text: str | None) -> str | None:
    return text if text and _DATE.fullmatch(text) else None
