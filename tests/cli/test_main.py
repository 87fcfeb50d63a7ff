"""The frame of the command line: the table of verbs, exit codes, and every way in which a command can end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from caveat import __version__
from caveat.cli import main as frame
from caveat.cli.main import COMMANDS, EXIT_INTERRUPTED, EXIT_NO_READER, main, overview
from caveat.errors import (
    EXIT_CANNOT_SAY,
    EXIT_INPUT,
    EXIT_NO,
    EXIT_USAGE,
    EXIT_YES,
    CannotSayError,
    InputError,
    LedgerError,
    NotFoundError,
    RefusedError,
    UsageError,
)

CAVEAT = (sys.executable, "-m", "caveat")


def spawn(*argv: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, with changes to the environment."""
    return subprocess.run([*CAVEAT, *argv], capture_output=True, check=False, env={**os.environ, **changes})


def ending_with(monkeypatch, error: BaseException) -> None:
    """Make every verb end with this."""

    def fail(verb, arguments):
        raise error

    monkeypatch.setattr(frame, "_invoke", fail)


def test_the_overview_lists_every_verb_once_and_fits_a_terminal(caveat):
    """What `caveat --help`, `-h` and `help` print; without anything it is a mistake in usage."""
    for argv in (["--help"], ["-h"], ["help"]):
        assert caveat(*argv) == (EXIT_YES, overview() + "\n", "")
    assert caveat() == (EXIT_USAGE, overview() + "\n", "")
    lines = overview().splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [verb.name for verb in COMMANDS]
    assert max(map(len, lines)) <= 112


def test_the_version_is_that_of_the_package(caveat):
    """One line."""
    assert caveat("--version") == caveat("-V") == (EXIT_YES, f"caveat {__version__}\n", "")


def test_help_loads_nothing_heavy():
    """The command table is data: neither engines nor the parser are needed to print it."""
    heavy = ("numpy", "duckdb", "pyarrow", "rich", "typer", "pydantic")
    code = (
        "import sys; from caveat.cli.main import main; code = main(['--help']); "
        f"sys.exit(code or ' '.join(name for name in {heavy} if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", ["discount", "ask", "cite", "figures"])
def test_a_verb_loads_only_what_it_uses(verb):
    """Parsing its options needs neither the engine nor the screen; the caveats' pages only who shows figures."""
    heavy = ("numpy", "duckdb", "pyarrow", "rich", "caveat.caveats")
    code = (
        f"import sys; from caveat.cli.main import main; code = main(['{verb}', '--help']); "
        f"sys.exit(code or ' '.join(name for name in {heavy} if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", COMMANDS, ids=lambda verb: verb.name)
def test_help_of_a_verb_can_be_read(verb, caveat):
    """Usage, words, an example a line as it was written, options by their names; three ways to ask for it."""
    done = caveat(verb.name, "--help")
    assert done == caveat(verb.name, "-h") == caveat("help", verb.name)
    assert (done.code, done.err) == (EXIT_YES, "")
    examples = done.out.split("Examples:\n")[1].split("\n\n")[0].splitlines()
    assert all(line.startswith(f"    caveat {verb.name}") for line in examples)
    assert done.out.startswith(f"Usage: caveat {verb.name} ")
    assert "--json" in done.out
    assert "\b" not in done.out


@pytest.mark.parametrize("as_json", [False, True])
def test_an_unknown_verb_is_usage_and_the_nearest_is_named(caveat, as_json):
    """In words on standard error, or as an object on standard output."""
    done = caveat("figurs", *["--json"] * as_json)
    assert done.code == EXIT_USAGE
    if as_json:
        assert done.json == {
            "error": {"code": "usage", "message": "no verb is called 'figurs'", "next": "did you mean figures?"}
        }
    else:
        assert done[1:] == ("", "caveat: no verb is called 'figurs'\n  next: did you mean figures?\n")
    assert "caveat --help lists all verbs" in caveat("xyzzy").err


@pytest.mark.parametrize("verb", COMMANDS, ids=lambda verb: verb.name)
def test_an_unknown_option_is_usage_in_every_verb(verb, caveat):
    """With the way to the verb's help."""
    done = caveat(verb.name, "--nonsense", "--json")
    assert done.code == EXIT_USAGE
    assert done.json["error"]["code"] == "usage"
    assert "--nonsense" in done.json["error"]["message"]
    assert done.json["error"]["next"] == f"caveat {verb.name} --help"


@pytest.mark.parametrize("verb", ["show", "compare", "cite", "import", "verify"])
def test_a_missing_argument_is_usage(verb, caveat):
    """Nothing is guessed."""
    done = caveat(verb)
    assert done.code == EXIT_USAGE
    assert "Missing argument" in done.err


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (UsageError("why", next="how"), "usage", EXIT_USAGE),
        (CannotSayError("why", next="how"), "cannot-say", EXIT_CANNOT_SAY),
        (InputError("why", next="how"), "input", EXIT_INPUT),
        (NotFoundError("why", code="ambiguous", next="how"), "ambiguous", EXIT_INPUT),
        (RefusedError("why", next="how"), "refused", EXIT_NO),
        (LedgerError("why", next="how"), "ledger", EXIT_INPUT),
    ],
)
def test_every_error_has_its_exit_code_and_its_object(caveat, monkeypatch, error, code, exit_code):
    """The same words for people and for programs."""
    ending_with(monkeypatch, error)
    assert caveat("figures") == (exit_code, "", "caveat: why\n  next: how\n")
    done = caveat("figures", "--json")
    assert (done.code, done.err) == (exit_code, "")
    assert done.json == {"error": {"code": code, "message": "why", "next": "how"}}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "/x\x1b[31m"), "Permission denied: /x\\x1b[31m"),
        (OSError("no more"), "no more"),
        (MemoryError(), "out of memory"),
    ],
)
def test_what_the_system_refuses_is_an_input_error(caveat, monkeypatch, error, words):
    """Exit 4 without a traceback, and nothing in a name acts on the terminal."""
    ending_with(monkeypatch, error)
    done = caveat("figures")
    assert (done.code, done.out) == (EXIT_INPUT, "")
    assert done.err.startswith(f"caveat: {words}\n")


def test_an_interrupted_command_says_nothing(caveat, monkeypatch):
    """The exit code is the shell's."""
    ending_with(monkeypatch, KeyboardInterrupt())
    assert caveat("figures") == (EXIT_INTERRUPTED, "", "")


def test_a_signal_ends_a_command_without_a_traceback():
    """Ctrl-C while a verb works."""
    code = (
        "import os, signal; import caveat.cli.main as frame; "
        "frame._invoke = lambda verb, arguments: os.kill(os.getpid(), signal.SIGINT); "
        "frame.sys.argv = ['caveat', 'figures']; frame.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("argv", [["figures"], ["figures", "--json"], ["export"], ["--help"]], ids=" ".join)
def test_a_reader_that_leaves_ends_a_command_quietly(argv):
    """`caveat figures | head -1`: no traceback, no half answer that looks like a whole one."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*CAVEAT, *argv], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (EXIT_NO_READER, b"")


def test_head_gets_its_line():
    """The first line arrives whole."""
    done = subprocess.run(
        f"{sys.executable} -m caveat figures | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("id ")
    assert done.stderr == ""


def test_a_full_disk_is_an_error_and_not_a_traceback():
    """What could not be written was not done."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*CAVEAT, "figures"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (EXIT_INPUT, "caveat: No space left on device\n")


def test_a_closed_output_is_no_error():
    """`caveat figures >&-`."""
    done = subprocess.run(
        f"exec {sys.executable} -m caveat ledger >&-", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (EXIT_YES, "")


@pytest.mark.parametrize(
    "environment", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}]
)
@pytest.mark.parametrize(
    "argv",
    [
        ["figures", "-w", "round=v6.1", "--limit", "3"],
        ["discount", "-w", "round=v6.1", "-w", "submitter=AMD"],
        ["cite", "v6.1/closed/AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/offline/run_1"],
        ["explain", "offline-is-not-serving"],
    ],
    ids=lambda argv: argv[0],
)
def test_a_terminal_of_ascii_shows_other_signs(environment, argv):
    """Rules become hyphens, the registered sign becomes (R); nothing raises."""
    done = spawn(*argv, **environment)
    assert done.returncode == EXIT_YES
    assert done.stdout.decode("ascii").strip()
    assert b"Traceback" not in done.stderr


def test_json_is_utf8_whatever_the_terminal():
    """A program reads it, not the terminal."""
    argv = ["cite", "v6.1/closed/AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/offline/run_1", "--json"]
    plain, ascii_only = spawn(*argv), spawn(*argv, PYTHONIOENCODING="ascii")
    assert plain.stdout == ascii_only.stdout
    assert "MLPerf® Inference v6.1" in json.loads(plain.stdout)["text"]


def test_arguments_that_are_no_unicode_are_refused_in_words():
    """A file name of another century."""
    done = subprocess.run(
        [*(part.encode() for part in CAVEAT), b"show", b"\xff\xfe", b"--json"], capture_output=True, check=False
    )
    assert done.returncode == EXIT_INPUT
    assert json.loads(done.stdout)["error"]["code"] == "not-found"


def test_main_may_be_called_again_and_again(capsys):
    """Nothing is left behind between two calls."""
    assert [main(["explain"]) for _ in range(2)] == [EXIT_YES, EXIT_YES]
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]
