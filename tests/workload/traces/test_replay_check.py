"""How far a replay is from its trace: every number of both, and whether it is as near as promised."""

import pytest

from caveat.workload import ReplayDifference, describe_trace, profile_of, replay_differences
from tests.workload.traces.samples import mooncake, needs_traces
from tests.workload.traces.test_profile import talks


@pytest.mark.parametrize(
    ("kind", "trace", "replay", "met"),
    [
        ("dispersion", 2.0, 2.19, True),
        ("dispersion", 2.0, 1.79, False),
        ("length", 100.0, 104.0, True),
        ("length", 100.0, 106.0, False),
        ("share", 0.10, 0.119, True),
        ("share", 0.10, 0.13, False),
    ],
)
def test_a_number_is_met_within_its_tolerance(kind, trace, replay, met):
    """10 % of a dispersion, 5 % of a length, 2 points of a share."""
    assert ReplayDifference(name="x", kind=kind, trace=trace, replay=replay).met is met


def test_the_trace_side_is_the_description_of_the_trace():
    """Dispersion, lengths and reuse, in that order."""
    trace = talks()
    found = replay_differences(trace, profile_of(trace))
    described = describe_trace(trace)
    assert described.prefixes is not None
    by_name = {one.name: one for one in found}
    assert by_name["p99 of input tokens"].trace == described.input_tokens["p99"]
    assert by_name["dispersion at 10 s"].trace == described.rates[1].dispersion
    assert by_name["blocks reused if forgotten after 60 s"].trace == described.prefixes.within_s["60"]
    assert len(found) == 3 + 6 + 1 + 4 + 5


@needs_traces
def test_what_a_small_cache_finds_in_a_replay_of_the_public_trace_is_said_to_be_off():
    """All is met but reuse by caches that forget."""
    trace = mooncake()
    missed = [one for one in replay_differences(trace, profile_of(trace)) if not one.met]
    assert missed
    assert all(one.kind == "share" and "blocks reused" in one.name for one in missed)
    assert any("10.3% in the trace" in one.words() for one in missed)
