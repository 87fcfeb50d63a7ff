"""What verbs share: where output goes, how JSON and errors look, and the options that many of them take."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from caveat.errors import CaveatError
from caveat.publish import json_text, printable, wrapped

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, TaskID

WIDTH = 100

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
FullOption = Annotated[
    bool, typer.Option("--full", help="All metrics, checks, notes and caveats on the screen, not the answer alone.")
]
LedgerOption = Annotated[
    Path | None,
    typer.Option("--ledger", help="Folder of the ledger.", envvar="CAVEAT_LEDGER", show_envvar=True, metavar="PATH"),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        "-w",
        help="Keep figures whose condition fits. Also !=, >=, <=, ~ (contains); several must all hold.",
        metavar="KEY=VALUE",
    ),
]

# What stands for a sign where the output's encoding lacks it.
_PLAIN = str.maketrans({"─": "-", "…": "...", "®": "(R)", "×": "x", "–": "-", "µ": "u"})


def verb_app() -> typer.Typer:
    """An application for one verb: plain help, no completion, errors left to main."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "terminal_width": _help_width()},
    )


def _help_width() -> int:
    """Columns of --help: those of the terminal up to 100, and 100 where there is none; two are left as a margin."""
    return max(min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH) - 2, 50)


class GroupedCommand(typer.core.TyperCommand):
    """A command whose help shows its options in groups: those of one `rich_help_panel` under that heading."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then a section for each group in the order in which it first appears."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            usual = "Arguments" if param.param_type_name == "argument" else "Options"
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


def said_options(context: typer.Context) -> list[str]:
    """Options and arguments that stand on the command line, by their long names."""
    names = {param.name: max(param.opts, key=len) for param in context.command.params if param.name is not None}
    sources = {name: context.get_parameter_source(name) for name in names}
    return [names[name] for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, 100 columns where there is none."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def width() -> int:
    """Columns that text may take: those of the terminal, and no more than a line that one can read."""
    return min(console().width, WIDTH)


def show(*parts: RenderableType) -> None:
    """Print renderables on standard output, without the blanks that pad tables to the right."""
    screen = console()
    with screen.capture() as captured:
        for part in parts:
            screen.print(part, crop=False)
    write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def write(text: str) -> None:
    """Text on standard output, whatever its encoding: a sign that it lacks is written as another, or escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(text)


def emit(content: Any) -> None:
    """One JSON object on standard output."""
    write_bytes(json_text(content).encode())


def write_bytes(content: bytes) -> None:
    """A document on standard output: UTF-8 or binary as it is, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


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
            tasks[what] = bar.add_task(printable(what), total=total or None)
        bar.update(tasks[what], completed=done, total=total or None)

    return step


def report(error: CaveatError, *, as_json: bool) -> int:
    """Say what went wrong and what to do next; returns the exit code."""
    message, next_step = printable(error.message), printable(error.next)
    if as_json:
        emit({"error": {"code": error.code, "message": message, "next": next_step}})
    else:
        print(f"caveat: {message}", file=sys.stderr)
        if next_step:
            print(f"  next: {next_step}", file=sys.stderr)
    return error.exit_code


def plural(count: int, one: str, many: str = "") -> str:
    """`1 figure`, `2 figures`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def show_lines(sentences: Sequence[str], *, indent: int = 2, hang: int = 2) -> None:
    """Sentences one below the other, wrapped; `hang` more columns before all lines but the first of each."""
    columns = width()
    write("".join(f"{wrapped(sentence, columns, indent=indent, hang=hang)}\n" for sentence in sentences))


def heading(text: str) -> None:
    """A line in bold with an empty line above it."""
    from rich.text import Text

    show(Text(f"\n{printable(text)}", style="bold"))
