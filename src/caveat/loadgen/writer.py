"""Writer: hands samples on from a thread of its own, so that a slow disk or pipe never holds up the event loop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from caveat.loadgen.rows import Block, Parcel, Words, batch
from caveat.measure import Sink

CountTokens = Callable[[str], int]

KeepAnswer = Callable[[int, str, int], None]
"""Told of every answer that came to its end: number of the request, text, characters of its first delta."""


class Writer:
    """Blocks go in from the loop, parcels come out, in order. The first error of `take` ends the writing.

    `keep` gets the text of each answer before `take` gets its sample; an error of it counts as one of `take`.
    """

    __slots__ = ("_count", "_error", "_keep", "_queue", "_take", "_thread", "errors", "finishes", "start_ns")

    def __init__(
        self, take: Callable[[Parcel], None], count_tokens: CountTokens | None, keep: KeepAnswer | None = None
    ) -> None:
        self._take, self._count, self._keep = take, count_tokens, keep
        self._queue: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="caveat-samples", daemon=True)
        self.finishes, self.errors = Words(), Words()
        self.start_ns = 0

    def start(self, start_ns: int) -> None:
        """Begin; instants in blocks will count from here."""
        self.start_ns = start_ns
        self._thread.start()

    @property
    def wants_text(self) -> bool:
        """Whether answers are wanted, to be counted or kept."""
        return self._count is not None or self._keep is not None

    def put(self, blocks: list[Block]) -> None:
        """Write these, some time."""
        for block in blocks:
            self._queue.put(block)

    def failed(self) -> bool:
        """Whether something was refused: the run should end."""
        return self._error is not None

    def close(self) -> None:
        """Write what is left. Raises what `take` raised."""
        if self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _write(self) -> None:
        while (block := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._take(self._parcel(block))
                except BaseException as error:  # whatever it is, it belongs to the thread that called `offer`
                    self._error = error

    def _parcel(self, block: Block) -> Parcel:
        counted: dict[int, int] = {}
        for row, deltas in block.answers.items():
            text = "".join(deltas)
            if self._count is not None:
                counted[row] = self._count(text)
            if self._keep is not None:
                self._keep(block.number(row), text, len(deltas[0]) if deltas else 0)
        return Parcel(
            packed=block.packed,
            start_ns=self.start_ns,
            finishes=self.finishes.all(),
            errors=self.errors.all(),
            texts=block.texts,
            tokens=counted,
            chunks={row: times.tobytes() for row, times in block.chunks.items()},
        )


def into(sink: Sink) -> Callable[[Parcel], None]:
    """What a Writer needs for a sink in the same process."""
    import pyarrow  # noqa: F401  (loading it takes 0.1 s, which must not fall into the run)

    return lambda parcel: sink.take(batch(parcel))
