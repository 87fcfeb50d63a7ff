"""What the client noted of itself, and what it ran out of."""

import msgspec
import pytest

from caveat.loadgen import ClientHealth
from caveat.loadgen.selfcheck import health_of, limit_sentences, process_report
from caveat.loadgen.spread import Spread
from caveat.loadgen.tally import Tally

WELL = ClientHealth(
    processes=1,
    requests=1000,
    failed=3,
    client_limit_errors=0,
    late_p50_s=0.0001,
    late_p99_s=0.001,
    late_max_s=0.02,
    loop_lag_p99_s=0.002,
    loop_lag_max_s=0.02,
    stall_p50_s=0.0,
    stall_p99_s=0.001,
    cpu_share=0.3,
    cpu_share_p95=0.4,
    cpu_wait_share=0.01,
    cpu_s=3.0,
    in_flight_most=10,
    connections=20,
    connections_ahead=8,
    file_descriptors=10,
    file_descriptor_limit=1024,
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cpu_wait_share": 0.4}, "a process waited for a CPU 40%, 20% or more is too much"),
        ({"client_limit_errors": 1}, "requests failed for want of descriptors or ports 0.10%"),
        ({"file_descriptors": 1020}, "file descriptors were used up 100%, 98% or more is too much"),
    ],
)
def test_a_client_that_ran_out_of_something_says_of_what(change, reason):
    """The number, and the number from which on it counts."""
    assert limit_sentences(msgspec.structs.replace(WELL, **change)) == (f"Client-limited: {reason}.",)


def test_what_is_not_known_is_no_reason():
    """A system that does not tell how long processes wait; no request at all."""
    unknown = msgspec.structs.replace(WELL, cpu_wait_share=None, requests=0, file_descriptor_limit=0)
    assert limit_sentences(unknown) == ()


def test_connections_that_stood_already_are_reuse():
    """Eight were opened ahead, twelve on the way to a thousand requests."""
    assert WELL.reuse_share() == pytest.approx(0.988)
    used = "client: 1 process, 3 s of processor time, at most 10 in flight, 20 connections made"
    assert WELL.sentence() == f"{used}, 99% of requests over one that stood"
    assert msgspec.structs.replace(WELL, requests=0).sentence() == used


def test_processes_together_are_as_good_as_the_worst_of_them():
    """Counts add up, shares do not."""
    tally, lag = Tally(), Spread()
    tally.sent, tally.failed, tally.in_flight_most = 5, 1, 3
    for ns in (1_000_000, 9_000_000):
        tally.late.add(ns)
        lag.add(ns)
    report = process_report(tally, lag, 4)
    busy = msgspec.structs.replace(report, cpu_s=9.0, wall_s=10.0, busy=[0.2, 0.9], waited_s=None)
    idle = msgspec.structs.replace(report, cpu_s=1.0, wall_s=10.0, busy=[0.1], waited_s=1.0)
    health = health_of([msgspec.json.decode(msgspec.json.encode(part), type=type(report)) for part in (busy, idle)])
    assert (health.processes, health.requests, health.failed, health.connections) == (2, 10, 2, 8)
    assert (health.cpu_share, health.cpu_share_p95, health.cpu_wait_share, health.cpu_s) == (0.9, 0.9, 0.1, 10.0)
    assert health.late_max_s == health.loop_lag_max_s == 0.009 and 0.001 <= (health.late_p50_s or 0) <= 0.001125


def test_what_the_machine_had_no_more_of_is_told_by_itself():
    """What samples cannot show; delays they show themselves."""
    short = msgspec.structs.replace(WELL, late_p99_s=9.0, client_limit_errors=5, cpu_wait_share=0.25)
    assert limit_sentences(short) == (
        "Client-limited: a process waited for a CPU 25%, 20% or more is too much.",
        "Client-limited: requests failed for want of descriptors or ports 0.50%.",
    )
    assert limit_sentences(WELL) == ()
