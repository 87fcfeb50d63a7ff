"""Requests become due in order, whatever waits for what."""

from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.feed import HORIZON_NS, PREPARED_AHEAD, READ_AHEAD, Feed, PlanSource
from caveat.loadgen.tickets import Slice, Ticket, tickets
from caveat.workload import PlanBlock
from tests.loadgen.plans import Chains, Flat, column

START_NS = 10_000
LATE_NS = 1 << 50


def feed(plan, made=None) -> Feed:
    def make(ticket: Ticket) -> bytes:
        if made is not None:
            made.append(ticket.number)
        return b"%d" % ticket.number

    return Feed(PlanSource(plan), make, START_NS, closed=plan.concurrency is not None)


def drain(a_feed: Feed, now_ns: int) -> list[Ticket]:
    a_feed.read(now_ns)
    found = []
    while (ticket := a_feed.pop(now_ns)) is not None:
        assert ticket.payload == b"%d" % ticket.number
        found.append(ticket)
    return found


def test_an_open_loop_gives_what_is_due_and_no_more():
    """The next one's time is known."""
    open_loop = feed(Flat(10, gap_ns=100))
    assert [ticket.number for ticket in drain(open_loop, START_NS + 250)] == [0, 1, 2]
    assert open_loop.next_ns() == START_NS + 300 and not open_loop.over()
    assert [ticket.ready_ns - START_NS for ticket in drain(open_loop, LATE_NS)] == [100 * n for n in range(3, 10)]
    assert open_loop.over() and open_loop.next_ns() is None


def test_rows_are_read_only_as_far_as_the_horizon():
    """A plan of a day is not taken into memory."""
    plan = Flat(1000, gap_ns=HORIZON_NS // 10)
    taken = feed(plan)
    taken.read(START_NS)
    read = 0
    while taken.pop(START_NS + HORIZON_NS) is not None:
        read += 1
    assert read == 11 and not taken.over()


def test_bytes_are_made_ahead_in_the_order_of_the_plan_and_only_so_many():
    """And once for each."""
    made: list[int] = []
    ahead = feed(Flat(PREPARED_AHEAD + 50, gap_ns=1), made)
    ahead.read(START_NS)
    while ahead.prepare():
        pass
    assert made == list(range(PREPARED_AHEAD))
    assert len(drain(ahead, LATE_NS)) == PREPARED_AHEAD + 50
    assert not ahead.prepare() and sorted(made) == list(range(PREPARED_AHEAD + 50))


def test_a_request_that_waits_is_due_when_the_other_has_ended_and_its_user_has_thought():
    """Or at its own time, if that is later; also where the other ended before this one was read."""
    block = PlanBlock(
        at_ns=column([0, 0, 900, 0]),
        input_tokens=column([1] * 4),
        output_tokens=column([1] * 4),
        after=column([-1, 0, 0, 1]),
        think_ns=column([0, 50, 50, 7]),
    )
    waiting = Feed(OneSlice(Slice(range(4), block)), lambda ticket: b"%d" % ticket.number, START_NS, closed=False)
    assert [ticket.number for ticket in drain(waiting, LATE_NS)] == [0] and not waiting.over()
    assert waiting.ended(0, START_NS + 100)
    due = drain(waiting, LATE_NS)
    assert [(ticket.number, ticket.ready_ns - START_NS) for ticket in due] == [(1, 150), (2, 900)]
    assert waiting.ended(1, START_NS + 200) and not waiting.ended(2, START_NS)
    assert [(ticket.number, ticket.ready_ns - START_NS) for ticket in drain(waiting, LATE_NS)] == [(3, 207)]
    assert waiting.over()


class OneSlice:
    """A source with one piece."""

    def __init__(self, piece: Slice) -> None:
        self.piece: Slice | None = piece

    def poll(self) -> Slice | None:
        piece, self.piece = self.piece, None
        return piece

    def ended(self) -> bool:
        return self.piece is None


def test_a_closed_loop_ignores_times_and_reads_a_little_ahead():
    """All are due at once, in the order of the plan."""
    closed = feed(Flat(READ_AHEAD + 100, gap_ns=10**15, concurrency=2))
    assert [ticket.number for ticket in drain(closed, START_NS)] == list(range(READ_AHEAD))
    assert [ticket.number for ticket in drain(closed, START_NS)] == list(range(READ_AHEAD, READ_AHEAD + 100))
    assert closed.over()


@given(sessions=st.integers(1, 5), turns=st.integers(1, 4), think=st.integers(0, 9), concurrency=st.none() | st.just(3))
def test_every_request_comes_once_and_never_before_what_it_waits_for(sessions, turns, think, concurrency):
    """In both loops."""
    chains = feed(Chains(sessions=sessions, turns=turns, think_ns=think, concurrency=concurrency))
    now_ns = START_NS
    ended: dict[int, int] = {}
    order: list[int] = []
    while not chains.over():
        for ticket in drain(chains, now_ns):
            if ticket.after >= 0:
                assert ticket.ready_ns >= ended[ticket.after] + think
            order.append(ticket.number)
            ended[ticket.number] = now_ns
            chains.ended(ticket.number, now_ns)
        now_ns += 10
    assert sorted(order) == list(range(sessions * turns))


def test_shared_prefixes_go_with_their_rows():
    """Also where a block has requests without any."""
    block = PlanBlock(
        at_ns=column([0, 1, 2]),
        input_tokens=column([9, 9, 9]),
        output_tokens=column([1, 1, 1]),
        prefix_ends=column([2, 2, 3]),
        prefix_blocks=column([7, 8, 7]),
    )
    assert [ticket.prefix for ticket in tickets(Slice((4, 9, 11), block), 0)] == [(7, 8), (), (7,)]
