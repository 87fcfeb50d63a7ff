"""Summary and detail log of one run as one: the better copy of each value, and whether the two agree.

The detail log is believed, but for Server rates: it has six significant digits, the summary two decimals, so that
from 10,000 per second on the summary's copy is the finer one.
"""

from __future__ import annotations

import msgspec

from caveat.errors import Problem
from caveat.figures import Source, close
from caveat.importers.mlperf.loadgen_log import DETAIL, RESULTS, LoadgenLog
from caveat.importers.mlperf.problems import problem
from caveat.units import seconds_from_ns

TWO_DECIMALS = 0.0051  # half a hundredth, and the noise of reading decimals as binary
FINER_IN_SUMMARY = 10_000.0
SIX_DIGITS = 1e-5  # relative, twice the rounding of a number with six significant digits

SERVER_RATES = (
    "result_completed_tokens_per_second",
    "result_completed_samples_per_sec",
    "result_inferred_completed_tokens_per_second",
    "result_scheduled_samples_per_sec",
)
_DECIMAL_RATES = (
    *SERVER_RATES,
    "result_qps_with_loadgen_overhead",
    "result_token_throughput_with_loadgen_overhead",
)
PERFORMANCE_MODES = ("PerformanceOnly", "SubmissionRun")


class JoinedLog(msgspec.Struct, frozen=True, kw_only=True):
    """One log made of one or two. `logs` are in the order of their sources; `from_first` are keys of the first.

    Values are asked of `log`; `differing` names the results on which two logs disagree.
    """

    log: LoadgenLog
    logs: tuple[LoadgenLog, ...]
    from_first: frozenset[str] = frozenset()
    differing: tuple[str, ...] = ()

    def source_of(self, key: str) -> int:
        """Index into `logs` of the log that said it."""
        return 0 if len(self.logs) == 1 or key in self.from_first else len(self.logs) - 1

    @property
    def detail(self) -> LoadgenLog | None:
        """The detail log, where there is one."""
        return next((log for log in self.logs if log.kind == DETAIL), None)

    @property
    def fingerprint(self) -> str:
        """Hash of the detail log, else of the summary: equal for one run filed twice."""
        return (self.detail or self.logs[0]).sha256

    @property
    def samples(self) -> int | None:
        """Samples of the run: queries times samples a query; None where the log does not say."""
        queries, each = self.queries, self.log.count("generated_samples_per_query")
        logged = queries * each if queries and each else None
        if self.log.text("effective_scenario") != "Offline":
            return logged
        return self._offline_samples(logged)

    @property
    def queries(self) -> int | None:
        """Queries issued."""
        return self.log.count("result_query_count") or self.log.count("generated_query_count") or None

    def _offline_samples(self, logged: int | None) -> int | None:
        """Whole passes over the loaded set where the rate and its window say so, else the logged count.

        Old logs give the count before it was padded to whole passes, summaries none; n is rate x longest latency.
        """
        rate, window_ns = self.log.number("result_samples_per_second"), self.log.number("result_max_latency_ns")
        size = self.log.count("effective_performance_sample_count")
        if not rate or not window_ns or not size:
            return logged
        computed = rate * seconds_from_ns(window_ns)
        passes = round(computed / size) * size
        sure = abs(passes - computed) <= SIX_DIGITS * computed < size / 2
        return passes if sure and (logged is None or logged <= passes < logged + size) else logged

    @property
    def token_mode(self) -> bool:
        """Whether the run recorded token latencies and counted tokens."""
        told = self.log.flag("requested_use_token_latencies")
        signs = ("result_first_token_mean_latency_ns", "result_tokens_per_second")
        return told if told is not None else any(sign in self.log.values for sign in signs)

    def sources(self, primary_key: str | None) -> tuple[Source, ...]:
        """One source a log; its place is the line of the published result."""
        return tuple(
            Source(
                kind=log.kind,
                path=log.path,
                sha256=log.sha256,
                place=f"line {log.lines[primary_key]}" if primary_key and primary_key in log.lines else "",
            )
            for log in self.logs
        )

    def problems(self) -> tuple[Problem, ...]:
        """Results on which the two logs differ, the first few."""
        found = []
        for key in self.differing[:3]:
            said = " and ".join(str(log.values[key]) for log in self.logs)
            found.append(
                problem("logs-differ", self.logs[0].path, detail=key, line=self.logs[0].lines[key], found=said)
            )
        return tuple(found)


def joined(detail: LoadgenLog | None, summary: LoadgenLog | None) -> JoinedLog | None:
    """Both logs as one, or the one that has results; None where neither has."""
    usable = [log for log in (summary, detail) if log is not None and has_results(log)]
    if len(usable) < 2:
        return JoinedLog(log=usable[0], logs=(usable[0],)) if usable else None
    first, second = usable
    differing = tuple(
        key for key in RESULTS & first.values.keys() & second.values.keys() if _differ(key, first, second)
    )
    from_first = {key for key in first.values if key not in second.values}
    from_first |= {key for key in SERVER_RATES if (first.number(key) or 0) >= FINER_IN_SUMMARY and key not in differing}
    values = {**second.values, **{key: first.values[key] for key in from_first}}
    return JoinedLog(
        log=LoadgenLog(kind=DETAIL, path=second.path, values=values, lines=second.lines, errors=second.errors),
        logs=(first, second),
        from_first=frozenset(from_first),
        differing=tuple(sorted(differing)),
    )


def has_results(log: LoadgenLog) -> bool:
    """Whether the log reaches its verdict and some result."""
    return "result_validity" in log.values and not RESULTS.isdisjoint(log.values)


def _differ(key: str, summary: LoadgenLog, detail: LoadgenLog) -> bool:
    one, other = summary.number(key) or 0.0, detail.number(key) or 0.0
    rounding = TWO_DECIMALS if key in _DECIMAL_RATES else 0.0
    return not close(one, other) and abs(one - other) > rounding
