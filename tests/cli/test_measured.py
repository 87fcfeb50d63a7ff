"""The screen of a measured run: the answer on one screen, the rest on demand, at any width, with nothing lost."""

import re

import pytest

from caveat.errors import EXIT_NO
from caveat.figures import METRICS
from caveat.ledger import Ledger
from caveat.measure import Slo
from tests.cli.golden import golden
from tests.loadgen.folders import made_folder, poisson_spec

MISSED = poisson_spec(slo=Slo(ttft_s=0.26, tpot_s=0.05, percentile="p95"))


@pytest.fixture
def folder(tmp_path):
    """A run that missed its limit on the first token."""
    return made_folder(tmp_path / "a", spec=MISSED)


def test_the_answer_is_on_one_screen(caveat, folder):
    """Whole, as it looks; the verdict with its reason stands above every number of the tables."""
    done = caveat("record", folder)
    assert done.code == EXIT_NO
    assert re.sub(r"\b[0-9a-f]{10}\b", "ID", done.out) == golden("measured")
    assert len(done.out.splitlines()) <= 44


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_answer_fits_the_screen(caveat, folder, monkeypatch, columns):
    """On a narrow one the percentiles stand below each other, by their keys."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = caveat("record", folder).out.splitlines()
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("caveat-ttft.p95 ") for line in lines) == (columns < 94)


def test_full_has_every_row_check_note_and_caveat(caveat, folder):
    """And the same answer above."""
    short, full = caveat("record", folder), caveat("record", folder, "--full")
    (run,) = Ledger(shipped=False).runs()
    assert full.out.startswith(short.out.split("\nvalidity\n")[0])
    lines, said = full.out.splitlines(), " ".join(full.out.split())
    for row in run.rows:
        assert any(line.startswith(f"{row.metric} ") for line in lines), row.metric
    for text in (*(check.sentence for check in run.validity), *run.notes):
        assert text.split(",")[0].split(" ")[0] in said
    assert "self-reported: Unverified" in said


def test_whatever_the_screen_leaves_out_is_in_json(caveat, folder):
    """Every figure with its whole vector, as before."""
    run = caveat("record", folder, "--json").json["runs"][0]
    (kept,) = Ledger(shipped=False).runs()
    assert {figure["metric"]["key"] for figure in run["figures"]} == {row.metric for row in kept.rows}
    assert {figure["metric"]["key"] for figure in run["figures"]} <= set(METRICS)
    assert run["notes"] == list(kept.notes)


def test_without_a_terminal_nothing_is_coloured(caveat, folder):
    """A pipe gets plain text."""
    assert "\x1b" not in caveat("record", folder).out
