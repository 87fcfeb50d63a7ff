"""Run: one execution of one workload on one target, as a document.

format history
    caveat-run/1   first version
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

from caveat.errors import DocumentError
from caveat.figures.condition_values import Conditions
from caveat.figures.kinds import COUNT_END, Value, is_unicode, shortened
from caveat.figures.metrics import METRICS, Metric
from caveat.figures.printable import printable
from caveat.figures.provenance import Provenance
from caveat.figures.validity import Check, Outcome, outcome

FORMAT = "caveat-run/1"
ID_LENGTH = 40  # hex digits of sha256 that are kept: 160 bits
SHOWN = 10  # of which a screen shows so many
_REASON_LENGTH = 300  # characters of a decoder's complaint, which may quote the document


class Spread(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An interval around a value: `low` to `high` by `method`, for instance '95 % of the mean, batch means'."""

    low: float
    high: float
    method: str

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "low", _finite("spread.low", self.low))
        msgspec.structs.force_setattr(self, "high", _finite("spread.high", self.high))
        if self.low > self.high:
            raise DocumentError(f"spread: found {self.low!r} to {self.high!r}, expected low before high")
        if not self.method:
            raise DocumentError("spread.method: found nothing, expected how the interval was made")


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One value of one metric. `n` is the number of requests behind it; `source_key` the key in the source.

    `notes` says what was corrected or contested about this value, one sentence each. Raises DocumentError for a
    metric that has no definition, and for a value that is not a finite number.
    """

    metric: str
    value: float
    n: int | None = None
    spread: Spread | None = None
    source: int = 0
    source_key: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise DocumentError(
                f"metric: found {shortened(self.metric)}, expected the key of a defined metric",
                next="see docs/metrics.md",
            )
        msgspec.structs.force_setattr(self, "value", _finite(self.metric, self.value))
        if self.n is not None and (isinstance(self.n, bool) or not 0 <= self.n < COUNT_END):
            raise DocumentError(f"{self.metric}: n: found {shortened(self.n)}, expected a count of requests")

    @property
    def definition(self) -> Metric:
        """What the metric means, with its unit."""
        return METRICS[self.metric]


def _finite(name: str, value: float) -> float:
    """The value as a plain float (8 and 8.0 are one value and make one id; zero has no sign)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(number := _as_float(value)):
        raise DocumentError(f"{name}: found {shortened(value)}, expected a finite number")
    return number


def _as_float(value: float) -> float:
    try:
        return float(value) + 0.0
    except OverflowError:  # an integer beyond every float
        return math.inf


class Run(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, dict=True, weakref=True
):
    """A run with its conditions, validity and provenance. Values leave it only as Figures.

    `subject` says what the run is, whatever the source; `primary` is the metric key under which the run was
    published; `replaces` is the id of the document of the same subject that this one corrects or enriches.
    """

    subject: str
    conditions: Conditions
    provenance: Provenance
    rows: tuple[Row, ...]
    validity: tuple[Check, ...] = ()
    primary: str | None = None
    notes: tuple[str, ...] = ()
    samples: str | None = None
    replaces: str | None = None
    format: str = FORMAT

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise _wrong_format(self.format)
        if not self.subject.strip() or not is_unicode(self.subject):
            raise DocumentError(f"subject: found {shortened(self.subject)}, expected what the run is, as a text")
        self._check_rows()
        self._check_source_indices()

    def _check_rows(self) -> None:
        keys = [row.metric for row in self.rows]
        for key, times in Counter(keys).items():
            if times > 1:
                raise DocumentError(f"rows: found metric {key} {times} times, expected once")
        if self.primary is not None and self.primary not in keys:
            raise DocumentError(f"primary: found {shortened(self.primary)}, expected one of the run's metrics")

    def _check_source_indices(self) -> None:
        end = max(len(self.provenance.sources), 1)  # 0 also where nothing is said about sources
        for key, index in self.conditions.sources.items():
            if not 0 <= index < end:
                raise _wrong_source(f"conditions.sources.{key}", index, end)
        for row in self.rows:
            if not 0 <= row.source < end:
                raise _wrong_source(f"rows: {row.metric}: source", row.source, end)

    @cached_property
    def id(self) -> str:
        """Hash of what the document says; see `identity`."""
        return hashlib.sha256(canonical(identity(self))).hexdigest()[:ID_LENGTH]

    def row(self, metric: str) -> Row | None:
        """The row of one metric key."""
        return next((row for row in self.rows if row.metric == metric), None)

    def outcome(self, metric: str) -> Outcome:
        """The worst validity entry that concerns one metric."""
        return outcome(self.validity, metric)


def _wrong_source(name: str, index: int, end: int) -> DocumentError:
    return DocumentError(f"{name}: found {shortened(index)}, expected the index of a source, below {end}")


def identity(run: Run) -> dict[str, Any]:
    """The content that makes the id: the same facts have one id, in whatever order and however often they came.

    Left out: paths (also of samples), retrieval dates, tool and version, sentences, what is undisclosed or not
    applicable, which source said it, and `replaces`.
    """
    provenance = run.provenance
    return {
        "format": run.format,
        "subject": run.subject,
        "conditions": run.conditions.known,
        "claims": {key: _distinct(c.value for c in claims) for key, claims in run.conditions.claims.items()},
        "rows": sorted((row.metric, row.value, row.n, row.spread) for row in run.rows),
        "primary": run.primary,
        "validity": sorted({(c.aspect, c.outcome, tuple(sorted(set(c.metrics)))) for c in run.validity}),
        "origin": provenance.origin,
        "sources": sorted({(s.kind, s.sha256, s.place) for s in provenance.sources}),
        "formula": provenance.formula,
        "inputs": provenance.inputs,
    }


def _distinct(values: Iterable[Value]) -> list[str]:
    """Each value once, as canonical JSON: 8, "8" and a mapping keep apart, the order of a mapping does not count."""
    return sorted({canonical(value).decode() for value in values})


def canonical(content: Any) -> bytes:
    """Canonical JSON: keys sorted, no blanks, shortest float that reads back the same.

    DocumentError where a text cannot be written as UTF-8 (half of a surrogate pair, from a file name for instance).
    """
    try:
        return msgspec.json.encode(content, order="deterministic")
    except UnicodeEncodeError as error:
        found = shortened(error.object)
        raise DocumentError(f"a text of the document: found {found}, expected what UTF-8 can write") from error


def dump(run: Run) -> bytes:
    """The document as stored: readable JSON in canonical key order, with a final newline."""
    content = msgspec.to_builtins(run)
    content["format"] = run.format
    # Frozen mappings are no plain dicts, so the encoder does not see that an empty one is the default.
    content["conditions"] = {name: part for name, part in content["conditions"].items() if part}
    return msgspec.json.format(canonical(content), indent=1) + b"\n"


class _Head(msgspec.Struct):
    """What is read of a document before all else."""

    format: str = ""


_head_decoder = msgspec.json.Decoder(_Head)
_readers = {FORMAT: msgspec.json.Decoder(Run)}  # an old format keeps its line here, with a function that lifts it


def load(document: bytes, *, path: str = "", again: bool = False) -> Run:
    """A Run from its JSON document. Raises DocumentError saying what was found and what was expected.

    Nothing is passed over in silence: an unknown field, a key that stands twice or a format of the future refuse.
    `again` is for what was loaded before and written by us since: no key of it can stand twice.
    """
    where = f"{printable(path)}: " if path else ""
    try:
        reader = _reader_of(document)
        if not again:
            _refuse_doubled_keys(document)
        return reader.decode(document)
    except DocumentError as error:
        raise DocumentError(f"{where}{error.message}", next=error.next) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        reason = printable(str(error))[:_REASON_LENGTH]
        raise DocumentError(f"{where}not a {FORMAT} document: {reason}", next="see schema/run-1.schema.json") from error


def _reader_of(document: bytes) -> msgspec.json.Decoder[Run]:
    found = _head_decoder.decode(document).format
    if found not in _readers:
        raise _wrong_format(found)
    return _readers[found]


def _wrong_format(found: str) -> DocumentError:
    what = shortened(found) if found else "nothing"
    return DocumentError(f"format: found {what}, expected {FORMAT!r}", next="update caveat, or export the run again")


def _refuse_doubled_keys(document: bytes) -> None:
    """JSON lets a key stand twice, and readers then differ in which one they believe. None of them is asked here.

    The decoder keeps the last one. A document that comes out again byte for byte had nothing to lose; only the
    others (numbers or blanks written otherwise, nothing wrong) are read once more, slowly.
    """
    again = msgspec.json.encode(msgspec.json.decode(document))
    if again != msgspec.json.format(document, indent=-1):
        json.loads(document, object_pairs_hook=_undoubled)


def _undoubled(pairs: list[tuple[str, Any]]) -> None:
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise DocumentError(f"key {shortened(key)}: found {times} times in one object, expected once")
