"""The shipped set: whole, small, from public places only, and there at once."""

import pyarrow.parquet as pq
import pytest

from caveat.errors import LedgerError
from caveat.figures import load
from caveat.ledger import SHIPPED, Ledger, shipped_bytes
from tests.builders import published_run

LARGEST = 2_000_000  # bytes


@pytest.fixture(scope="module")
def rows():
    return pq.read_table(SHIPPED).select(["id", "subject", "document"]).to_pylist()


def test_every_document_is_what_its_id_says(rows):
    """Each loads with today's tables and hashes to its id; one document for each subject, none replaced."""
    runs = [load(row["document"]) for row in rows]
    assert [run.id for run in runs] == [row["id"] for row in rows]
    assert len({run.subject for run in runs}) == len(runs)
    assert {run.replaces for run in runs} == {None}


def test_the_rounds_are_those_that_are_promised(rows):
    """Imported results of four rounds, the newest one too."""
    runs = [load(row["document"]) for row in rows]
    assert {run.conditions.get("round") for run in runs} == {"v4.1", "v5.1", "v6.0", "v6.1"}
    assert {run.provenance.origin for run in runs} == {"imported"}


def test_sources_lie_at_public_places(rows):
    """In the repository of their round, with a hash, and without a trace of the machine that read them."""
    for row in rows:
        for source in load(row["document"]).provenance.sources:
            assert source.kind in ("rules", "folder-names") or source.path.startswith("inference_results_v"), source
            assert source.kind in ("rules", "folder-names") or len(source.sha256) == 64
            assert source.retrieved == ""


def test_the_file_is_small():
    """It travels with every installation."""
    assert SHIPPED.stat().st_size < LARGEST


def test_a_ledger_of_nothing_shows_it(tmp_path, rows):
    """No import, no folder."""
    ledger = Ledger(tmp_path / "none")
    assert len(ledger.runs()) == len(rows)
    assert ledger.verify() == ()
    assert not ledger.path.exists()


def test_the_same_runs_give_the_same_bytes():
    """In whatever order they come."""
    runs = [published_run(value, platform=str(value)) for value in (1.0, 2.0, 3.0)]
    assert shipped_bytes(runs) == shipped_bytes(reversed(runs))


def test_a_subject_that_stands_twice_is_refused():
    """Heads only."""
    with pytest.raises(LedgerError, match="stands twice"):
        shipped_bytes([published_run(1.0), published_run(2.0)])
