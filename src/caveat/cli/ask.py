"""caveat ask: the questions to put to whoever gave the number."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, heading, show, show_lines, verb_app
from caveat.errors import EXIT_YES, UsageError
from caveat.ledger import Ledger
from caveat.publish import Question, Questions, ask_claim, ask_figure, cell

app = verb_app()


@app.command()
def ask(
    figure: Annotated[str | None, typer.Argument(help="A figure of the ledger: id, prefix or subject.")] = None,
    value: Annotated[str | None, typer.Option("--value", help="A bare claim: number with unit.")] = None,
    system: Annotated[str, typer.Option("--system", help="System or accelerator of the claim.")] = "",
    model: Annotated[str, typer.Option("--model", help="Model or benchmark of the claim.")] = "",
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """List what to ask about a figure or about a bare claim, and which published figures the claim may come from.

    \b
    Examples:
      caveat ask 3f2a90c1
      caveat ask --value '106517 tokens/s' --system MI355X --model llama2-70b
    """
    book = Ledger(ledger)
    if (figure is None) == (value is None):
        raise UsageError("ask takes either a figure or --value", next="caveat ask --help")
    if figure is not None:
        questions = ask_figure(book.figure(figure), book.figures())
    else:
        questions = ask_claim(value or "", book.figures(), system=system, model=model)
    if as_json:
        emit(msgspec.to_builtins(questions))
    else:
        _print(questions)
    return EXIT_YES


def _print(questions: Questions) -> None:
    show(cell(f"about: {questions.about}"))
    _block("it may be one of these published figures", questions.candidates)
    _block("same system, other scenarios", questions.partners)
    heading("ask")
    for number, question in enumerate(questions.ask, 1):
        show_lines([f"{number}. {question.question}"])
        show_lines([f"why: {question.why}"], indent=5)
    _block("already answered", tuple(_answer(question) for question in questions.answered))


def _block(title: str, entries: tuple[str, ...]) -> None:
    if entries:
        heading(title)
        show_lines(entries)


def _answer(question: Question) -> str:
    return f"{question.topic}: {question.answer}"
