"""The index: what is in a row, when it is made again, and what happens where it cannot be kept."""

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caveat.figures import TABLE, dump, load
from caveat.ledger import index
from caveat.ledger.index import COLUMNS, arrow_schema, index_of, index_path, parquet_of, rebuild, row_of, table_of
from caveat.ledger.store import read_run, scan, write_runs
from tests.builders import published_run

RUNS = tuple(published_run(value, platform=f"box {value:.0f}") for value in (1.0, 2.0, 3.0))


@pytest.fixture
def root(tmp_path):
    write_runs(tmp_path, RUNS)
    return tmp_path


def ids(indexed):
    table = indexed if isinstance(indexed, pa.Table) else pq.read_table(indexed, partitioning=None)
    return sorted(table.column("id").to_pylist())


def test_there_is_a_column_for_each_condition_and_no_name_twice():
    """Names differ even for a database that ignores case."""
    names = [name.lower() for name, _ in COLUMNS]
    assert len(set(names)) == len(names)
    assert {row.key for row in TABLE} <= set(names)
    assert arrow_schema().names == [name for name, _ in COLUMNS]


def test_a_row_holds_the_document_the_figures_and_the_conditions():
    """What is known stands in its column, and the document reads back as the same run."""
    run = published_run(output_tokens={"mean": 267.0, "max": 1024.0}, engine=None)
    (row,) = table_of([row_of(run, dump(run))]).to_pylist()
    assert load(row["document"]) == run
    assert b"\n" not in row["document"]
    assert row["figures"] == [{"metric": run.primary, "value": 103275.0, "outcome": "pass"}]
    assert (row["id"], row["origin"], row["primary_metric"]) == (run.id, "imported", run.primary)
    assert (row["round"], row["accelerators"], row["power_run"]) == ("v6.1", 8, False)
    assert row["output_tokens"] == [("mean", 267.0), ("max", 1024.0)]
    assert (row["engine"], row["replaces"]) == (None, None)


def test_the_index_is_named_after_the_listing(root):
    """Its name says whether it is up to date; the earlier one goes when a new one comes."""
    first = index_of(root, scan(root))
    assert first == index_path(root, scan(root))
    assert index_of(root, scan(root)) == first
    write_runs(root, [published_run(4.0)])
    second = index_of(root, scan(root))
    assert second == index_path(root, scan(root))
    assert list((root / ".index").glob("*.parquet")) == [second]
    assert len(ids(second)) == 4


def test_an_empty_ledger_has_no_index(tmp_path):
    """Nothing is written for nothing."""
    assert index_of(tmp_path, scan(tmp_path)) is None
    assert rebuild(tmp_path, scan(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []


def test_only_new_and_touched_documents_are_read_again(root, monkeypatch):
    """Rows of untouched documents are taken over from the earlier index, those of removed ones are not."""
    index_of(root, scan(root))
    read = []

    def reading(root, entry):
        read.append(entry.id)
        return read_run(root, entry)

    monkeypatch.setattr(index, "read_run", reading)
    new = published_run(4.0)
    write_runs(root, [new])
    (root / f"runs/{RUNS[0].id[:2]}/{RUNS[0].id}.json").unlink()
    assert ids(index_of(root, scan(root))) == sorted([RUNS[1].id, RUNS[2].id, new.id])
    assert read == [new.id]


def test_a_broken_document_is_left_out(root):
    """The others are there."""
    (root / f"runs/{RUNS[0].id[:2]}/{RUNS[0].id}.json").write_bytes(b"{")
    assert ids(index_of(root, scan(root))) == sorted([RUNS[1].id, RUNS[2].id])


def test_a_broken_earlier_index_is_not_trusted(root):
    """Garbage under the name of an index, or one of other columns, is no source of rows."""
    (root / ".index").mkdir()
    (root / ".index" / f"{index.VERSION}-00.parquet").write_bytes(b"PAR1 no")
    pq.write_table(pa.table({"id": ["x"]}), root / ".index" / f"{index.VERSION}-11.parquet")
    assert ids(index_of(root, scan(root))) == sorted(run.id for run in RUNS)


def test_where_nothing_can_be_written_the_index_stays_in_memory(root):
    """A ledger on a read-only disk answers all the same."""
    (root / ".index").write_bytes(b"a file where the folder should be")
    table = index_of(root, scan(root))
    assert isinstance(table, pa.Table)
    assert ids(table) == sorted(run.id for run in RUNS)


def test_the_index_is_not_read_through_a_link(root, tmp_path):
    """A planted link under the right name is not followed, and its target not touched."""
    forged = tmp_path / "forged"
    forged.write_bytes(b"forged")
    path = index_path(root, scan(root))
    path.parent.mkdir()
    path.symlink_to(forged)
    assert ids(index_of(root, scan(root))) == sorted(run.id for run in RUNS)
    assert forged.read_bytes() == b"forged"


def test_the_same_rows_give_the_same_bytes_in_any_order():
    """A file that can be made again and compared."""
    rows = [row_of(run, dump(run)) for run in RUNS]
    assert parquet_of(table_of(rows)) == parquet_of(table_of(reversed(rows)))


def test_the_richest_source_gives_the_rank():
    """Without sources the rank is the last."""
    run = RUNS[0]
    assert row_of(run, dump(run))["source_rank"] == run.provenance.sources[0].rank
    measured = msgspec.structs.replace(
        run, provenance=msgspec.structs.replace(run.provenance, origin="measured", sources=())
    )
    assert row_of(measured, dump(measured))["source_rank"] == index.UNKNOWN_RANK
