"""What verbs share: widths, encodings, plurals and progress."""

import io
import sys

import pytest

from caveat.cli import console
from caveat.publish import cell


@pytest.mark.parametrize(("columns", "width"), [("40", 40), ("100", 100), ("250", 100)])
def test_prose_is_as_wide_as_the_terminal_and_no_wider_than_can_be_read(monkeypatch, capsys, columns, width):
    """A hundred columns at most."""
    monkeypatch.setenv("COLUMNS", columns)
    assert console.width() == width
    console.show_lines(["word " * 60], indent=2, hang=4)
    lines = capsys.readouterr().out.splitlines()
    assert width - 5 <= max(map(len, lines)) <= width
    assert [len(line) - len(line.lstrip()) for line in lines[:3]] == [2, 6, 6]


def test_without_a_terminal_there_are_a_hundred_columns(monkeypatch):
    """A file looks the same on every machine."""
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert console.width() == 100


def test_nothing_is_padded_to_the_right(capsys):
    """Output is compared and pasted."""
    console.show(cell("text   "), cell(""), cell("more"))
    assert capsys.readouterr().out == "text\n\nmore\n"


def test_text_in_brackets_is_text(capsys):
    """Nobody outside writes markup."""
    console.show(cell("[red]x[/] :smile:"))
    console.heading("[bold]head")
    assert capsys.readouterr().out == "[red]x[/] :smile:\n\n[bold]head\n"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "MLPerf® ── 漢"),
        ("latin-1", "MLPerf(R) -- \\u6f22"),
        ("ascii", "MLPerf(R) -- \\u6f22"),
    ],
)
def test_a_sign_that_the_terminal_lacks_is_another_or_escaped(monkeypatch, encoding, shown):
    """Nothing raises and nothing is dropped."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    console.write("MLPerf® ── 漢")
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding) == shown


def test_documents_keep_their_place_among_text(monkeypatch):
    """Text that was written before comes before."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    console.write("first ")
    console.emit({"a": "®"})
    assert stream.buffer.getvalue().decode() == 'first {\n "a": "®"\n}\n'


def test_one_is_not_many():
    """And thousands are grouped."""
    assert [console.plural(n, "figure") for n in (0, 1, 1552)] == ["0 figures", "1 figure", "1,552 figures"]
    assert console.plural(2, "entry", "entries") == "2 entries"


def test_progress_is_silent_where_nobody_watches(capsys):
    """No bar in a log file; a total that is not known yet is no error."""
    with console.progress() as bar:
        step = console.steps(bar)
        step("read \x1b[31m", 1, 0)
        step("read \x1b[31m", 2, 2)
        assert [task.description for task in bar.tasks] == ["read \\x1b[31m"]
    assert capsys.readouterr() == ("", "")


def test_options_of_a_command_stand_in_their_groups(caveat):
    """Arguments first, each option under one heading, those without a group at the end."""
    shown = caveat("measure", "--help").out
    heads = [line.removesuffix(":") for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert (heads[0], heads[-1], len(heads)) == ("Arguments", "Options", len(set(heads)))
    assert "A workload" in heads
    assert shown.index("A workload:") < shown.index("\n  --rate ") < shown.index("A replay of a trace")
    assert max(map(len, shown.split("Arguments:")[1].splitlines())) <= 100
