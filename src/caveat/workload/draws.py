"""Lengths of a plan's requests, in their order; clients of a superposition each draw from a stream of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caveat.workload.exact import Float64
from caveat.workload.pairs import Lengths, draw_lengths, pieces
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream
from caveat.workload.superposition import Superposition

if TYPE_CHECKING:
    from caveat.workload.workload import Workload


class LengthDraws:
    """Input and output lengths, request by request."""

    def __init__(self, workload: Workload, stream: Stream) -> None:
        self._lengths = workload.lengths
        self._stream = stream
        self._clients: list[_ClientDraws] = []
        if isinstance(workload.arrivals, Superposition):
            self._clients = _client_draws(workload.lengths, workload.arrivals, stream)

    def draw(self, count: int, client: Int64 | None) -> tuple[Int64, Int64]:
        """Input and output tokens of the next requests."""
        if client is None:
            return draw_lengths(self._lengths, self._stream, count)
        input_tokens, output_tokens = np.empty(count, np.int64), np.empty(count, np.int64)
        by_client = np.argsort(client, kind="stable")
        for draws in self._clients:
            mine, uniforms = draws.numbers_of(by_client, client[by_client])
            start = 0
            for piece in pieces(len(mine)):
                some = slice(start, start + piece)
                input_tokens[mine[some]], output_tokens[mine[some]] = draws.lengths.tokens(uniforms[:, some])
                start += piece
        return input_tokens, output_tokens


class _ClientDraws:
    """Clients with the same lengths: numbers from each one's stream, turned into lengths together."""

    def __init__(self, lengths: Lengths) -> None:
        self.lengths = lengths
        self._streams: dict[int, Stream] = {}

    def add(self, client: int, stream: Stream) -> None:
        """One more client."""
        self._streams[client] = stream

    def numbers_of(self, requests: Int64, client: Int64) -> tuple[Int64, Float64]:
        """Which of these requests are from these clients, and their uniform numbers; `client` is in order."""
        bounds = np.searchsorted(client, np.array([[place, place + 1] for place in self._streams]))
        places, tables = [np.empty(0, np.int64)], [np.empty((self.lengths.numbers, 0))]
        for stream, (start, end) in zip(self._streams.values(), bounds.tolist(), strict=True):
            if start < end:
                places.append(requests[start:end])
                tables.append(stream.table(end - start, self.lengths.numbers))
        return np.concatenate(places), np.concatenate(tables, axis=1)


def _client_draws(lengths: Lengths, superposition: Superposition, stream: Stream) -> list[_ClientDraws]:
    """One for each different record of lengths, by identity: equal ones only cost time."""
    draws: dict[int, _ClientDraws] = {}
    for place, client in enumerate(superposition.clients):
        own = client.lengths or lengths
        draws.setdefault(id(own), _ClientDraws(own)).add(place, stream.child(place))
    return list(draws.values())
