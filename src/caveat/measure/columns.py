"""Columns of samples, read one at a time: from a table, a Parquet file, or the parts of one that still grows.

Numbers come as float64 with NaN for null. Nanoseconds stay exact: float64 holds every whole number up to 2^53, 104
days. A summary never holds more than the few columns that it works on, however long the run was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from caveat.errors import InputError, NotFoundError
from caveat.figures import printable
from caveat.measure.parts import folder_of, standing_parts
from caveat.measure.samples import COLUMNS, FORMAT

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_ROWS_AT_ONCE = 131_072
_ROOM_BYTES = 256 * 2**20  # all numbers of two million requests; of ten million the three columns asked for first


class SampleColumns:
    """All rows of one run's samples, in the order they were written. Raises InputError for a foreign schema."""

    def __init__(self, sources: Sequence[pa.Table | Path]) -> None:
        self._sources = sources
        self.rows = sum(_checked_rows(source) for source in sources)
        self._kept: dict[str, Floats] = {}

    def numbers(self, name: str) -> Floats:
        """A column of numbers, NaN where null; not to be written to. Kept for the next call while there is room."""
        if name in self._kept:
            return self._kept[name]
        values = np.empty(self.rows)
        for at, chunk in self.chunks(name):
            values[at : at + len(chunk)] = chunk.to_numpy(zero_copy_only=False)
        values.flags.writeable = False
        if (len(self._kept) + 1) * values.nbytes <= _ROOM_BYTES:
            self._kept[name] = values
        return values

    def present(self, name: str) -> Flags:
        """Where the column is not null."""
        flags = np.empty(self.rows, dtype=np.bool_)
        for at, chunk in self.chunks(name):
            flags[at : at + len(chunk)] = chunk.is_valid().to_numpy(zero_copy_only=False)
        return flags

    def equal(self, name: str, word: str) -> Flags:
        """Where a column of texts says this word."""
        import pyarrow.compute as pc

        flags = np.zeros(self.rows, dtype=np.bool_)
        for at, chunk in self.chunks(name):
            flags[at : at + len(chunk)] = pc.fill_null(pc.equal(chunk, word), False).to_numpy(zero_copy_only=False)
        return flags

    def counts(self, name: str, where: Flags) -> Counter[str | None]:
        """How often a column of texts says each word (None: null) in the rows where the flag is set."""
        found: Counter[str | None] = Counter()
        for at, chunk in self.chunks(name):
            for entry in chunk.filter(where[at : at + len(chunk)]).value_counts().to_pylist():
                found[entry["values"]] += entry["counts"]
        return found

    def chunks(self, name: str) -> Iterator[tuple[int, pa.Array]]:
        """(number of the first row, values) of one column after the other piece of it."""
        at = 0
        for source in self._sources:
            for chunk in _chunks_of(source, name):
                yield at, chunk
                at += len(chunk)


Samples: TypeAlias = "pa.Table | Path | str | SampleColumns"


def columns_of(samples: Samples) -> SampleColumns:
    """Samples from a table, from a Parquet file, or from the parts that stand while (or after) it was written.

    Raises NotFoundError where nothing stands, InputError for a file that is not one of samples.
    """
    if isinstance(samples, SampleColumns):
        return samples
    return SampleColumns(_files(Path(samples)) if isinstance(samples, str | Path) else [samples])


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    folder = path if path.is_dir() else folder_of(path)
    if not folder.is_dir():
        raise NotFoundError(f"{path}: found no samples", next="give a Parquet file that a run wrote")
    return standing_parts(folder)


def _checked_rows(source: pa.Table | Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(source, Path):
        _check_schema(source.schema, "samples")
        return int(source.num_rows)
    try:
        file = pq.ParquetFile(source)
    except (pa.ArrowException, OSError) as error:
        reason = printable(str(error))[:200]
        raise InputError(f"{source}: found no Parquet file that can be read: {reason}") from error
    _check_schema(file.schema_arrow, str(source))
    return int(file.metadata.num_rows)


def _check_schema(found: pa.Schema, where: str) -> None:
    said = (found.metadata or {}).get(b"format", b"").decode("utf-8", "replace")
    if said not in ("", FORMAT):
        raise InputError(f"{where}: found format {printable(said)[:60]!r}, expected {FORMAT!r}", next="update caveat")
    for name, kind, *_ in COLUMNS:
        if name not in found.names:
            raise InputError(
                f"{where}: found no column {name}, expected all of {FORMAT}",
                next="the columns are listed in caveat.measure.COLUMNS",
            )
        if not _same_type(str(found.field(name).type), kind):
            raise InputError(f"{where}: {name}: found {found.field(name).type}, expected {kind}")


def _same_type(found: str, expected: str) -> bool:
    """Whether an Arrow type is the one of the schema; what a list calls its items does not matter."""
    return found == expected or (expected.startswith("list<") and found.startswith("list<") and "int64" in found)


def _chunks_of(source: pa.Table | Path, name: str) -> Iterator[pa.Array]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(source, Path):
        yield from source.column(name).chunks
        return
    try:
        for batch in pq.ParquetFile(source).iter_batches(columns=[name], batch_size=_ROWS_AT_ONCE):
            yield batch.column(0)
    except (pa.ArrowException, OSError) as error:
        reason = printable(str(error))[:200]
        raise InputError(f"{source}: {name}: found data that cannot be read: {reason}") from error
