"""Tickets: one object for each request that is on its way, and how the rows of a plan become them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caveat.workload import NO_REQUEST, PlanBlock


@dataclass(frozen=True, slots=True)
class Slice:
    """Some requests of a plan: the numbers that they have in it, and their columns."""

    numbers: tuple[int, ...] | range
    block: PlanBlock


@dataclass(slots=True)
class Ticket:
    """One request on its way: what the plan says about it, when it became due, and its bytes once they are made."""

    number: int
    session: int
    turn: int
    scheduled_ns: int
    ready_ns: int
    after: int
    think_ns: int
    input_tokens: int
    output_tokens: int
    prefix: tuple[int, ...]
    payload: bytes | None = None
    sample: int = NO_REQUEST

    @property
    def text(self) -> int:
        """The number that its text is made from: that of its sample, where it asks one of a set."""
        return self.number if self.sample == NO_REQUEST else self.sample

    def __lt__(self, other: Ticket) -> bool:
        """By the time they are due, then by number: a total order."""
        return (self.ready_ns, self.number) < (other.ready_ns, other.number)


def tickets(piece: Slice, start_ns: int) -> Iterator[Ticket]:
    """The rows of a slice. Columns are turned into lists once: reading an array's items one by one is slow."""
    block = piece.block
    count = len(block)

    def column(values: npt.NDArray[np.int64], default: int) -> list[int]:
        return values.tolist() if len(values) else [default] * count

    prefix_ends = column(block.prefix_ends, 0)
    prefix_blocks = block.prefix_blocks.tolist()
    begin = 0
    rows = zip(
        piece.numbers,
        column(block.session, NO_REQUEST),
        column(block.turn, NO_REQUEST),
        (block.at_ns + start_ns).tolist(),
        column(block.after, NO_REQUEST),
        column(block.think_ns, 0),
        block.input_tokens.tolist(),
        block.output_tokens.tolist(),
        prefix_ends,
        column(block.sample, NO_REQUEST),
        strict=True,
    )
    for number, session, turn, scheduled_ns, after, think_ns, input_tokens, output_tokens, end, sample in rows:
        prefix = tuple(prefix_blocks[begin:end]) if end > begin else ()
        begin = max(begin, end)
        yield Ticket(
            number,
            session,
            turn,
            scheduled_ns,
            0,
            after,
            think_ns,
            input_tokens,
            output_tokens,
            prefix,
            None,
            sample,
        )
