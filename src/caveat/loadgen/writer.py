"""Writer: hands samples to the sink from a thread of its own, so that a slow disk never holds up the event loop."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from caveat.loadgen.rows import Block, Words, batch
from caveat.measure import Sink

if TYPE_CHECKING:
    import pyarrow as pa

CountTokens = Callable[[str], int]

KeepAnswer = Callable[[int, str, int], None]
"""Told of every answer that came to its end: number of the request, text, characters of its first delta."""


class Writer:
    """Blocks go in from the loop, batches come out in the sink, in order. The sink's first error ends the writing.

    `keep` gets the text of each answer before the sink gets its sample; an error of it counts as one of the sink.
    """

    __slots__ = ("_count", "_error", "_keep", "_queue", "_sink", "_thread", "errors", "finishes", "start_ns")

    def __init__(self, sink: Sink, count_tokens: CountTokens | None, keep: KeepAnswer | None = None) -> None:
        self._sink, self._count, self._keep = sink, count_tokens, keep
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
        """Whether the sink refused something: the run should end."""
        return self._error is not None

    def close(self) -> None:
        """Write what is left. Raises what the sink raised."""
        if self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _write(self) -> None:
        while (block := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._sink.take(self._batch(block))
                except BaseException as error:  # whatever it is, it belongs to the thread that called `offer`
                    self._error = error

    def _batch(self, block: Block) -> pa.RecordBatch:
        counted: dict[int, int] = {}
        for row, deltas in block.answers.items():
            text = "".join(deltas)
            if self._count is not None:
                counted[row] = self._count(text)
            if self._keep is not None:
                self._keep(block.number(row), text, len(deltas[0]) if deltas else 0)
        return batch(block, self.start_ns, self.finishes.all(), self.errors.all(), counted)
