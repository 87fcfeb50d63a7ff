"""The command line: a table of verbs as plain data. A verb's module is loaded when it is used.

Every verb is one function that parses, calls one library function and prints; it returns the exit code of
DESIGN: 0 yes or done, 1 no, 2 usage, 3 cannot say, 4 input or runtime error.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from caveat.errors import EXIT_USAGE, EXIT_YES, CaveatError, InputError, UsageError

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells say it
EXIT_NO_READER = 141  # 128 + SIGPIPE: whoever read the output left, and no answer was given


class Verb(NamedTuple):
    """One line of the command table."""

    name: str
    line: str
    module: str


COMMANDS: tuple[Verb, ...] = (
    Verb("demo", "everything small, on the figures that ship with the package", "caveat.cli.demo"),
    Verb("import", "read result files or whole trees into the ledger", "caveat.cli.import_"),
    Verb("figures", "list figures by their conditions", "caveat.cli.figures"),
    Verb("show", "one figure with everything that makes it true", "caveat.cli.show"),
    Verb("compare", "may these figures be compared, and why not", "caveat.cli.compare"),
    Verb("discount", "one system under two scenarios: all pairs, ratios and headroom", "caveat.cli.discount"),
    Verb("explain", "the caveats of a figure, or one caveat with today's evidence", "caveat.cli.explain"),
    Verb("ask", "the questions to put to whoever gave the number", "caveat.cli.ask"),
    Verb("cite", "a line and a footnote that satisfy the rules for citing", "caveat.cli.cite"),
    Verb("export", "figures as JSON, CSV, Parquet or Markdown, conditions included", "caveat.cli.export"),
    Verb("measure", "a workload against a real endpoint, open loop", "caveat.cli.measure"),
    Verb("record", "figures from the samples of an experiment", "caveat.cli.record"),
    Verb("simulate", "the same workload against a modelled server, in virtual time", "caveat.cli.simulate"),
    Verb("calibrate", "a model of a server, from samples, published figures or data sheets", "caveat.cli.calibrate"),
    Verb("trace", "recorded traffic: describe, fit, profile, synthesize", "caveat.cli.trace"),
    Verb("loopback", "an endpoint of our own, for calibration and tests", "caveat.cli.loopback"),
    Verb("verify", "recompute arrival schedules from their seeds", "caveat.cli.verify"),
    Verb("ledger", "look after the ledger's folder: where, verify, rebuild", "caveat.cli.ledger"),
)

HEAD = """\
caveat keeps LLM inference performance figures together with the conditions that make them true.

Usage: caveat VERB [ARGUMENTS]      caveat VERB --help shows arguments and examples
"""

TAIL = """\
Every verb takes --json. Exit codes: 0 yes or done, 1 no, 2 usage, 3 cannot say, 4 input or runtime error.
The ledger is --ledger PATH, else $CAVEAT_LEDGER, else the data folder of the user; public figures ship inside.
First steps:  caveat demo    caveat discount --where round=v6.1    caveat explain offline-is-not-serving
"""


def run() -> None:
    """Entry point of the `caveat` script."""
    # A command lives for a second and keeps what it reads: looking for garbage among it every 700 objects is in vain.
    gc.set_threshold(200_000, 20, 20)
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one verb; returns the exit code and never raises for what a user or the system can cause."""
    as_json = "--json" in argv
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  (open to the end)
    try:
        code = _dispatch(list(argv))
        sys.stdout.flush()
        return code
    except CaveatError as error:
        return _report(error, as_json=as_json)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _let_go_of_output()
        return EXIT_NO_READER
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _report(InputError(f"{error.strerror or error}{where}"), as_json=as_json)
    except MemoryError:
        return _report(InputError("out of memory", next="narrow the question with --where"), as_json=as_json)


def overview() -> str:
    """The top-level help, from the table."""
    lines = (f"  {verb.name:<10}{verb.line}" for verb in COMMANDS)
    return "\n".join((HEAD, *lines, "", TAIL)).rstrip()


def _dispatch(argv: list[str]) -> int:
    if argv[:1] == ["help"] and len(argv) > 1:
        argv = [argv[1], "--help"]
    if not argv or argv[0] in ("--help", "-h", "help"):
        print(overview())
        return EXIT_YES if argv else EXIT_USAGE
    if argv[0] in ("--version", "-V"):
        from caveat import __version__

        print(f"caveat {__version__}")
        return EXIT_YES
    return _invoke(_verb_named(argv[0]), argv[1:])


def _verb_named(name: str) -> Verb:
    for verb in COMMANDS:
        if verb.name == name:
            return verb
    import difflib

    near = difflib.get_close_matches(name, [verb.name for verb in COMMANDS], n=2)
    next_step = f"did you mean {' or '.join(near)}?" if near else "caveat --help lists all verbs"
    raise UsageError(f"no verb is called {name!r}", next=next_step)


def _invoke(verb: Verb, arguments: list[str]) -> int:
    """The verb's own exit code. The context is made here because typer's own entry exits by itself on some errors."""
    import typer

    command = typer.main.get_command(importlib.import_module(verb.module).app)
    try:
        with command.make_context(f"caveat {verb.name}", arguments) as context:
            return int(command.invoke(context) or EXIT_YES)
    except typer.Exit as done:  # --help
        return done.exit_code
    except typer.exceptions.TyperException as error:
        message = " ".join(error.format_message().split())
        raise UsageError(message, next=f"caveat {verb.name} --help") from error


def _report(error: CaveatError, *, as_json: bool) -> int:
    from caveat.cli.console import report

    try:
        code = report(error, as_json=as_json)
        sys.stdout.flush()
        return code
    except OSError:  # nor can it be said
        _let_go_of_output()
        return error.exit_code


def _let_go_of_output() -> None:
    """What is still buffered goes nowhere, so that the interpreter does not stumble over it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
