"""Run: one execution of one workload on one target, as a document.

format history
    caveat-run/1   first version
"""

from __future__ import annotations

import hashlib
import math
from functools import cached_property
from typing import Any

import msgspec

from caveat.errors import DocumentError
from caveat.figures.conditions import Conditions
from caveat.figures.metrics import METRICS, Metric
from caveat.figures.provenance import Provenance
from caveat.figures.validity import Check, Outcome, outcome

FORMAT = "caveat-run/1"
ID_LENGTH = 40  # hex digits of sha256 that are kept: 160 bits
SHOWN = 10  # of which a screen shows so many


class Spread(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An interval around a value: `low` to `high` by `method`, for instance '95 % of the mean, batch means'."""

    low: float
    high: float
    method: str


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of one metric. `n` is the number of requests behind it; `source_key` the key in the source.

    `notes` says what was corrected or contested about this value, one sentence each.
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
            raise DocumentError(f"no metric is called {self.metric!r}", next="see docs/metrics.md")
        if not math.isfinite(self.value):
            raise DocumentError(f"{self.metric}: found {self.value!r}, expected a finite number")

    @property
    def definition(self) -> Metric:
        """What the metric means, with its unit."""
        return METRICS[self.metric]


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True, weakref=True):
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
            raise DocumentError(f"format: found {self.format!r}, expected {FORMAT!r}", next="update caveat")
        if not self.subject:
            raise DocumentError("a run needs a subject")
        keys = [row.metric for row in self.rows]
        for key in keys:
            if keys.count(key) > 1:
                raise DocumentError(f"metric {key} stands twice in one run")
        if self.primary is not None and self.primary not in keys:
            raise DocumentError(f"primary: found {self.primary!r}, expected one of the run's metrics")
        last = len(self.provenance.sources)
        used = (*self.conditions.sources.values(), *(row.source for row in self.rows))
        if any(not 0 <= index < max(last, 1) for index in used):
            raise DocumentError(f"a source index lies outside the {last} sources of the run")

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


def identity(run: Run) -> dict[str, Any]:
    """The content that makes the id. Left out: local paths, retrieval dates, tool and version, sentences, what
    is undisclosed or not applicable, and `replaces` (the same facts have one id, in whatever order they came).
    """
    provenance = run.provenance
    return {
        "format": run.format,
        "subject": run.subject,
        "conditions": run.conditions.known,
        "claims": {key: sorted(str(c.value) for c in claims) for key, claims in run.conditions.claims.items()},
        "rows": sorted((row.metric, row.value, row.n, row.spread) for row in run.rows),
        "primary": run.primary,
        "validity": sorted((c.aspect, c.outcome, c.metrics) for c in run.validity),
        "origin": provenance.origin,
        "sources": sorted((s.kind, s.sha256, s.place) for s in provenance.sources),
        "formula": provenance.formula,
        "inputs": provenance.inputs,
    }


def canonical(content: Any) -> bytes:
    """Canonical JSON: keys sorted, no blanks, shortest float that reads back the same."""
    return msgspec.json.encode(content, order="deterministic")


def dump(run: Run) -> bytes:
    """The document as stored: readable JSON in canonical key order, with a final newline."""
    return msgspec.json.format(canonical({"format": run.format, **msgspec.to_builtins(run)}), indent=1) + b"\n"


_decoder = msgspec.json.Decoder(Run)


def load(document: bytes, *, path: str = "") -> Run:
    """A Run from its JSON document. Raises DocumentError saying what was found and what was expected."""
    where = f"{path}: " if path else ""
    try:
        return _decoder.decode(document)
    except DocumentError as error:
        raise DocumentError(f"{where}{error.message}", next=error.next) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"{where}not a {FORMAT} document: {error}") from error


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the Run document."""
    schema = msgspec.json.schema(Run)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:caveat:run:1",
        "title": FORMAT,
        **schema,
    }
