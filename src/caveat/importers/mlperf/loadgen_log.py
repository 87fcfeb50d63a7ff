"""What one LoadGen log says, summary or detail: one vocabulary (the detail log's keys), checked values only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from caveat.errors import Problem
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.result_metrics import LOADGEN_METRICS, NANOSECONDS

Scalar = bool | int | float | str

DETAIL, SUMMARY = "log-detail", "log-summary"

_MAX_NS = 30 * 86_400 * 10**9  # no run lasts a month: a longer latency is an overflow
_MIN_RATE, _MAX_RATE = 1e-9, 1e12
_MAX_COUNT = 2**63

SEEDS = ("effective_qsl_rng_seed", "effective_sample_index_rng_seed", "effective_schedule_rng_seed")
TTFT_LIMIT = "requested_server_ttft_latency"
TPOT_LIMIT = "requested_server_tpot_latency"
LATENCY_LIMIT = "effective_target_latency_ns"

# Settings and verdicts that are read, beside the results of LOADGEN_METRICS; by the kind of value.
TEXTS = frozenset(
    (
        "loadgen_version",
        "test_datetime",
        "effective_scenario",
        "effective_test_mode",
        "result_validity",
        "result_invalid_reason",
        "early_stopping_result",
        "early_stopping_ttft_result",
        "early_stopping_tpot_result",
    )
)
FLAGS = frozenset(
    (
        "requested_use_token_latencies",
        "requested_server_coalesce_queries",
        "effective_sample_concatenate_permutation",
        "result_perf_constraints_met",
        "result_min_duration_met",
        "result_min_queries_met",
        "early_stopping_met",
    )
)
COUNTS = frozenset(
    (
        "effective_min_duration_ms",
        "effective_min_query_count",
        "effective_performance_sample_count",
        "effective_samples_per_query",
        "generated_query_count",
        "generated_samples_per_query",
        "generated_query_duration",
        "result_query_count",
        "num_errors",
        TTFT_LIMIT,
        TPOT_LIMIT,
        LATENCY_LIMIT,
    )
)
NUMBERS = frozenset(("effective_target_qps", "effective_target_latency_percentile"))
RESULTS = frozenset(LOADGEN_METRICS)
WANTED = TEXTS | FLAGS | COUNTS | NUMBERS | RESULTS | frozenset(SEEDS)


class LoggedError(msgspec.Struct, frozen=True):
    """One error that the harness logged, with its line."""

    key: str
    text: str
    line: int


class LoadgenLog(msgspec.Struct, frozen=True, kw_only=True):
    """One log file. `values` holds only what passed its check; `lines` says where each key stands.

    `path` is the path as published; `kind` is "log-detail" or "log-summary".
    """

    kind: str
    path: str
    sha256: str = ""
    values: Mapping[str, Scalar] = {}
    lines: Mapping[str, int] = {}
    errors: tuple[LoggedError, ...] = ()
    problems: tuple[Problem, ...] = ()

    def number(self, key: str) -> float | None:
        """A number, in the log's own unit; None where the log does not have it."""
        value = self.values.get(key)
        return None if value is None or isinstance(value, str | bool) else float(value)

    def count(self, key: str) -> int | None:
        """A whole number."""
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, key: str) -> bool | None:
        """A yes or no."""
        value = self.values.get(key)
        return value if isinstance(value, bool) else None

    def text(self, key: str) -> str | None:
        """A text, possibly empty."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None


def checked(
    found: Iterable[tuple[str, object, int]], path: str
) -> tuple[dict[str, Scalar], dict[str, int], list[Problem]]:
    """The values that can be, where they stand, and a problem for each that cannot. Of a repeated key the first."""
    values: dict[str, Scalar] = {}
    lines: dict[str, int] = {}
    problems: list[Problem] = []
    seen: set[str] = set()
    for key, value, line in found:
        if key in seen:
            continue
        seen.add(key)
        good = _good(key, value)
        if good is None:
            problems.append(problem("value-impossible", path, detail=key, line=line, found=value))
        else:
            values[key], lines[key] = good, line
    return values, lines, problems


def _good(key: str, value: object) -> Scalar | None:
    """The value in the type of its key, or None where it cannot be."""
    if key in TEXTS:
        return value if isinstance(value, str) else None
    if key in FLAGS:
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if key in SEEDS:
        return value if isinstance(value, int) and 0 <= value < 2**64 else None
    if key in COUNTS:
        return int(value) if float(value).is_integer() and 0 <= value < _MAX_COUNT else None
    if key in NANOSECONDS:
        return value if 0 < value < _MAX_NS else None
    return value if _MIN_RATE < value < _MAX_RATE else None
