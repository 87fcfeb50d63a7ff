"""Descriptions: whole outputs, what is unknown, and the public trace against numbers counted another way."""

import msgspec
import numpy as np
import pytest

from caveat.workload import TraceDescription, describe_trace, read_trace
from caveat.workload.traces.passes import rank_correlation
from tests.workload.traces.samples import FILES, SECOND, mooncake, needs_traces, recording, written


@pytest.mark.parametrize("name", FILES)
def test_a_description_is_json_and_back(name, tmp_path):
    """Every format's smallest trace can be described."""
    described = describe_trace(read_trace(written(tmp_path, name)).recording)
    assert msgspec.json.decode(msgspec.json.encode(described), type=TraceDescription) == described
    assert described.requests == 3
    assert described.input_tokens["p50"] == 1000


def test_what_was_not_recorded_is_unknown():
    """None, and a sentence that says so."""
    described = describe_trace(recording([0, SECOND, 3 * SECOND]))
    assert described.prefixes is None
    assert described.sessions is None
    assert described.correlation is None
    assert any("sessions were not recorded" in note for note in described.notes)


def test_one_request_can_be_described():
    """There is no rate in it."""
    described = describe_trace(recording([0]))
    assert (described.mean_qps, described.gap_cv, described.rates) == (None, None, ())


def test_conversations_are_counted():
    """Turns, times between them, and whether they grow."""
    trace = recording([0, SECOND, 3 * SECOND, 9 * SECOND], [10, 10, 30, 12], [5, 5, 5, 5], sessions=[0, 1, 0, 0])
    sessions = describe_trace(trace).sessions
    assert sessions is not None
    assert sessions.sessions == 2
    assert sessions.turns == {"mean": 2.0, "p50": 1.0, "p90": 3.0, "p99": 3.0, "max": 3.0, "n": 2.0}
    assert sessions.between_s == {"mean": 4.5, "p50": 3.0, "p90": 6.0, "p99": 6.0, "n": 2.0}
    assert sessions.growing == 0.5


def test_ranks_tie_lengths_whatever_their_scale():
    """Spearman's correlation: 1 for any rising curve, mean ranks for ties."""
    values = np.arange(1, 50)
    assert rank_correlation(values, values**3) == pytest.approx(1.0)
    assert rank_correlation(values, -values) == pytest.approx(-1.0)
    assert rank_correlation(np.array([1, 1, 2, 3]), np.array([1, 2, 3, 3])) == pytest.approx(8 / 9)


@needs_traces
def test_the_public_trace_is_described():
    """Shape, reuse and the note on its clock."""
    described = describe_trace(mooncake())
    assert described.span_s == 3540.0
    assert described.input_tokens == {
        "mean": pytest.approx(12035.06, abs=0.01),
        "p50": 6909.0,
        "p90": 27367.0,
        "p99": 85401.0,
        "max": 126195.0,
        "n": 12031.0,
    }
    assert described.prefixes is not None
    assert described.prefixes.share == pytest.approx(0.36641, abs=1e-5)
    assert described.prefixes.different_blocks == 182_790
    assert [rate.scale_s for rate in described.rates] == [1.0, 10.0, 60.0, 600.0]
    assert described.rates[-1].dispersion is None  # five bins
    assert "the clock of the trace steps by 3 s: rates at 1 s are the recorder's, not the traffic's" in described.notes
    assert len(msgspec.json.encode(described)) < 40_000
