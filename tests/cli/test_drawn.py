"""caveat show --plot and the curve below a sweep: charts on the screen and in files."""

import io
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from caveat.cli.measured_sweep import print_sweep
from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger
from tests.publish.drawn import HOSTILE, golden, point, run, sweep, table


@pytest.fixture
def measured():
    """The id of a run of the ledger whose samples stand there."""
    book = Ledger()
    folder = book.path / "measured" / "drawn"
    folder.mkdir(parents=True)
    pq.write_table(table(), folder / "samples.parquet")
    kept = msgspec.structs.replace(run()[0].run, samples="measured/drawn/samples.parquet")
    return book.add([kept]).added[0][:10]


@pytest.fixture
def swept():
    """Ids of the three runs of a sweep."""
    return [id[:10] for id in Ledger().add(sweep()).added]


def test_plot_draws_on_the_screen(caveat, measured):
    """Head and panels, nothing else."""
    done = caveat("show", measured, "--plot")
    assert (done.code, done.err) == (EXIT_YES, "")
    assert done.out.startswith("[NOT VALID]  91.71 tokens/s  caveat-output-tokens-rate-usage\n")
    assert done.out.endswith(golden("run_chart.txt").read_text())


@pytest.mark.parametrize(
    ("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!doctype"), ("json", b"{")]
)
def test_plot_with_a_file_behind_it_writes_the_file(caveat, measured, tmp_path, form, start):
    """And says what stands in it."""
    file = tmp_path / f"run.{form}"
    done = caveat("show", measured, "--plot", file)
    assert (done.code, done.err) == (EXIT_YES, "")
    assert " ".join(done.out.split()).endswith(
        f"run.{form}: [NOT VALID] 91.71 tokens/s caveat-output-tokens-rate-usage"
    )
    assert file.read_bytes().startswith(start)


def test_json_is_the_specification_or_the_file(caveat, measured, tmp_path):
    """The documented shape."""
    said = caveat("show", measured, "--plot", "--json").json
    assert (said["format"], said["figures"][0][:10]) == ("caveat-chart/1", measured)
    assert len(said["spec"]["concat"]) == 8
    said = caveat("show", measured, "--plot", tmp_path / "x.json", "--json").json
    assert sorted(said) == ["figures", "file", "format"]


def test_several_runs_are_the_curve_of_a_sweep(caveat, swept, tmp_path):
    """In whatever order they are named."""
    done = caveat("show", *swept, "--plot")
    assert done.out.endswith(golden("curve_chart.txt").read_text())
    assert caveat("show", *swept, "--plot", tmp_path / "curve.svg").code == EXIT_YES
    svg = (tmp_path / "curve.svg").read_text()
    assert all(f">{words}<" in svg for words in ("64 in flight", "limits missed, not valid"))


def test_what_cannot_be_drawn_says_why(caveat, measured, swept):
    """No samples, unlike runs, two files, no figure, another ending."""
    assert _refusal(caveat("show", swept[0], "--plot", "--json")) == (EXIT_USAGE, "usage")
    assert _refusal(caveat("show", *swept, measured, "--plot", "--json")) == (EXIT_NO, "not-one-sweep")
    assert _refusal(caveat("show", measured, "a.png", "b.png", "--plot", "--json")) == (EXIT_USAGE, "usage")
    assert _refusal(caveat("show", "a.png", "--plot", "--json")) == (EXIT_USAGE, "usage")
    assert _refusal(caveat("show", measured, "--plot", "a.pdf", "--json")) == (EXIT_USAGE, "usage")
    assert _refusal(caveat("show", "nothing", "--plot", "--json")) == (EXIT_INPUT, "not-found")
    assert not list(Path().glob("a.*"))


def test_several_figures_without_plot_are_one_too_many(caveat, swept):
    """The way out is named."""
    done = caveat("show", *swept)
    assert (done.code, "caveat figures" in done.err) == (EXIT_USAGE, True)


def _refusal(done):
    return done.code, done.json["error"]["code"]


def test_the_table_of_a_sweep_ends_with_its_curve(capsys):
    """And with the command that writes it to a file."""
    runs = sweep()
    print_sweep(runs)
    out = capsys.readouterr().out
    assert golden("curve_chart.txt").read_text() in out
    in_order = " ".join(runs[place].id[:10] for place in (1, 2, 0))
    assert out.endswith(f"as a file: caveat show {in_order} --plot curve.svg\n")


def test_a_sweep_that_makes_no_curve_says_why(capsys):
    """The table stands all the same."""
    print_sweep([point(1, 100, 0.01), point(8, 400, 0.0125, model=HOSTILE)])
    out = capsys.readouterr().out
    assert "none: not one sweep: model: found" in out
    assert "\x1b" not in out


def test_an_output_without_dots_gets_ascii(caveat, measured, monkeypatch):
    """A terminal of another time."""
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    from caveat.cli.main import main

    assert main(["show", measured, "--plot"]) == EXIT_YES
    screen.flush()
    assert b"100% |" in screen.buffer.getvalue()
    assert b"\\u28" not in screen.buffer.getvalue()
