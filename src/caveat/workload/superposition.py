"""Many clients at once, each with its own arrivals and, where it differs, its own lengths; merged in order of time.

Each client draws from its own child of the seed, by its place in the list: taking one away or adding one at the end
leaves the others' requests as they were. Of arrivals at one nanosecond, the client listed first comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.arrivals import Open
from caveat.workload.bounds import refuse
from caveat.workload.pairs import Lengths
from caveat.workload.plan import Int64
from caveat.workload.streams import CHUNK, Stream

_MAX_CLIENTS = 10_000
_FIRST_SLAB_NS = 1_000_000
_MAX_SLAB_NS = 3600 * NS_PER_S

Arrived = tuple[Int64, Int64]
"""Times in nanoseconds, and the place in the list of the client that each belongs to."""


class Client(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source of requests. Without `lengths` it has the workload's.

    arrivals  its own process
    lengths   its own; left out, the workload's
    name      for people
    """

    arrivals: Open
    lengths: Lengths | None = None
    name: str = ""


class Superposition(msgspec.Struct, frozen=True, tag="superposition", tag_field="kind", forbid_unknown_fields=True):
    """Independent clients together.

    clients  1 to 10,000 of them
    """

    clients: tuple[Client, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.clients) <= _MAX_CLIENTS:
            raise refuse("superposition.clients", f"{len(self.clients):,} clients", f"1 to {_MAX_CLIENTS:,}")

    def words(self) -> str:
        """The process for people; where all clients are of one kind, which."""
        kinds = sorted({str(client.arrivals.__struct_config__.tag) for client in self.clients})
        return f"superposition({len(self.clients):,} clients: {', '.join(kinds)})"

    def rate(self) -> float | None:
        """The sum of the clients' rates, if each has one."""
        rates = [client.arrivals.rate() for client in self.clients]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None

    def expected(self, duration_s: float) -> float:
        """Arrivals expected in a duration."""
        return sum(client.arrivals.expected(duration_s) for client in self.clients)

    def times(self, stream: Stream) -> Iterator[Int64]:
        """Times in nanoseconds, of all clients."""
        return (at_ns for at_ns, _ in self.arrived(stream))

    def arrived(self, stream: Stream) -> Iterator[Arrived]:
        """Times in nanoseconds with the client of each."""
        sources = [_Source(client.arrivals.times(stream.child(place))) for place, client in enumerate(self.clients)]
        end_ns, slab_ns = 0, _FIRST_SLAB_NS
        while any(source.lasts() for source in sources):
            end_ns += slab_ns
            at_ns, client = _merged([source.take_before(end_ns) for source in sources])
            if len(at_ns):
                yield at_ns, client
            if len(at_ns) < 2 * CHUNK:
                slab_ns = min(2 * slab_ns, _MAX_SLAB_NS)
            elif len(at_ns) > 8 * CHUNK:
                slab_ns = max(slab_ns // 2, 1)


class _Source:
    """A client's times that are drawn but not yet merged."""

    def __init__(self, times: Iterator[Int64]) -> None:
        self._times: Iterator[Int64] | None = times
        self._waiting_ns = np.empty(0, np.int64)

    def lasts(self) -> bool:
        """Whether anything may still come."""
        return self._times is not None or len(self._waiting_ns) > 0

    def take_before(self, end_ns: int) -> Int64:
        """Everything that lies before `end_ns` and was not taken yet."""
        while self._times is not None and not (len(self._waiting_ns) and self._waiting_ns[-1] >= end_ns):
            self._draw(self._times)
        count = int(np.searchsorted(self._waiting_ns, end_ns))
        taken, self._waiting_ns = self._waiting_ns[:count], self._waiting_ns[count:]
        return taken

    def _draw(self, times: Iterator[Int64]) -> None:
        drawn = next(times, None)
        if drawn is None:
            self._times = None
        else:
            self._waiting_ns = np.concatenate([self._waiting_ns, drawn])


def _merged(parts: list[Int64]) -> Arrived:
    at_ns = np.concatenate(parts)
    client = np.repeat(np.arange(len(parts), dtype=np.int64), [len(part) for part in parts])
    order = np.argsort(at_ns, kind="stable")
    return at_ns[order], client[order]
