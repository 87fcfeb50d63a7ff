"""Data sets of one's own: a JSONL file, one sample a line, each sent as its own text.

    {"prompt": "...", "reference": "...", "max_tokens": 128, "id": "..."}

Only `prompt` must be there. A line with another field is refused: a misspelt `max_tokens` would go unheard.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from caveat.errors import InputError, UsageError
from caveat.figures import printable
from caveat.workload import Plan, PlanBlock, Queries, queries_of

MAX_BYTES = 1 << 30
MAX_LINE_BYTES = 8 << 20
MAX_ROWS = 1_000_000
MAX_ANSWER_TOKENS = 1 << 24
_NEXT = 'one object a line: {"prompt": "...", "reference": "...", "max_tokens": 128, "id": "..."}'


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sample. None is what the file does not say: nothing to compare with, no limit of its own."""

    prompt: str
    reference: str | None = None
    max_tokens: int | None = None
    id: str | int | None = None

    def __post_init__(self) -> None:
        if not self.prompt:
            raise ValueError("prompt: found an empty text, expected a prompt")
        if self.max_tokens is not None and not 1 <= self.max_tokens <= MAX_ANSWER_TOKENS:
            raise ValueError(f"max_tokens: found {str(self.max_tokens)[:40]}, expected 1 to {MAX_ANSWER_TOKENS:,}")


@dataclass(frozen=True, slots=True)
class Dataset:
    """The samples of a file, in its order, and the hash of the file."""

    rows: tuple[Row, ...]
    name: str
    sha256: str

    @property
    def referenced(self) -> int:
        """How many samples have something to compare an answer with."""
        return sum(row.reference is not None for row in self.rows)


def read_dataset(path: Path) -> Dataset:
    """The data set in a file. Raises InputError with the file, the line, what was found and what was expected."""
    digest = hashlib.sha256()
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name}: found {path.stat().st_size:,} bytes, expected at most {MAX_BYTES:,}")
        with path.open("rb") as file:
            rows = tuple(_rows(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), path.name, digest.update))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="check the path") from error
    if not rows:
        raise InputError(f"{path.name}: found no sample, expected a line for each", next=_NEXT)
    return Dataset(rows, path.name, digest.hexdigest())


def _rows(lines: Iterator[bytes], name: str, hashed: Callable[[bytes], None]) -> Iterator[Row]:
    decoder = msgspec.json.Decoder(Row)
    for number, line in enumerate(lines, start=1):
        hashed(line)
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"{name}, line {number}: found more than {MAX_LINE_BYTES:,} bytes, expected one sample")
        if number > MAX_ROWS:
            raise InputError(f"{name}, line {number}: found more than {MAX_ROWS:,} lines", next="split the file")
        if line.strip():
            yield _row(decoder, line, f"{name}, line {number}")


def _row(decoder: msgspec.json.Decoder[Row], line: bytes, where: str) -> Row:
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{where}: {printable(str(error))[:200]}", next=_NEXT) from error


class DatasetFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data set as a spec names it. `sha256` is filled in when it is first read: a repeat must find the same file."""

    file: str
    sha256: str = ""

    def read(self) -> Dataset:
        """The samples. InputError where the file is not there, or not the one that was used before."""
        found = read_dataset(Path(self.file))
        if self.sha256 and found.sha256 != self.sha256:
            raise InputError(
                f"{found.name}: not the file that the earlier run used (sha256 {self.sha256[:10]}…)",
                next="give that very file",
            )
        return found

    def settled(self) -> DatasetFile:
        """The same with the hash of the file as it is now."""
        return msgspec.structs.replace(self, sha256=read_dataset(Path(self.file)).sha256)


@dataclass(frozen=True)
class DatasetPlan:
    """A plan over a set of samples, with the prompts of a data set.

    Input lengths are 0, which is unknown: nobody counted the tokens of these prompts. The output length is where the
    answer is cut: the row's own, else what the workload says.
    """

    base: Plan
    data: Dataset

    def __post_init__(self) -> None:
        size = self.base.describe().get("dataset_samples")
        if size != len(self.data.rows):
            raise UsageError(
                f"dataset: found a set of {size} in the workload, expected the {len(self.data.rows):,} of the file",
                next="give workload.samples the size of the file",
            )

    @property
    def concurrency(self) -> int | None:
        """As the base."""
        return self.base.concurrency

    @property
    def block_tokens(self) -> int:
        """As the base."""
        return self.base.block_tokens

    @property
    def queries(self) -> Queries | None:
        """As the base."""
        return queries_of(self.base)

    def blocks(self) -> Iterator[PlanBlock]:
        """The requests, each cut where its row says."""
        own = np.array([row.max_tokens or 0 for row in self.data.rows], np.int64)
        for block in self.base.blocks():
            cap = own[block.sample]
            nothing_known = np.zeros(len(block), np.int64)
            yield replace(block, input_tokens=nothing_known, output_tokens=np.where(cap > 0, cap, block.output_tokens))

    def describe(self) -> dict[str, bool | int | float | str | dict[str, float]]:
        """As the base, without lengths that nobody asked for."""
        return dict(self._described)

    @cached_property
    def _described(self) -> dict[str, bool | int | float | str | dict[str, float]]:
        said = dict(self.base.describe())
        for key in ("input_tokens_requested", "output_tokens_requested", "prefix_reuse_share"):
            said.pop(key, None)
        cap = max(int(block.output_tokens.max()) for block in self.blocks())
        name = f"{self.data.name}, {len(self.data.rows):,} samples, sha256 {self.data.sha256[:12]}"
        return {**said, "dataset": name, "output_tokens_cap": cap}
