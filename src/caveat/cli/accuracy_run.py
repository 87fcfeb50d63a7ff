"""An accuracy run from the command line: a data set against an endpoint, its scores, and whether they are enough.

`caveat measure URL --accuracy DATA.jsonl` calls `accuracy`; `caveat measure ... --accuracy-run ID` looks it up with
`accuracy_run_named`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from caveat import __version__
from caveat.cli.console import emit, heading, show, show_lines
from caveat.cli.live_view import Interrupt, Progress
from caveat.cli.measured import is_valid, measured_json
from caveat.cli.measured_tables import print_validity
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES, RefusedError, UsageError
from caveat.figures import SHOWN, Figure, Run, Value
from caveat.ledger import Ledger
from caveat.loadgen import (
    UNNAMED,
    AccuracyOrder,
    DatasetFile,
    Endpoint,
    accuracy_run,
    answer_dataset,
    check_before,
    served_model,
    until_answering,
)
from caveat.measure import Demands, demands_of, is_accuracy_run, parse_threshold
from caveat.publish import cell, plain_table
from caveat.units import format_quantity

_RANGE = re.compile(r"[\d.]+-[\d.]+")

ANSWERED_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyWords:
    """What the options of an accuracy run said.

    data       the data set: JSONL with prompt, and where there is one reference, max_tokens, id
    require    `rouge1>=38.4`, several must all hold; `265-324` is a range of tokens, as in `tokens`
    like       `llama2-70b-99@v5.1`: the thresholds and the length range of a benchmark in a round
    tokens     `265-324`: range of the mean output tokens of an answer
    scores     further scores to take
    pattern    picks what exact match compares
    """

    data: Path
    require: Sequence[str] = ()
    like: str | None = None
    tokens: str | None = None
    scores: Sequence[str] = ()
    pattern: str | None = None
    concurrency: int = ANSWERED_AT_ONCE
    max_tokens: int = 1024
    tokenizer: Path | None = None

    def order(self, endpoint: Endpoint, known: dict[str, Value]) -> AccuracyOrder:
        """The order that the options describe. Raises UsageError."""
        return AccuracyOrder(
            endpoint=endpoint,
            dataset=DatasetFile(file=str(self.data)),
            scores=tuple(self.scores),
            pattern=self.pattern,
            demands=self.demands(),
            concurrency=self.concurrency,
            max_tokens=self.max_tokens,
            tokenizer_file=None if self.tokenizer is None else str(self.tokenizer),
            known=known,
        )

    def demands(self) -> Demands:
        """What has to be reached: the benchmark's demands, the user's own before them."""
        base = _of_benchmark(self.like) if self.like is not None else Demands()
        ranges = [text for text in self.require if _RANGE.fullmatch(text.strip())]
        if len(ranges) + (self.tokens is not None) > 1:
            raise UsageError("tokens per sample: found more than one range, expected one", next="leave one out")
        own = tuple(parse_threshold(text) for text in self.require if text not in ranges)
        names = {one.score for one in own}
        thresholds = (*own, *(one for one in base.thresholds if one.score not in names))
        tokens = self.tokens if not ranges else ranges[0]
        if tokens is None:
            return msgspec.structs.replace(base, thresholds=thresholds)
        return Demands(thresholds=thresholds, tokens_range=_range(tokens))


def _of_benchmark(text: str) -> Demands:
    name, at, round_name = text.partition("@")
    if not at:
        raise UsageError(f"found {text[:60]!r}, expected BENCHMARK@ROUND", next="for example llama2-70b-99@v5.1")
    return demands_of(name, round_name)


def _range(text: str) -> tuple[float, float]:
    low, dash, high = text.partition("-")
    try:
        if dash:
            return float(low), float(high)
    except ValueError:
        pass
    raise UsageError(f"tokens per sample: found {text[:60]!r}, expected a range like 265-324")


def accuracy(
    words: AccuracyWords,
    endpoint: Endpoint,
    book: Ledger,
    *,
    known: dict[str, Value] | None = None,
    wait_s: float = 0.0,
    as_json: bool = False,
) -> int:
    """Make the run, keep it in the ledger and print it. Returns the exit code.

    0 where everything demanded was reached (or nothing was demanded), 1 where something was missed or the run was
    interrupted, 3 where a demand cannot be judged. An UNNAMED model is asked for.
    """
    order = words.order(endpoint, known or {})
    check_before(order, order.dataset.read())  # what is wrong with file or demands is said before anybody is asked
    until_answering(endpoint, wait_s=wait_s)
    if endpoint.model == UNNAMED:
        order = msgspec.structs.replace(order, endpoint=msgspec.structs.replace(endpoint, model=served_model(endpoint)))
    run = made(order, book, as_json=as_json)
    if as_json:
        emit(measured_json([run]))
    else:
        print_accuracy(run)
    return exit_code(run)


def made(order: AccuracyOrder, book: Ledger, *, as_json: bool) -> Run:
    """The run in a folder of its own inside the ledger, and its document added. Ctrl-C drains and keeps what came."""
    subject = f"measured/{uuid.uuid4().hex}"
    folder = book.path / subject
    view, interrupt = Progress(expected=None, lasts_s=None, as_json=as_json), Interrupt()
    with interrupt.listening():
        try:
            answer_dataset(
                order,
                folder,
                version=__version__,
                started=datetime.now(UTC).isoformat(timespec="seconds"),
                subject=subject,
                cancel=interrupt,
                watch=view.watch,
            )
        finally:
            view.stop()
    run = accuracy_run(folder)
    book.add([run])
    return run


def exit_code(run: Run) -> int:
    """What the run answers to whoever demanded something."""
    if not is_valid(run) or not all(c.outcome == "pass" for c in run.validity if c.aspect == "completion"):
        return EXIT_NO
    demanded = run.conditions.get("accuracy_required") is not None
    passed = all(check.outcome == "pass" for check in run.validity if check.aspect in ("accuracy", "output length"))
    return EXIT_YES if passed or not demanded else EXIT_CANNOT_SAY


def accuracy_run_named(name: str, book: Ledger) -> Run:
    """The accuracy run of an id, looked up before anything is sent. RefusedError for another kind of run."""
    run = book.figure(name).run
    if not is_accuracy_run(run):
        raise RefusedError(
            f"--accuracy-run: {run.id[:SHOWN]} is no accuracy run: it has no entry of accuracy of its own",
            next="give the id that caveat measure URL --accuracy DATA.jsonl printed",
        )
    return run


def print_accuracy(run: Run) -> None:
    """Scores with intervals, then what was demanded and checked."""
    c = run.conditions
    show(cell(f"{run.id[:SHOWN]}  accuracy of {c.text('model')} over {c.text('dataset')}"))
    table = plain_table(["metric", "value", "interval", "n"], right=["value", "n"])
    for row in run.rows:
        unit = row.definition.unit
        ends = (row.spread.low, row.spread.high) if row.spread else ()
        interval = " to ".join(format_quantity(end, unit) for end in ends)
        table.add_row(row.metric, cell(Figure(run, row.metric).text), cell(interval), f"{row.n:,}" if row.n else "")
    show(cell(""), table)
    print_validity(run)
    heading("notes")
    show_lines([*run.notes, f"unverified: an own measurement; all of it: caveat show {run.id[:SHOWN]}"])
