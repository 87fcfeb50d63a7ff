"""caveat ask: the questions to put to whoever gave the number."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, heading, show_lines, verb_app
from caveat.errors import EXIT_YES, UsageError
from caveat.ledger import Ledger, Where
from caveat.publish import Question, Questions, ask_claim, ask_figure, parse_claim

app = verb_app()
NEARBY = 0.01
"""Figures within one part in a hundred are read; which of them are near enough, `ask_claim` says."""


@app.command()
def ask(
    figure: Annotated[
        str | None, typer.Argument(help="A figure of the ledger: id, prefix or subject.", metavar="FIGURE")
    ] = None,
    value: Annotated[
        str | None, typer.Option("--value", help="A bare claim: number with unit.", metavar="CLAIM")
    ] = None,
    system: Annotated[str, typer.Option("--system", help="System or accelerator of the claim.", metavar="NAME")] = "",
    model: Annotated[str, typer.Option("--model", help="Model or benchmark of the claim.", metavar="NAME")] = "",
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """List what to ask about a figure or about a bare claim, and which published figures the claim may come from.

    \b
    Examples:
      caveat ask 3f2a90c1
      caveat ask --value '106517 tokens/s' --system MI355X --model llama2-70b
    """
    if (figure is None) == (value is None):
        raise UsageError("ask takes either a figure or --value", next="caveat ask --help")
    book = Ledger(ledger)
    if figure is not None:
        found = book.figure(figure)
        questions = ask_figure(found, book.siblings(found.run.subject))
    else:
        questions = ask_claim(value or "", book.figures(_near(value or "")), system=system, model=model)
    if as_json:
        emit(msgspec.to_builtins(questions))
    else:
        _print(questions)
    return EXIT_YES


def _near(claim: str) -> tuple[Where, ...]:
    """Filters that let through every published figure which the claim may have been taken from."""
    number, _ = parse_claim(claim)
    return Where("value", ">=", repr(number * (1 - NEARBY))), Where("value", "<=", repr(number * (1 + NEARBY)))


def _print(questions: Questions) -> None:
    show_lines([f"about: {questions.about}"], indent=0)
    if questions.answered:
        _block("same system, other scenarios", questions.partners)
    else:
        _block("it may be one of these published figures (caveat show ID)", questions.candidates)
    heading("ask")
    for number, question in enumerate(questions.ask, 1):
        show_lines([f"{number:>2}. {question.question}"], hang=4)
        show_lines([f"why: {question.why}"], indent=6, hang=5)
    _block("already answered", tuple(_answer(question) for question in questions.answered))


def _block(title: str, entries: tuple[str, ...]) -> None:
    if entries:
        heading(title)
        show_lines(entries)


def _answer(question: Question) -> str:
    return f"{question.topic}: {question.answer}"
