"""The Run of an accuracy run, from its folder and the data set: scores, lengths, what was demanded, what is missing.

Times are no figures of this run, since an accuracy run is not a throughput run; and no answer enters the document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.figures import Check, Provenance, Row, Run, Source, Value, conditions_of, printable
from caveat.loadgen.accuracy import ANSWERS
from caveat.loadgen.accuracy_order import AccuracyOrder, EveryRow, read_order, unanswered
from caveat.loadgen.answer_file import KeptAnswer, read_answers
from caveat.loadgen.dataset import Dataset
from caveat.loadgen.folder import NOTES, SAMPLES, SUBJECT, Notes
from caveat.loadgen.record import HARNESS, SUITE, _engine
from caveat.loadgen.tokens import load_tokenizer
from caveat.measure import (
    AccuracyResult,
    Answered,
    Logged,
    SampleColumns,
    accuracy_conditions,
    columns_of,
    judge,
    length_statistics,
    token_checks,
)

_MOST_FAILED = 0.01
_MAX_NOTES = 64 << 20
_COUNTS = (("usage", "server usage record"), ("client", "client tokenizer"))


def accuracy_run(folder: Path, *, subject: str | None = None, seed: int = 0) -> Run:
    """The Run of an accuracy run's folder, the same each time; the data set must still be the one that was asked.

    `seed` makes the bootstrap intervals. Raises InputError where folder or data set are not what they were.
    """
    order, notes = read_order(folder), _read_notes(folder)
    name = subject or notes.subject
    if not name:
        raise InputError(f"{folder}: the run has no name of its own", next="hand in a subject")
    data = order.dataset.read()
    kept = _Kept(data, columns_of(folder / SAMPLES), read_answers(folder / ANSWERS, len(data.rows)))
    result = judge(
        kept.answered(), order.asked_scores, order.demands, np.random.default_rng(seed), pattern=order.pattern
    )
    samples = f"{name}/{SAMPLES}"
    rows = tuple(_rows(result, kept))
    return Run(
        subject=name,
        conditions=conditions_of(_conditions(order, notes, kept, result)),
        provenance=Provenance(
            origin="measured",
            sources=(Source(kind="samples", path=samples, sha256=_hash(folder / SAMPLES)),),
            tool_version=notes.version,
        ),
        rows=rows,
        validity=(*result.checks, _failures(kept), _completion(notes, kept), *_token_checks(order, kept)),
        primary=rows[0].metric,
        notes=tuple(_notes(order, kept)),
        samples=samples,
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """What lies in the folder, beside the data set: samples and answers by the number of the row."""

    data: Dataset
    columns: SampleColumns
    answers: Mapping[int, KeptAnswer]

    def source(self) -> tuple[str, str] | None:
        """Who counted the tokens (column's end, words); None where nobody did."""
        return next((one for one in _COUNTS if self.columns.present(f"output_tokens_{one[0]}").any()), None)

    def counts(self, source: str) -> dict[int, int]:
        """Output tokens by the number of the row, of the rows that were counted."""
        counts = self.columns.numbers(f"output_tokens_{source}")
        numbers = self.columns.numbers("request")
        return {int(n): int(c) for n, c in zip(numbers, counts, strict=True) if np.isfinite(c) and c >= 0}

    def answered(self) -> list[Answered]:
        """Every row with its answer, where there is one."""
        source = self.source()
        counts = self.counts(source[0]) if source else {}
        rows = (unanswered(row, place) for place, row in enumerate(self.data.rows))
        return [
            Answered(id=row.id, answer=self._text(place), reference=row.reference, tokens=counts.get(place))
            for place, row in enumerate(rows)
        ]

    def _text(self, place: int) -> str | None:
        kept = self.answers.get(place)
        return kept.text if kept is not None else None

    def logged(self) -> list[Logged]:
        """What the check of token counts needs."""
        counts = self.counts("usage")
        return [
            Logged(one.text, one.text[: one.first] if one.first is not None else None, counts.get(number))
            for number, one in sorted(self.answers.items())
            if one.text is not None
        ]


def _rows(result: AccuracyResult, kept: _Kept) -> Iterator[Row]:
    yield from (score.row() for score in result.scores)
    source = kept.source()
    if source is not None and result.tokens_per_sample is not None:
        metric = f"caveat-accuracy-output-tokens-{source[0]}.mean"
        yield Row(metric=metric, value=result.tokens_per_sample, n=result.counted)


def _conditions(order: AccuracyOrder, notes: Notes, kept: _Kept, result: AccuracyResult) -> Mapping[str, Value | None]:
    source = kept.source()
    said: dict[str, Value | None] = {
        **EveryRow(kept.data, order.concurrency, order.max_tokens).describe(),
        **accuracy_conditions(result, order.demands),
        "output_tokens": _lengths(kept, source),
        "token_source": source[1] if source else None,
        "decoding": order.decoding.describe(),
        "salted": False,
        "plan": notes.plan,
        "suite": SUITE,
        "harness": HARNESS,
        "harness_version": notes.version,
        "api": f"{order.endpoint.dialect}, {'streamed' if order.endpoint.stream else 'whole answers'}",
        "client": notes.client,
        "review": "unverified",
        "run_date": notes.started,
        "model": order.endpoint.model,
        "engine": _engine(notes.before),
        "modality": "text",
    }
    return {**said, **order.known}


def _lengths(kept: _Kept, source: tuple[str, str] | None) -> dict[str, float] | None:
    if source is None:
        return None
    counts = kept.counts(source[0])
    return length_statistics(
        np.array([count for row, count in counts.items() if row in kept.answers], dtype=np.float64)
    )


def _failures(kept: _Kept) -> Check:
    failed = kept.columns.present("error_class")
    count, asked = int(failed.sum()), kept.columns.rows
    classes = kept.columns.counts("error_class", failed).most_common(5)
    how = ", ".join(f"{times:,} {printable(name or 'unnamed')[:60]}" for name, times in classes)
    said = f"{asked - count:,} of {asked:,} requests succeeded and {count:,} failed{f' ({how})' if how else ''}"
    sentence = f"{said}; {_MOST_FAILED:.0%} may."
    return Check(aspect="error rate", outcome="pass" if count <= _MOST_FAILED * asked else "fail", sentence=sentence)


def _completion(notes: Notes, kept: _Kept) -> Check:
    rows, asked = len(kept.data.rows), kept.columns.rows
    if notes.health is None or notes.interrupted or asked < rows:
        sentence = f"The run was interrupted: {asked:,} of {rows:,} rows were asked."
        return Check(aspect="completion", outcome="unknown", sentence=sentence)
    return Check(aspect="completion", outcome="pass", sentence=f"Each of {rows:,} rows was asked once.")


def _token_checks(order: AccuracyOrder, kept: _Kept) -> Iterator[Check]:
    if order.tokenizer_file is None:
        yield from token_checks(kept.logged(), None)
        return
    tokenizer = load_tokenizer(order.tokenizer_file)

    def ends(text: str) -> Sequence[int]:
        return [end for _, end in tokenizer.encode(text, add_special_tokens=False).offsets]

    yield from token_checks(kept.logged(), ends)


def _notes(order: AccuracyOrder, kept: _Kept) -> Iterator[str]:
    # The same words as in the notes of a timed run: the gate compares them.
    yield "endpoint: " + ", ".join(f"{name} {value}" for name, value in order.endpoint.describe().items())
    yield f"data set: {printable(kept.data.name)}, sha256 {kept.data.sha256}"
    if order.pattern is not None:
        yield f"exact match of the last match of {printable(order.pattern)}"
    left_out = sum(one.text is None for one in kept.answers.values())
    if left_out:
        yield f"{left_out:,} answers were beyond the bounds of {ANSWERS}: they were not kept and count 0"


def _read_notes(folder: Path) -> Notes:
    try:
        with (folder / NOTES).open("rb") as file:
            notes = msgspec.json.decode(file.read(_MAX_NOTES), type=Notes)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{folder}: no accuracy run here: {error}", next=f"give a folder with {NOTES}") from error
    if notes.subject and not SUBJECT.fullmatch(notes.subject):
        raise InputError(f"{folder}: subject: found {notes.subject[:80]!r}, expected measured/ and 32 hex digits")
    return notes


def _hash(path: Path) -> str:
    """Of the whole file; empty while there are only parts."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
