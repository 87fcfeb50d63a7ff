"""Pools: replicas that take the same requests; and what a fleet asks of those who feed it, link it and scale it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from caveat.simulator.request import Request
from caveat.simulator.routers import Router


class Source(Protocol):
    """Where requests come from: a Feed, or whoever makes them one by one. `next_fs` is when the next is due."""

    next_fs: int

    def pop(self) -> Request:
        """The request that is due at `next_fs`."""
        ...

    def ended(self, number: int, end_fs: int) -> None:
        """A request ends at this instant, well or not."""
        ...


class Pool:
    """Replicas that take the same requests, and the router between them.

    `numbers` are all of them, `live` those that take requests now, in order. `scaled`: somebody else than failures
    decides which those are.
    """

    __slots__ = ("live", "numbers", "router", "scaled")

    def __init__(self, numbers: Sequence[int], router: Router) -> None:
        self.numbers, self.router = tuple(numbers), router
        self.live = list(numbers)
        self.scaled = False


class Link(Protocol):
    """Brings requests from one pool to another: see disaggregation.py."""

    decode: Pool
    sent: int
    tokens: int
    waited_fs: int

    def send(self, request: Request, now_fs: int) -> None:
        """A prompt is computed; its request is on its way."""
        ...

    def lost(self, number: int, now_fs: int) -> list[Request]:
        """The requests on their way from or to a replica that fails."""
        ...


class Scaler(Protocol):
    """Orders and gives back the replicas of a pool: see autoscaling.py."""

    ordered: int
    given_up: int

    def paid_fs(self, now_fs: int) -> int:
        """Time of replicas that is paid for until now, over all of the pool."""
        ...
