"""Open loop against a server that stands still: every request that was due is charged with the wait."""

import json
import time
from urllib.request import Request, urlopen

from caveat.loadgen import Endpoint, HttpTarget, WallClock
from caveat.loopback import Loopback
from tests.loadgen.plans import QUICK, Flat, Kept

STALL_NS, GAP_NS = 1_500_000_000, 20_000_000


def stalled(url: str) -> tuple[int, int]:
    """Let the server stand still; the instants between which that began."""
    before_ns = time.monotonic_ns()
    request = Request(f"{url}/loopback/stall", json.dumps({"seconds": STALL_NS / 1e9}).encode(), method="POST")
    with urlopen(request, timeout=10) as answer:
        assert answer.status == 200
    return before_ns, time.monotonic_ns()


def test_a_stall_is_in_the_latency_of_every_request_that_was_due_in_it():
    """The analytic value is the end of the stall less the time at which a request was due; less than that is a lie."""
    clock, sink = WallClock(), Kept()
    with Loopback().start() as server:
        began_ns, answered_ns = stalled(server.url)
        HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK).offer(Flat(100, gap_ns=GAP_NS), sink, clock)
    assert clock.start_ns is not None
    rows = sink.rows()
    ends_ns = began_ns + STALL_NS - clock.start_ns  # no earlier, on the clock of the plan
    due = [row for row in rows if row["scheduled_ns"] < ends_ns]
    assert {row["error_class"] for row in rows} == {None} and 0 < len(due) < 100
    for row in due:
        assert row["scheduled_ns"] == row["ready_ns"] == row["request"] * GAP_NS
        assert row["first_token_ns"] - row["scheduled_ns"] >= ends_ns - row["scheduled_ns"]
        assert row["first_token_ns"] < answered_ns + STALL_NS - clock.start_ns + STALL_NS  # generous: it does end
    early = due[: len(due) // 2]
    assert all(row["sent_ns"] < ends_ns for row in early)  # sent in the stall: nothing waited for an answer


def test_requests_that_are_due_after_a_stall_are_not_charged_with_it():
    """It shows in those that it held up, and in no others."""
    clock, sink = WallClock(), Kept()
    with Loopback().start() as server:
        _, answered_ns = stalled(server.url)
        HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK).offer(Flat(150, gap_ns=GAP_NS), sink, clock)
    assert clock.start_ns is not None
    over_ns = answered_ns + STALL_NS - clock.start_ns
    after = [row for row in sink.rows() if row["scheduled_ns"] > over_ns + STALL_NS // 2]
    assert after and all(row["first_token_ns"] - row["scheduled_ns"] < STALL_NS for row in after)
