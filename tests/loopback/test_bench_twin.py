"""The twin benchmark runs, and its page tells what it found. No number of this machine is judged here."""

import sys

import msgspec
import pytest
from benchmarks.bench_twin import Pair, outcome
from benchmarks.results import Result, machine
from benchmarks.twin_page import twin

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cores and priorities are Linux's")
NOTES = {"model": "name = 'twin'", "requests": "40", "priority": "the usual"}


@pytest.mark.parametrize(
    ("simulated_ms", "measured_ms", "agrees"),
    [(10.0, 12.0, True), (10.0, 12.1, False), (200.0, 205.9, True), (200.0, 206.1, False), (200.0, 193.0, False)],
)
def test_a_pair_agrees_within_three_per_cent_or_two_milliseconds(simulated_ms, measured_ms, agrees):
    """Both ways."""
    assert Pair("TTFT", "p50", simulated_ms, measured_ms).agrees is agrees


def test_a_short_run_has_both_sides_and_all_parts():
    """Forty requests on two replicas: everybody is found again, and no token was due at another time than simulated."""
    found = outcome("two replicas", 40, tries=1)
    assert (found.requests, found.failed, found.parts.drift_us) == (40, 0, 0.0)
    assert found.parts.joined > 30
    assert len(found.pairs) == 9 and all(pair.simulated_ms > 0 < pair.measured_ms for pair in found.pairs)
    page = "\n".join(twin(Result("twin", machine(), NOTES, {"outcomes": [msgspec.to_builtins(found)]})))
    assert "| two replicas, load 0.6 | " in page and "| 0.000 | 1 | 0 |" in page
