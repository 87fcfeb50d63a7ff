"""The command line: a table of verbs as plain data. A verb's module is loaded when it is used.

Every verb is one function that parses, calls one library function and prints; it returns the exit code of
DESIGN: 0 yes or done, 1 no, 2 usage, 3 cannot say, 4 input or runtime error.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from caveat.errors import EXIT_INPUT, EXIT_USAGE, EXIT_YES


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
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one verb; returns the exit code and never raises for what a user can cause."""
    if not argv or argv[0] in ("--help", "-h", "help"):
        print(overview())
        return EXIT_YES if argv else EXIT_USAGE
    if argv[0] in ("--version", "-V"):
        from caveat import __version__

        print(f"caveat {__version__}")
        return EXIT_YES
    verb = next((verb for verb in COMMANDS if verb.name == argv[0]), None)
    if verb is None:
        return _unknown(argv[0], as_json="--json" in argv)
    return _invoke(verb, list(argv[1:]))


def overview() -> str:
    """The top-level help, from the table."""
    lines = (f"  {verb.name:<10}{verb.line}" for verb in COMMANDS)
    return "\n".join((HEAD, *lines, "", TAIL)).rstrip()


def _unknown(name: str, *, as_json: bool) -> int:
    import difflib

    from caveat.cli.console import report
    from caveat.errors import UsageError

    near = difflib.get_close_matches(name, [verb.name for verb in COMMANDS], n=2)
    next_step = f"did you mean {' or '.join(near)}?" if near else "caveat --help lists all verbs"
    return report(UsageError(f"no verb is called {name!r}", next=next_step), as_json=as_json)


def _invoke(verb: Verb, arguments: list[str]) -> int:
    import typer

    from caveat.cli.console import report, report_usage
    from caveat.errors import CaveatError, InputError

    as_json = "--json" in arguments
    command = typer.main.get_command(importlib.import_module(verb.module).app)
    try:
        code = command.main(args=arguments, prog_name=f"caveat {verb.name}", standalone_mode=False)
        return int(code or EXIT_YES)
    except CaveatError as error:
        return report(error, as_json=as_json)
    except typer.exceptions.TyperException as error:
        return report_usage(error, verb.name, as_json=as_json)
    except BrokenPipeError:
        sys.stdout = None  # the reader left: nothing to flush at exit
        return EXIT_YES
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except OSError as error:
        return report(
            InputError(f"{error.strerror}: {error.filename}" if error.filename else str(error)), as_json=as_json
        )
    except MemoryError:
        return (
            report(InputError("out of memory", next="narrow the question with --where"), as_json=as_json) or EXIT_INPUT
        )
