"""What verbs share: where output goes, how JSON and errors look, and the options that many of them take."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from caveat.errors import EXIT_USAGE, CaveatError, UsageError
from caveat.publish import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

WIDTH = 100

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
LedgerOption = Annotated[
    Path | None, typer.Option("--ledger", help="Folder of the ledger.", envvar="CAVEAT_LEDGER", show_envvar=True)
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", "-w", help="Keep figures whose condition fits: KEY=VALUE, !=, >=, <=, ~ (contains)."),
]


def verb_app() -> typer.Typer:
    """An application for one verb: plain help, no completion, errors left to main."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, 100 columns where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def show(*parts: RenderableType) -> None:
    """Print renderables on standard output."""
    screen = console()
    for part in parts:
        screen.print(part)


def emit(content: Any) -> None:
    """One JSON object on standard output, numbers as they are, nothing escaped away."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n")


def progress() -> Progress:
    """A progress display on standard error that is silent where nobody watches."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def steps(bar: Progress) -> Callable[[str, int, int], None]:
    """A callback (what, done, total) that keeps one line for each `what`."""
    tasks: dict[str, TaskID] = {}

    def step(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total)
        bar.update(tasks[what], completed=done, total=total)

    return step


def report(error: CaveatError, *, as_json: bool) -> int:
    """Say what went wrong and what to do next; returns the exit code."""
    if as_json:
        emit({"error": {"code": error.code, "message": error.message, "next": error.next}})
    else:
        print(f"caveat: {printable(error.message)}", file=sys.stderr)
        if error.next:
            print(f"  next: {printable(error.next)}", file=sys.stderr)
    return error.exit_code


def report_usage(error: typer.exceptions.TyperException, verb: str, *, as_json: bool) -> int:
    """A command line that does not parse."""
    usage = UsageError(" ".join(error.format_message().split()), next=f"caveat {verb} --help")
    report(usage, as_json=as_json)
    return EXIT_USAGE


def plural(count: int, one: str, many: str = "") -> str:
    """`1 figure`, `2 figures`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def show_lines(sentences: Sequence[str], *, indent: int = 2) -> None:
    """Sentences one below the other, wrapped and indented."""
    import textwrap

    from rich.text import Text

    blank = " " * indent
    for sentence in sentences:
        show(
            Text(
                textwrap.fill(printable(sentence), WIDTH - indent, initial_indent=blank, subsequent_indent=blank + "  ")
            )
        )


def heading(text: str) -> None:
    """A line in bold with an empty line above it."""
    from rich.text import Text

    show(Text(f"\n{printable(text)}", style="bold"))
