"""ParquetSink: samples go to disk while the run goes, from a thread of their own, so that no event loop waits."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from caveat.errors import InputError, RefusedError
from caveat.measure.parts import Range, folder_of, part_path, rows_of, standing_parts, write_rows
from caveat.measure.samples import schema

if TYPE_CHECKING:
    import pyarrow as pa

MERGED_AT = 128  # so many parts become one: a day of one-second parts is some 800 files, not 86,400


class ParquetSink:
    """A samples file that can be read while it grows; a killed process loses what came in the last `every_s`.

    Writes `<path>.parts/` while the run goes and `path` at close; `columns_of(path)` reads either. Raises RefusedError
    where samples stand already (nothing is overwritten) and InputError, at the next `take` or at `close`, where
    the disk refuses.
    """

    def __init__(self, path: Path, *, every_s: float = 1.0) -> None:
        self._path = path
        self._folder = folder_of(path)
        _refuse_existing(path, self._folder)
        self._schema = schema()
        self._pending: list[pa.RecordBatch] = []
        self._lock = threading.Lock()
        self._single: list[Range] = []
        self._merged_away: list[Path] = []
        self._flushes = 0
        self._failure: Exception | None = None
        self._closing = threading.Event()
        self._writer = threading.Thread(target=self._run, args=(every_s,), name="samples", daemon=True)
        self._writer.start()

    def take(self, batch: pa.RecordBatch) -> None:
        """Rows of the schema; they are on disk within `every_s` seconds."""
        if batch.schema != self._schema:
            raise InputError(f"samples: found columns {batch.schema.names}, expected those of caveat-samples/1")
        self._raise_failure()
        with self._lock:
            self._pending.append(batch)

    def close(self) -> None:
        """Write what is left, and the parts as one file."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._writer.join()
        self._raise_failure()
        try:
            self._flush()
            write_rows(rows_of(standing_parts(self._folder)), self._path, durable=True)
        except OSError as error:
            raise self._complaint(error) from error
        shutil.rmtree(self._folder, ignore_errors=True)  # the file is whole: what cannot be removed does no harm

    def _run(self, every_s: float) -> None:
        while not self._closing.wait(every_s):
            try:
                self._flush()
                self._merge()
            except Exception as error:  # handed to the next caller: a thread has nobody to raise to
                self._failure = error
                return

    def _flush(self) -> None:
        import pyarrow as pa

        with self._lock:
            batches = list(self._pending)
        if not batches:
            return
        part = (self._flushes, self._flushes)
        write_rows([pa.Table.from_batches(batches, self._schema)], part_path(self._folder, part))
        with self._lock:
            del self._pending[: len(batches)]  # only now: a write that failed leaves them for the next
        self._flushes += 1
        self._single.append(part)

    def _merge(self) -> None:
        """Many parts become one. What a merge replaced stays until the next, for readers that have listed it."""
        if len(self._single) < MERGED_AT:
            return
        paths = [part_path(self._folder, part) for part in self._single]
        write_rows(rows_of(paths), part_path(self._folder, (self._single[0][0], self._single[-1][1])))
        for path in self._merged_away:
            path.unlink()
        self._merged_away, self._single = paths, []

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._complaint(self._failure) from self._failure

    def _complaint(self, error: Exception) -> InputError:
        return InputError(
            f"{self._path}: samples cannot be written: {error}",
            next=f"free the disk; what was written before stands in {self._folder.name}",
        )


def _refuse_existing(path: Path, folder: Path) -> None:
    if path.exists() or folder.exists():
        found = path if path.exists() else folder
        raise RefusedError(f"{found}: found samples already, expected a new name", next="give another file name")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error}", next="give a folder that can be written") from error
