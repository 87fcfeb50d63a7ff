"""Disaggregation: prompts are computed on one pool of replicas and answered on another; keys and values travel between.

What it models. A request's prompt is computed, and its first token given, on a prefill replica. A decode replica is
chosen, and the prompt's keys and values go there over links that all transfers share, first come, first served. Until
they are there the blocks of the prefill replica stay taken. The decode replica admits the request when a seat and
blocks are free, with room for everybody's next token; a sequence that it preempts it computes again itself.

What it leaves out. Transfer layer by layer while the prompt is still being computed; blocks that the decode replica
sets aside before they come, or has already; a first token that only the decode replica gives out.

Limit case. A request alone with a transfer that takes no time ends when it would on one replica. Answers of one token
never travel. With links as the bottleneck, waits for them are those of a queue with as many servers.

In the load fraction. Each pool has one, and so have the links; the largest is the answer, and all are told. Every
prompt counts as one that travels.
"""

from __future__ import annotations

from functools import partial
from heapq import heapreplace
from typing import Literal

import msgspec

from caveat.errors import InputError
from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import fs_from_s
from caveat.simulator.pools import Pool
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request

_MOST_LINKS = 10_000


class Disaggregation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two pools and what lies between them.

    prefill_replicas     of the fleet's replicas, the first so many compute prompts; the others decode
    kv_bytes_per_token   keys and values of a token, over all layers; None, in a model file: by its model's shape
    link_bytes_per_s     of one link; `links` of them are shared by all transfers, each of which takes one
    latency_s            of a transfer, beside its bytes; it holds no link
    decode_router        how requests are spread over the decode replicas; those on their way count as under way
    """

    prefill_replicas: int
    link_bytes_per_s: float
    kv_bytes_per_token: float | None = None
    links: int = 1
    latency_s: float = 0.0
    decode_router: Literal["round-robin", "random", "least-outstanding", "power-of-two"] = "least-outstanding"

    def __post_init__(self) -> None:
        if self.prefill_replicas < 1:
            raise InputError(f"disaggregation: prefill_replicas: found {self.prefill_replicas}, expected 1 or more")
        if not 1 <= self.links <= _MOST_LINKS:
            raise InputError(f"disaggregation: links: found {self.links}, expected a number from 1 to {_MOST_LINKS:,}")
        for name, low, high in (
            ("kv_bytes_per_token", 0.0, 1e15),
            ("link_bytes_per_s", 1.0, 1e18),
            ("latency_s", 0.0, 1e6),
        ):
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise InputError(f"disaggregation: {name}: found {value}, expected a number from {low:g} to {high:g}")

    def token_s(self) -> float:
        """What a link needs for the keys and values of one token. InputError where nobody said how many bytes."""
        if self.kv_bytes_per_token is None:
            raise InputError(
                "disaggregation: kv_bytes_per_token: found none, expected the bytes of keys and values of a token",
                next="layers x 2 x KV heads x head size x bytes of a number",
            )
        return self.kv_bytes_per_token / self.link_bytes_per_s


class Transfers:
    """The requests on their way between the pools of a fleet; `fleet.link`.

    `sent` transfers and `tokens` in them, `waited_fs` before a link was free, over all.
    """

    def __init__(self, fleet: Fleet, decode: Pool, settings: Disaggregation) -> None:
        self.decode = decode
        self.sent = self.tokens = self.waited_fs = 0
        self._fleet = fleet
        self._token_fs, self._latency_fs = fs_from_s(settings.token_s()), fs_from_s(settings.latency_s)
        self._free_fs = [0] * settings.links  # a heap
        self._under_way: dict[Request, _Transfer] = {}

    def send(self, request: Request, now_fs: int) -> None:
        """A prompt is computed: choose who decodes, and take the first link that is free."""
        fleet, decode = self._fleet, self.decode
        if not decode.live:
            fleet.replicas[request.place].kv.let_go(request, request.target)  # its next step begins at this instant
            fleet.drop(request, now_fs, "http-503")
            return
        number = decode.router.choose(request, decode.live, now_fs)
        fleet.replicas[number].outstanding += 1
        begin_fs = max(now_fs, self._free_fs[0])
        end_fs = begin_fs + self._token_fs * request.prompt
        heapreplace(self._free_fs, end_fs)
        self.sent += 1
        self.tokens += request.prompt
        self.waited_fs += begin_fs - now_fs
        transfer = _Transfer(request.place, number)
        self._under_way[request] = transfer
        fleet.at(end_fs + self._latency_fs, partial(self._arrive, request, transfer))

    def _release(self, request: Request, origin: int, now_fs: int) -> None:
        self._fleet.poke(origin, partial(Replica.release, request=request, now_fs=now_fs))

    def _arrive(self, request: Request, transfer: _Transfer, now_fs: int) -> None:
        if self._under_way.get(request) is not transfer:
            return  # lost meanwhile
        del self._under_way[request]
        self._release(request, transfer.origin, now_fs)
        self._fleet.deliver(request, transfer.to, now_fs)

    def lost(self, number: int, now_fs: int) -> list[Request]:
        """A replica failed: what is on its way from it or to it is lost, and the other end forgets it."""
        lost = [request for request, one in self._under_way.items() if number in (one.origin, one.to)]
        for request in lost:
            transfer = self._under_way.pop(request)
            if transfer.origin != number:
                self._release(request, transfer.origin, now_fs)
            if transfer.to != number:
                self._fleet.replicas[transfer.to].outstanding -= 1
            request.restart()
        return lost


class _Transfer:
    """From where to where. One object a transfer: a request that is sent again has another."""

    __slots__ = ("origin", "to")

    def __init__(self, origin: int, to: int) -> None:
        self.origin, self.to = origin, to
