"""What LoadGen is told, and a callback that never raises."""

from types import SimpleNamespace
from typing import Any

import pytest

from caveat.loadgen.official.bridge import IssueCallback, LoadgenHarness, loadgen_settings, log_settings
from caveat.loadgen.official.process import loadgen
from tests.loadgen.official.runs import SEEDS, needs_loadgen, settings


class Heard:
    """Stands for LoadGen's side and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def first_token(self, sample: int, text: str) -> None:
        self.told.append(("first", sample))

    def complete(self, sample: int, tokens: int, text: str) -> None:
        self.told.append(("complete", sample, tokens))


def query(*indices: int) -> list[Any]:
    return [SimpleNamespace(id=1000 + index, index=index) for index in indices]


def test_the_callback_hands_over_and_keeps_the_order():
    """Ids and indices as they come."""
    handed: list[Any] = []
    issue = IssueCallback(handed.append, Heard(), token_latencies=True)
    issue(query(3))
    issue(query(1, 2))
    assert handed == [[(1003, 3)], [(1001, 1), (1002, 2)]]
    assert issue.order.tolist() == [3, 1, 2] and issue.errors == []


@pytest.mark.parametrize("error", [RuntimeError("the client is closed"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("token_latencies", [True, False])
def test_the_callback_never_raises_and_completes_what_it_could_not_hand_over(error, token_latencies):
    """An exception in it would end the process, and a sample without an end would hang LoadGen."""

    def take(issued: Any) -> None:
        raise error

    heard = Heard()
    issue = IssueCallback(take, heard, token_latencies=token_latencies)
    issue(query(3, 4))
    first = [[("first", 1003)], [("first", 1004)]] if token_latencies else [[], []]
    assert heard.told == [*first[0], ("complete", 1003, 0), *first[1], ("complete", 1004, 0)]
    assert issue.errors == [f"{type(error).__name__}: {error}"]


@needs_loadgen
def test_every_setting_reaches_loadgen():
    """In nanoseconds and milliseconds; the limit that token latencies replace is 0 and not LoadGen's 100 ms."""
    made = loadgen_settings(
        loadgen(), settings(**SEEDS, min_duration_s=1.5, ttft_s=0.45, tpot_s=0.04, equal_issue=True)
    )
    assert (made.scenario.name, made.mode.name) == ("Server", "PerformanceOnly")
    assert (made.ttft_latency, made.tpot_latency, made.server_target_latency_ns) == (450_000_000, 40_000_000, 0)
    assert (made.min_duration_ms, made.min_query_count, made.server_target_qps) == (1500, 8, 100.0)
    assert (made.qsl_rng_seed, made.sample_index_rng_seed, made.schedule_rng_seed) == tuple(SEEDS.values())
    assert made.sample_concatenate_permutation is True and made.server_coalesce_queries is False
    assert (made.server_target_latency_percentile, made.single_stream_target_latency_percentile) == (0.99, 0.9)


@needs_loadgen
def test_what_is_not_asked_for_stays_loadgens_and_what_is_asked_for_does_not():
    """Percentile and expected latency of the streams."""
    made = loadgen_settings(loadgen(), settings(scenario="single-stream", percentile=0.95, expected_latency_s=0.02))
    assert (made.scenario.name, made.single_stream_target_latency_percentile) == ("SingleStream", 0.95)
    assert made.single_stream_expected_latency_ns == 20_000_000


@needs_loadgen
def test_logs_go_to_the_folder_without_a_trace(tmp_path):
    """A trace of a long run is larger than all else."""
    made = log_settings(loadgen(), tmp_path)
    assert (made.enable_trace, made.log_output.outdir) == (False, str(tmp_path))
    assert not made.log_output.copy_summary_to_stdout and not made.log_output.copy_detail_to_stdout


def test_answers_are_told_in_utf_8_with_their_tokens():
    """The buffer's length is that of its bytes, and a lone surrogate does no harm."""
    calls: list[Any] = []
    lg = SimpleNamespace(
        QuerySampleResponse=lambda *values: values,
        FirstTokenComplete=lambda responses: calls.append(responses[0]),
        QuerySamplesComplete=lambda responses: calls.append(responses[0]),
    )
    harness = LoadgenHarness(lg)
    harness.first_token(7, "é")
    harness.complete(7, 5, "\ud800a")
    assert [(call[0], call[2], *call[3:]) for call in calls] == [(7, 2), (7, 2, 5)]
