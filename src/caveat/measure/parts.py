"""Part files: samples on disk while a run goes, as numbered Parquet files beside where the one file will be.

`run.parquet` grows as `run.parquet.parts/00000007-00000007.parquet`, one flush a part. Every so many parts become one
(`00000000-00000127.parquet`). A reader leaves out a part whose range lies inside another's, so that neither a merge
that was cut short nor one that happens meanwhile shows a row twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caveat.measure.samples import schema

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_GROUP = 16_384  # a closing run holds one group in memory: 4 MB, and twice that while it is written
_REPEATING = ["phase", "finish_reason", "error_class"]  # the columns in which a dictionary pays
_NAME = re.compile(r"([0-9]{8})-([0-9]{8})\.parquet")

Range = tuple[int, int]  # first and last flush inside a part


def folder_of(path: Path) -> Path:
    """Where the parts of a samples file stand while it grows."""
    return path.with_name(f"{path.name}.parts")


def part_path(folder: Path, part: Range) -> Path:
    """The file of one range of flushes."""
    return folder / f"{part[0]:08d}-{part[1]:08d}.parquet"


def standing_parts(folder: Path) -> list[Path]:
    """The parts that together hold every row once, in order."""
    names = (_NAME.fullmatch(path.name) for path in folder.iterdir())
    ranges = sorted(((int(n[1]), int(n[2])) for n in names if n), key=lambda part: (part[0], -part[1]))
    standing: list[Range] = []
    for part in ranges:
        if not standing or part[1] > standing[-1][1]:
            standing.append(part)
    return [part_path(folder, part) for part in standing]


def write_rows(tables: Iterable[pa.Table], target: Path, *, durable: bool = False) -> int:
    """Write rows to a Parquet file that is there whole or not at all. Returns how many.

    A durable file is flushed to the disk before it takes its name, and so survives a power cut; what a killed
    process wrote is safe without.
    """
    import pyarrow.parquet as pq

    growing = target.with_name(f".{target.name}.growing")
    rows = 0
    with pq.ParquetWriter(growing, schema(), compression="zstd", use_dictionary=_REPEATING) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=ROWS_PER_GROUP)
            rows += table.num_rows
    if durable:
        with growing.open("rb") as written:
            os.fsync(written.fileno())
    growing.replace(target)
    return rows


def rows_of(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """The rows of several parts as tables of full row groups; memory holds one group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    held: list[pa.Table] = []
    for path in paths:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            held.append(file.read_row_group(group))
            if sum(table.num_rows for table in held) >= ROWS_PER_GROUP:
                yield pa.concat_tables(held)
                held = []
    if held:
        yield pa.concat_tables(held)
