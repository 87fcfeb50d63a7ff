"""OfficialSettings: what LoadGen is told, in our units, and what a sample of its library is.

The names of LoadGen's own settings stand beside ours in bridge.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from caveat.errors import UsageError
from caveat.loadgen.body import Decoding
from caveat.loadgen.prompts import PromptSettings
from caveat.loadgen.settings import Settings, ns
from caveat.units import NS_PER_S
from caveat.workload import ScheduleSettings

ScenarioName = Literal["offline", "server", "single-stream", "multi-stream"]
Mode = Literal["performance", "accuracy"]

MAX_SAMPLES = 10_000_000
_SEEDS = ("qsl_seed", "sample_index_seed", "schedule_seed")


class OfficialSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of LoadGen. Times in seconds, lengths in tokens; `interactive` is `server` with tighter limits.

    scenario            what LoadGen does
    mode                "performance", or "accuracy": every sample once and the answers in the log, without a verdict
    target_qps          server: the rate of the Poisson arrivals; offline: sizes the one query (1.1 x rate x duration)
    min_duration_s      LoadGen's, in whole milliseconds
    min_queries         LoadGen's min_query_count
    token_latencies     first tokens and token counts are reported; the limits are then ttft_s and tpot_s
    ttft_s, tpot_s      limits of the server scenario
    latency_s           its limit on whole requests where token_latencies is off
    percentile          at which limits and estimates are taken; None: LoadGen's own, 0.9 for single-stream, else 0.99
    expected_latency_s  of the streams: LoadGen sizes its queries by it; None: its own
    samples_per_query   of multi-stream
    performance_samples samples that are loaded together; LoadGen draws from them
    total_samples       samples of the library, which accuracy mode runs through; None: the same number
    equal_issue         sample_concatenate_permutation: whole shuffled passes over the loaded set
    *_seed              LoadGen's three seeds
    input_tokens        length of the prompt of each sample: one for all, or one for each of total_samples
    output_tokens       the same for the answer
    prompts             texts to be sent instead of ours, one for each sample; they never reach a file
    decoding            how the server is to generate; `exact_length` ignores the end-of-sequence token
    prompt_words        what our own prompts are made of
    distinct_prompts    each request has a text of its own: a prefix cache finds nothing where a sample comes again
    offline_in_flight   requests of an offline run under way at a time; the rest wait in the client
    client              limits of one request and habits of the client

    Raises UsageError naming the field.
    """

    scenario: ScenarioName
    mode: Mode = "performance"
    target_qps: float = 1.0
    min_duration_s: float = 600.0
    min_queries: int = 100
    token_latencies: bool = True
    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None
    percentile: float | None = None
    expected_latency_s: float | None = None
    samples_per_query: int = 8
    performance_samples: int = 64
    total_samples: int | None = None
    equal_issue: bool = False
    qsl_seed: int = 0
    sample_index_seed: int = 0
    schedule_seed: int = 0
    input_tokens: tuple[int, ...] = (128,)
    output_tokens: tuple[int, ...] = (128,)
    prompts: tuple[str, ...] = ()
    decoding: Decoding = Decoding()
    prompt_words: PromptSettings = PromptSettings()
    distinct_prompts: bool = False
    offline_in_flight: int = 1024
    client: Settings = Settings()

    def __post_init__(self) -> None:
        _whole("min_queries", self.min_queries, 1, MAX_SAMPLES)
        _whole("samples_per_query", self.samples_per_query, 1, 1024)
        _whole("performance_samples", self.performance_samples, 1, MAX_SAMPLES)
        _whole("total_samples", self.all_samples(), self.performance_samples, MAX_SAMPLES)
        _whole("offline_in_flight", self.offline_in_flight, 1, 60_000)
        for name in _SEEDS:
            _whole(name, getattr(self, name), 0, (1 << 64) - 1)
        _check_times(self)
        _check_limits(self)
        for name, least in (("input_tokens", 1), ("output_tokens", 1), ("prompts", 0)):
            _check_lengths(name, getattr(self, name), least, self.all_samples())
        if self.prompts and self.distinct_prompts:
            raise UsageError("official.distinct_prompts: found texts of your own in prompts, expected one of the two")
        schedule = self.schedule()
        if schedule is not None and schedule.target_qps * self.min_duration_s > MAX_SAMPLES:
            raise UsageError(f"official.target_qps: found {self.target_qps}, expected at most {MAX_SAMPLES:,} queries")

    def all_samples(self) -> int:
        """Samples of the whole library."""
        return self.performance_samples if self.total_samples is None else self.total_samples

    def schedule(self) -> ScheduleSettings | None:
        """What fixes the arrivals; None where there are none. Accuracy mode keeps no minimum duration of its own."""
        if self.scenario != "server" or self.mode != "performance":
            return None
        return ScheduleSettings(
            seed=self.schedule_seed,
            target_qps=self.target_qps,
            min_duration_ns=ns(self.min_duration_s),
            min_queries=self.min_queries,
            equal_issue_samples=self.performance_samples if self.equal_issue else 0,
        )

    def lengths(self, index: int) -> tuple[int, int]:
        """Prompt and answer of a sample, in tokens."""
        return _of(self.input_tokens, index), _of(self.output_tokens, index)


def _of(lengths: Sequence[int], index: int) -> int:
    return lengths[index] if len(lengths) > 1 else lengths[0]


def _whole(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"official.{name}: found {value}, expected {least:,} to {most:,}")


def _check_times(settings: OfficialSettings) -> None:
    """Durations that LoadGen can hold, and rates and limits that can be."""
    for name in ("target_qps", "ttft_s", "tpot_s", "latency_s", "expected_latency_s"):
        value = getattr(settings, name)
        if value is not None and not (math.isfinite(value) and 0 < value <= NS_PER_S):
            raise UsageError(f"official.{name}: found {value}, expected more than 0")
    if not 0 <= settings.min_duration_s <= 1e6 or round(settings.min_duration_s * 1e6) % 1000:
        found = settings.min_duration_s
        raise UsageError(f"official.min_duration_s: found {found}, expected whole milliseconds, as LoadGen keeps them")
    if settings.percentile is not None and not 0 < settings.percentile < 1:
        raise UsageError(f"official.percentile: found {settings.percentile}, expected between 0 and 1, such as 0.99")


def _check_limits(settings: OfficialSettings) -> None:
    """LoadGen's defaults are limits of 100 ms: one that nobody meant must not decide."""
    tokens = (settings.ttft_s, settings.tpot_s)
    if settings.scenario != "server":
        if any(limit is not None for limit in (*tokens, settings.latency_s)):
            raise UsageError(f"official: found a limit for {settings.scenario}, expected one for server only")
    elif settings.token_latencies and (None in tokens or settings.latency_s is not None):
        raise UsageError("official: expected ttft_s and tpot_s and no latency_s for server with token_latencies")
    elif not settings.token_latencies and (settings.latency_s is None or tokens != (None, None)):
        raise UsageError("official: expected latency_s, and no ttft_s and tpot_s, for server without token_latencies")


def _check_lengths(name: str, values: Sequence[int | str], least: int, library: int) -> None:
    if len(values) not in ((1, library) if least else (0, library)):
        counts = f"{'one' if least else 'none'} or {library:,}"
        raise UsageError(f"official.{name}: found {len(values):,}, expected {counts}: one a sample")
    if any(isinstance(value, int) and not least <= value <= 1 << 24 for value in values):
        raise UsageError(f"official.{name}: found {min(values)!r} among them, expected {least} or more")
