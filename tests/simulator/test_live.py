"""A live fleet told request by request. That its instants are the simulation's is shown in tests/loopback."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.simulator.live import Live, Token
from caveat.simulator.prefix import chained
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import MS, affine
from tests.simulator.strategies import plans, routings, schedulers, step_times

BLOCK = 8  # of the plans


def drive(live, arrivals, cancels):
    """Tell what arrives and who leaves, at its time; all tokens in the order in which they are told."""
    acts = sorted([(row[1], 0, row) for row in arrivals] + [(at, 1, number) for number, at in cancels], key=_order)
    told = []
    for at_ns, kind, what in [*acts, (None, 2, None)]:
        while (due_ns := live.next_ns()) is not None and (at_ns is None or due_ns < at_ns):
            told += live.turn()
        if kind == 0:
            live.arrive(*what)
        elif kind == 1:
            live.cancel(what, at_ns)
    return told


def _order(act):
    return act[:2]


@settings(max_examples=60)
@given(st.data())
def test_whoever_leaves_gives_everything_back(data):
    """Seats, KV blocks and the count of tokens that wait; nothing is told of who has gone; the others get all."""
    scheduler = data.draw(schedulers(longest=100))
    if scheduler.prefix_cache:
        blocks = None if scheduler.kv_blocks is None else max(scheduler.kv_blocks, 13)
        scheduler = msgspec.structs.replace(scheduler, block_tokens=BLOCK, kv_blocks=blocks)
    server = SimulatedServer(data.draw(step_times), scheduler, replicas=2, routing=data.draw(routings))
    live, plan = Live(server), data.draw(plans())
    rows = zip(plan.at_ns, plan.input_tokens, plan.output_tokens, plan.prefixes, strict=True)
    arrivals = [(number, *row[:3], chained(row[3])) for number, row in enumerate(rows)]
    leavers = data.draw(st.sets(st.integers(0, len(arrivals) - 1)))
    left_ns = {number: arrivals[number][1] + data.draw(st.integers(0, 300)) * MS for number in leavers}
    told = drive(live, arrivals, left_ns.items())
    for number, at_ns, _, output, _ in arrivals:
        tokens = [token for token in told if token.number == number]
        assert all(
            token.due_ns <= left_ns.get(number, token.due_ns) + server.scheduler.output_s * 1e9 for token in tokens
        )
        assert all(token.due_ns > at_ns for token in tokens)
        assert number in leavers or sum(token.tokens for token in tokens) == output
    for replica in live.fleet.replicas:
        assert (replica.outstanding, replica.waiting, replica.queued_tokens, replica.kv.used) == (0, 0, 0, 0)
    assert (live.running, live.waiting, live.fleet.outstanding, live.next_ns()) == (0, 0, 0, None)


def test_tokens_that_are_seen_later_than_their_step_wait_for_their_time():
    """Two steps end before the first token is seen."""
    live = Live(SimulatedServer(affine(step_ms=10), Scheduler(output_s=0.025)))
    live.arrive(0, 0, 5, 2)
    instants = []
    while (due_ns := live.next_ns()) is not None:
        instants += [(due_ns, token) for token in live.turn()]
    assert instants == [(35 * MS, Token(0, 35 * MS, 1)), (45 * MS, Token(0, 45 * MS, 1))]


def test_a_moment_between_two_nanoseconds_is_rounded_up_for_the_driver_and_down_for_the_token():
    """So that nobody is called before something has happened, and due times are those of samples."""
    live = Live(SimulatedServer(affine(step_ms=1.0000005)))
    live.arrive(0, 0, 5, 1)
    assert live.next_ns() == 0 and live.turn() == []
    assert live.turn() == []
    assert live.next_ns() == 1_000_001
    assert live.turn() == [Token(0, 1_000_000, 1)]


def test_a_server_that_refuses_by_load_cannot_be_live():
    """Nobody would hear of it."""
    with pytest.raises(UsageError, match="found a limit"):
        Live(SimulatedServer(affine(step_ms=1), limit=3))
