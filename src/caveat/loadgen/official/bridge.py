"""Bridge: LoadGen's settings, callbacks and test, told in its own words. Runs in a process made for one test.

Settings are set one by one: FromConfig reads the built-in conf once a process and says nothing the second time.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from caveat.loadgen.official.client import Issued
from caveat.loadgen.official.settings import OfficialSettings
from caveat.loadgen.official.texts import Texts
from caveat.loadgen.settings import ns

SCENARIOS = {
    "offline": "Offline",
    "server": "Server",
    "single-stream": "SingleStream",
    "multi-stream": "MultiStream",
}
MODES = {"performance": "PerformanceOnly", "accuracy": "AccuracyOnly"}

# LoadGen's name, and its value. None leaves LoadGen's own.
SETTINGS: tuple[tuple[str, Callable[[OfficialSettings], object]], ...] = (
    ("server_target_qps", lambda s: s.target_qps),
    ("offline_expected_qps", lambda s: s.target_qps),
    ("min_duration_ms", lambda s: round(s.min_duration_s * 1000)),
    ("max_duration_ms", lambda s: 0),
    ("min_query_count", lambda s: s.min_queries),
    ("max_query_count", lambda s: 0),
    ("use_token_latencies", lambda s: s.token_latencies),
    ("ttft_latency", lambda s: limit_ns(s.ttft_s)),
    ("tpot_latency", lambda s: limit_ns(s.tpot_s)),
    ("server_target_latency_ns", lambda s: limit_ns(s.latency_s)),
    ("server_target_latency_percentile", lambda s: s.percentile),
    ("single_stream_target_latency_percentile", lambda s: s.percentile),
    ("multi_stream_target_latency_percentile", lambda s: s.percentile),
    ("single_stream_expected_latency_ns", lambda s: s.expected_latency_s and ns(s.expected_latency_s)),
    ("multi_stream_expected_latency_ns", lambda s: s.expected_latency_s and ns(s.expected_latency_s)),
    ("multi_stream_samples_per_query", lambda s: s.samples_per_query),
    ("server_coalesce_queries", lambda s: False),
    ("sample_concatenate_permutation", lambda s: s.equal_issue),
    ("qsl_rng_seed", lambda s: s.qsl_seed),
    ("sample_index_rng_seed", lambda s: s.sample_index_seed),
    ("schedule_rng_seed", lambda s: s.schedule_seed),
)


def limit_ns(limit_s: float | None) -> int:
    """A limit that is not there is 0, as MLPerf's own conf sets the one that token latencies replace."""
    return 0 if limit_s is None else ns(limit_s)


def loadgen_settings(lg: Any, settings: OfficialSettings) -> Any:
    """LoadGen's TestSettings."""
    made = lg.TestSettings()
    made.scenario = getattr(lg.TestScenario, SCENARIOS[settings.scenario])
    made.mode = getattr(lg.TestMode, MODES[settings.mode])
    for name, value_of in SETTINGS:
        value = value_of(settings)
        if value is not None:
            setattr(made, name, value)
    return made


def log_settings(lg: Any, folder: Path) -> Any:
    """Logs as files of the folder; no trace, and nothing on standard output."""
    made = lg.LogSettings()
    made.enable_trace = False
    made.log_output.outdir = str(folder)
    made.log_output.copy_summary_to_stdout = False
    made.log_output.copy_detail_to_stdout = False
    return made


class LoadgenHarness:
    """Tells LoadGen what came. Buffers live as long as the call; LoadGen copies them in accuracy mode only."""

    def __init__(self, lg: Any) -> None:
        self._lg = lg

    def first_token(self, sample: int, text: str) -> None:
        """FirstTokenComplete, with the text of what has come."""
        data = array("B", text.encode("utf-8", "replace"))
        self._lg.FirstTokenComplete([self._lg.QuerySampleResponse(sample, *data.buffer_info())])

    def complete(self, sample: int, tokens: int, text: str) -> None:
        """QuerySamplesComplete. The answer of accuracy mode is its text in UTF-8: no API tells its token ids."""
        data = array("B", text.encode("utf-8", "replace"))
        self._lg.QuerySamplesComplete([self._lg.QuerySampleResponse(sample, *data.buffer_info(), tokens)])


class IssueCallback:
    """What LoadGen calls for each query. It hands over and returns; it never raises: that would end the process."""

    def __init__(self, take: Callable[[Issued], None], harness: LoadgenHarness, *, token_latencies: bool) -> None:
        self._take, self._harness, self._token_latencies = take, harness, token_latencies
        self.order: array[int] = array("q")
        self.errors: list[str] = []

    def __call__(self, samples: Sequence[Any]) -> None:  # noqa: D102  (the class says it)
        issued: list[tuple[int, int]] = []
        try:
            issued = [(sample.id, sample.index) for sample in samples]
            self.order.extend([index for _, index in issued])
            self._take(issued)
        except BaseException as error:
            self._refuse(issued, error)

    def _refuse(self, issued: Issued, error: BaseException) -> None:
        """LoadGen would wait for ever for what could not be handed over."""
        self.errors.append(f"{type(error).__name__}: {error}")
        for sample, _ in issued:
            if self._token_latencies:
                self._harness.first_token(sample, "")
            self._harness.complete(sample, 0, "")


def start_test(lg: Any, settings: OfficialSettings, folder: Path, issue: IssueCallback, texts: Texts) -> float:
    """Run the test to its end, which LoadGen decides; its thread is the calling one. Returns how long it took, in s."""
    sut = lg.ConstructSUT(issue, _flush)
    library = lg.ConstructQSL(settings.all_samples(), settings.performance_samples, texts.load, texts.unload)
    began_s = time.monotonic()
    try:
        # The last argument is the file of audit settings that would override ours: one that is not there.
        audit = str(folder / "no-audit.config")
        lg.StartTestWithLogSettings(sut, library, loadgen_settings(lg, settings), log_settings(lg, folder), audit)
    finally:
        lg.DestroyQSL(library)
        lg.DestroySUT(sut)
    return time.monotonic() - began_s


def _flush() -> None:
    """LoadGen has issued all: nothing waits in a batch here."""
