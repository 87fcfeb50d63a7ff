"""AccuracyOrder: what an accuracy run is to do, as a document that can be kept: every row of a data set, once.

format history
    caveat-accuracy/1   first version
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from caveat.errors import InputError, UsageError
from caveat.figures import Value
from caveat.loadgen.body import Decoding
from caveat.loadgen.dataset import Dataset, DatasetFile, Row
from caveat.loadgen.endpoint import HIDDEN, Endpoint
from caveat.loadgen.settings import Settings
from caveat.loadgen.spec import _check_known
from caveat.measure import Answered, Demands, can_split_sentences, check_rows, kind_named, scorer
from caveat.workload import PlanBlock

FORMAT: Literal["caveat-accuracy/1"] = "caveat-accuracy/1"
ORDER = "accuracy.json"
USUAL_SCORES = ("rouge1", "rouge2", "rougeL")
_MAX_CONCURRENCY = 100_000
_MAX_TOKENS = 1 << 24
_MAX_BYTES = 64 << 20


class AccuracyOrder(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One accuracy run.

    dataset         the file; its hash is filled in by `settled`
    scores          names of scores (caveat.measure.KINDS); those that have a threshold are added
    pattern         picks what exact match compares: one regular expression, applied to what the server sends
    demands         thresholds and the range of the mean output length
    concurrency     requests in flight; the loop is closed
    max_tokens      where the answer to a row is cut that has no limit of its own
    tokenizer_file  counts answers as well, and checks the server's counts against the texts
    known           conditions that only a person knows, as in a spec

    Raises UsageError naming the field.
    """

    endpoint: Endpoint
    dataset: DatasetFile
    format: Literal["caveat-accuracy/1"] = FORMAT
    scores: tuple[str, ...] = ()
    pattern: str | None = None
    demands: Demands = Demands()
    concurrency: int = 8
    max_tokens: int = 1024
    decoding: Decoding = Decoding(exact_length=False)
    settings: Settings = Settings()
    tokenizer_file: str | None = None
    known: dict[str, Value] = {}

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= _MAX_CONCURRENCY:
            raise UsageError(f"accuracy.concurrency: found {self.concurrency}, expected 1 to {_MAX_CONCURRENCY:,}")
        if not 1 <= self.max_tokens <= _MAX_TOKENS:
            raise UsageError(f"accuracy.max_tokens: found {self.max_tokens}, expected 1 to {_MAX_TOKENS:,}")
        if self.decoding.exact_length or self.decoding.limit_field is None:
            raise UsageError(
                f"accuracy.decoding: found {self.decoding.describe()}, expected answers that end by themselves or at "
                "their limit",
                next="leave exact_length out: a text that was forced to a length has no accuracy",
            )
        for name in self.scores:
            kind_named(name)
        _check_known(self.known)

    @property
    def asked_scores(self) -> tuple[str, ...]:
        """The scores to take: all that were asked for, those of the demands that can be, the usual ones where none is.

        A demand whose score is not taken is not forgotten: it stays unknown.
        """
        demanded = [one.score for one in self.demands.thresholds if _is_ours(one.score)]
        return tuple(dict.fromkeys((*map(_plain, self.scores), *demanded))) or USUAL_SCORES

    def settled(self) -> AccuracyOrder:
        """The same with the hash of the data set as it is now."""
        return msgspec.structs.replace(self, dataset=self.dataset.settled())

    def encoded(self) -> bytes:
        """As JSON with every default written out; the values of headers are hidden."""
        hidden = dict.fromkeys(self.endpoint.headers, HIDDEN)
        kept = msgspec.structs.replace(self, endpoint=msgspec.structs.replace(self.endpoint, headers=hidden))
        return msgspec.json.format(msgspec.json.encode(kept, order="deterministic"), indent=1) + b"\n"


def _plain(name: str) -> str:
    return kind_named(name).name


def _is_ours(name: str) -> bool:
    """Whether the score can be taken here: not a benchmark's own evaluation, nor one whose data is missing."""
    try:
        kind = kind_named(name)
    except UsageError:
        return False
    return not kind.punkt or can_split_sentences()


def check_before(order: AccuracyOrder, data: Dataset) -> None:
    """Refuse before anything is sent what could not be scored afterwards. Raises what the scoring raises."""
    for name in order.asked_scores:
        scorer(kind_named(name), order.pattern)
    check_rows([unanswered(row, place) for place, row in enumerate(data.rows)], order.asked_scores)


def unanswered(row: Row, place: int) -> Answered:
    """A row of the data set, under its own id or its place in the file, without an answer."""
    name = f"row {place + 1}" if row.id is None else str(row.id)
    return Answered(id=name, answer=None, reference=row.reference)


@dataclass(frozen=True, slots=True)
class EveryRow:
    """The plan of an accuracy run: each row of the data set once, in its order, so many at a time."""

    data: Dataset
    concurrency: int
    max_tokens: int
    block_tokens: int = 0

    def blocks(self) -> Iterator[PlanBlock]:
        """One block. The lengths of prompts are 0, which is unknown: nobody counted them."""
        zeros = np.zeros(len(self.data.rows), np.int64)
        caps = np.array([row.max_tokens or self.max_tokens for row in self.data.rows], np.int64)
        yield PlanBlock(at_ns=zeros, input_tokens=zeros, output_tokens=caps)

    def describe(self) -> Mapping[str, bool | int | float | str | dict[str, float]]:
        """As values of conditions."""
        rows = self.data.rows
        return {
            "dataset": f"{self.data.name}, {len(rows):,} samples, sha256 {self.data.sha256[:12]}",
            "dataset_samples": len(rows),
            "arrivals": f"concurrency({self.concurrency})",
            "loop": "closed",
            "concurrency": self.concurrency,
            "queries": len(rows),
            "output_tokens_cap": max(row.max_tokens or self.max_tokens for row in rows),
        }


def read_order(folder: Path) -> AccuracyOrder:
    """The order of an accuracy run. Raises InputError where the folder holds none."""
    try:
        with (folder / ORDER).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise InputError(f"{folder}: {ORDER}: found more than {_MAX_BYTES:,} bytes, expected an order")
        return msgspec.json.decode(data, type=AccuracyOrder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{folder}: no accuracy run here: {str(error)[:200]}", next=f"give a folder with {ORDER}"
        ) from error
    except UsageError as error:
        raise InputError(f"{folder}: {ORDER}: {error.message}", next=error.next) from error
