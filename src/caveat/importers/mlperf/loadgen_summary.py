"""Reads mlperf_log_summary.txt: `label : value` lines in three sections, put under the keys of the detail log.

Server rates carry two decimals here, six significant digits there; an accuracy run's summary holds only the lines
about warnings and errors. Format: mlcommons/inference loadgen/results.cc @ b66003e.
"""

from __future__ import annotations

import re
from pathlib import Path

from caveat.errors import InputError, Problem
from caveat.importers.mlperf.bounded_file import Scanned, scan_lines
from caveat.importers.mlperf.loadgen_log import LATENCY_LIMIT, SUMMARY, TPOT_LIMIT, TTFT_LIMIT, LoadgenLog, checked
from caveat.importers.mlperf.problems import problem

_ENDS = (("Min", "min"), ("Max", "max"), ("Mean", "mean"))
_PERCENTILES = ("50.00", "90.00", "95.00", "97.00", "99.00", "99.90")

# label before the colon, blanks collapsed -> key of the detail log
LABELS: dict[str, str] = {
    "Scenario": "effective_scenario",
    "Mode": "effective_test_mode",
    "Result is": "result_validity",
    "Performance constraints satisfied": "result_perf_constraints_met",
    "Min duration satisfied": "result_min_duration_met",
    "Min queries satisfied": "result_min_queries_met",
    "Early stopping satisfied": "early_stopping_met",
    "Samples per second": "result_samples_per_second",
    "Tokens per second": "result_tokens_per_second",
    "Tokens per second (inferred)": "result_inferred_tokens_per_second",
    "Completed samples per second": "result_completed_samples_per_sec",
    "Completed tokens per second": "result_completed_tokens_per_second",
    "Completed tokens per second (inferred)": "result_inferred_completed_tokens_per_second",
    "Scheduled samples per second": "result_scheduled_samples_per_sec",
    "QPS w/ loadgen overhead": "result_qps_with_loadgen_overhead",
    "TPS w/ loadgen overhead": "result_token_throughput_with_loadgen_overhead",
    **{f"{label} latency (ns)": f"result_{end}_latency_ns" for label, end in _ENDS},
    **{f"{p} percentile latency (ns)": f"result_{p}_percentile_latency_ns" for p in _PERCENTILES},
    **{f"{label} First Token latency (ns)": f"result_first_token_{end}_latency_ns" for label, end in _ENDS},
    **{
        f"{p} percentile first token latency (ns)": f"result_first_token_{p}_percentile_latency_ns"
        for p in _PERCENTILES
    },
    **{f"{label} Time to Output Token (ns)": f"result_time_to_output_token_{end}" for label, end in _ENDS},
    **{f"{label} Time per Output Token (ns)": f"result_time_to_output_token_{end}" for label, end in _ENDS},
    **{
        f"{p} percentile time to output token (ns)": f"result_time_per_output_token_{p}_percentile_ns"
        for p in _PERCENTILES
    },
    "samples_per_query": "effective_samples_per_query",
    "target_qps": "effective_target_qps",
    "target_latency (ns)": LATENCY_LIMIT,
    "ttft_latency (ns)": TTFT_LIMIT,
    "tpot_latency (ns)": TPOT_LIMIT,
    "min_duration (ms)": "effective_min_duration_ms",
    "min_query_count": "effective_min_query_count",
    "qsl_rng_seed": "effective_qsl_rng_seed",
    "sample_index_rng_seed": "effective_sample_index_rng_seed",
    "schedule_rng_seed": "effective_schedule_rng_seed",
    "performance_sample_count": "effective_performance_sample_count",
}

# heading of a block of early-stopping sentences -> key of the detail log
BLOCKS: dict[str, str] = {
    "Early Stopping Result": "early_stopping_result",
    "TTFT Early Stopping Result": "early_stopping_ttft_result",
    "TPOT Early Stopping Result": "early_stopping_tpot_result",
}

_FLAGS = {"yes": True, "no": False}
_INTEGER = re.compile(r"[-+]?\d{1,40}")
_ERROR_COUNT = re.compile(r"(no|\d{1,12}) errors? encountered", re.IGNORECASE)
_ESTIMATE = re.compile(r"Early stopping 90(?:\.0)?th percentile estimate: (\d{1,20})")
_MAX_BLOCK = 2000


def read_log_summary(path: Path, shown: str) -> LoadgenLog:
    """The summary at `path`, called `shown` in problems and sources. Never raises for what a file holds."""
    reading = _Reading()
    try:
        scanned = scan_lines(path, reading.take)
    except InputError as error:
        unread = problem(error.code, shown, detail=error.message)
        return LoadgenLog(kind=SUMMARY, path=shown, problems=(unread,))
    values, lines, impossible = checked(reading.found(scanned), shown)
    return LoadgenLog(
        kind=SUMMARY,
        path=shown,
        sha256=scanned.sha256,
        values=values,
        lines=lines,
        problems=(*_file_problems(reading, scanned, shown), *impossible),
    )


def _file_problems(reading: _Reading, scanned: Scanned, shown: str) -> list[Problem]:
    problems = [problem("log-too-large", shown, line=line) for line in scanned.overlong[:3]]
    if not reading.lines:
        problems.append(problem("log-empty", shown, detail=f"{scanned.lines} lines"))
    elif not scanned.ends_whole:
        problems.append(problem("log-truncated", shown, line=scanned.lines))
    if reading.undecoded:
        problems.append(problem("log-not-utf8", shown, line=reading.undecoded))
    return problems


class _Reading:
    """The state of reading one summary, line after line."""

    def __init__(self) -> None:
        self.lines: dict[str, tuple[object, int]] = {}
        self.blocks: dict[str, tuple[str, int]] = {}
        self.block = ""
        self.undecoded = 0

    def take(self, number: int, line: bytes) -> None:
        """One line of the file."""
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            self.undecoded = self.undecoded or number
            return
        if self.block and self._continues(text):
            return
        label, colon, value = text.partition(":")
        label, value = " ".join(label.split()), value.strip()
        if colon and not value and label in BLOCKS:
            self.block = BLOCKS[label]
            self.blocks.setdefault(self.block, ("", number))
        elif colon and label in LABELS:
            self.lines.setdefault(LABELS[label], (_value(value), number))
        elif match := _ERROR_COUNT.match(text):
            self.lines.setdefault("num_errors", (0 if match[1].casefold() == "no" else int(match[1]), number))

    def _continues(self, text: str) -> bool:
        """Whether the line still belongs to the block of early-stopping sentences; they wrap over lines."""
        heading = text.partition(":")[0]
        if not text or text.startswith("===") or heading in BLOCKS or heading == "Recommendations":
            self.block = ""
            return False
        said, number = self.blocks[self.block]
        if len(said) < _MAX_BLOCK:
            self.blocks[self.block] = (f"{said}\n{text}".strip(), number)
        return True

    def found(self, scanned: Scanned) -> list[tuple[str, object, int]]:
        """Keys of the detail log with their values and lines; not from a line that breaks off within its number."""
        cut = 0 if scanned.ends_whole else scanned.lines
        everything = {**self.lines, **self.blocks}.items()
        found = [(key, value, number) for key, (value, number) in everything if number != cut]
        sentences, number = self.blocks.get("early_stopping_result", ("", 0))
        if estimate := _ESTIMATE.search(sentences):
            found.append(("early_stopping_latency_ss", int(estimate[1]), number))
        return found


def _value(text: str) -> object:
    """The value in the type that the detail log would have."""
    if text.casefold() in _FLAGS:
        return _FLAGS[text.casefold()]
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text
