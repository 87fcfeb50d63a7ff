"""A plan dealt to processes is the same plan, and what belongs together stays together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.feed import PlanSource
from caveat.loadgen.frames import pack_slice, unpack_slice
from caveat.loadgen.split import split
from caveat.loadgen.tickets import Ticket, tickets
from caveat.workload import NO_REQUEST, PlanBlock


@st.composite
def blocks(draw):
    """Blocks with any of the optional columns."""
    made, first = [], 0
    for count in draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)):
        numbers = range(first, first + count)
        columns = {
            name: [draw(st.integers(0, 99)) for _ in numbers] for name in ("at_ns", "input_tokens", "output_tokens")
        }
        if draw(st.booleans()):
            columns["after"] = [draw(st.integers(NO_REQUEST, n - 1)) for n in numbers]
            columns["think_ns"] = [draw(st.integers(0, 9)) for _ in numbers]
        if draw(st.booleans()):
            columns["session"] = [draw(st.integers(-1, 3)) for _ in numbers]
        if draw(st.booleans()):
            lengths = [draw(st.integers(0, 3)) for _ in numbers]
            columns["prefix_ends"] = np.cumsum(lengths).tolist()
            columns["prefix_blocks"] = list(range(sum(lengths)))
        made.append(PlanBlock(**{name: np.asarray(values, dtype=np.int64) for name, values in columns.items()}))
        first += count
    return made


class Fixed:
    """A plan of given blocks."""

    concurrency = None
    block_tokens = 0

    def __init__(self, made):
        self.made = made

    def blocks(self):
        return iter(self.made)

    def describe(self):
        return {}


@given(made=blocks(), processes=st.integers(1, 4))
def test_every_request_goes_to_one_process_and_chains_stay_together(made, processes):
    """Also through the pipes; numbers and all columns are kept."""
    source = PlanSource(Fixed(made))
    wanted: dict[int, Ticket] = {}
    while (piece := source.poll()) is not None:
        wanted |= {ticket.number: ticket for ticket in tickets(piece, 5)}
    owner: dict[int, int] = {}
    found: dict[int, Ticket] = {}
    for pieces in split(made, processes):
        for process, piece in enumerate(pieces):
            for ticket in tickets(unpack_slice(pack_slice(piece)), 5):
                owner[ticket.number] = process
                found[ticket.number] = ticket
    assert found == wanted
    assert all(owner[t.number] == owner[t.after] for t in wanted.values() if t.after != NO_REQUEST)
    lone = [t for t in wanted.values() if t.after == NO_REQUEST]
    assert all(owner[t.number] == (t.number if t.session < 0 else t.session) % processes for t in lone)
