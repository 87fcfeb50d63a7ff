"""Keeping the index up to date: what is read again, what is written again, and what happens where it cannot be kept."""

import os
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caveat.ledger import looking, reading, refresh
from caveat.ledger.manifest import read_manifest
from caveat.ledger.refresh import FOLD, Index, Task, rebuilt, refreshed
from caveat.ledger.store import locked, scan, write_runs
from tests.builders import published_run

RUNS = tuple(published_run(float(value)) for value in range(1, 4))
NEW = published_run(4.0)


@pytest.fixture
def root(tmp_path):
    write_runs(tmp_path, RUNS)
    return tmp_path


@pytest.fixture
def read(monkeypatch):
    """Ids of the documents that were read."""
    real = reading.read_documents
    ids: list[str] = []

    def watched(root, entries, *rest):
        ids.extend(entry.id for entry in entries)
        return real(root, entries, *rest)

    monkeypatch.setattr(refresh, "read_documents", watched)
    return ids


def path_of(root, run):
    return root / "runs" / run.id[:2] / f"{run.id}.json"


def ids(root, index):
    tables = [pq.read_table(path, partitioning=None) for path in index.paths(root)]
    return sorted(id for table in (*tables, *filter(None, [index.memory])) for id in table.column("id").to_pylist())


def ids_of(*runs):
    return sorted(run.id for run in runs)


def parts(root):
    return sorted(path.name for path in (root / ".index").glob("*.parquet"))


def test_an_index_is_made_and_found_again(root, read):
    """The second look reads no document and writes no part."""
    first = refreshed(root)
    assert ids(root, first) == ids_of(*RUNS)
    assert first.memory is None
    assert read == ids_of(*RUNS)
    assert refreshed(root).manifest.parts == first.manifest.parts
    assert refreshed(root, first).manifest.parts == first.manifest.parts
    assert read == ids_of(*RUNS)
    assert parts(root) == [part.name for part in first.manifest.parts]


def test_an_empty_ledger_has_no_index(tmp_path):
    """Nothing is written for nothing."""
    assert refreshed(tmp_path / "none") == rebuilt(tmp_path / "none") == Index()
    assert list(tmp_path.iterdir()) == []


def test_only_new_and_touched_documents_are_read_again(root, read):
    """Rows of untouched documents stay, those of removed ones do not."""
    refreshed(root)
    read.clear()
    write_runs(root, [NEW])
    path_of(root, RUNS[0]).unlink()
    assert ids(root, refreshed(root)) == ids_of(*RUNS[1:], NEW)
    assert read == [NEW.id]
    os.utime(path_of(root, NEW), ns=(1, 1))
    assert ids(root, refreshed(root)) == ids_of(*RUNS[1:], NEW)
    assert read == [NEW.id, NEW.id]


def test_a_new_document_leaves_the_large_part_alone(root, monkeypatch):
    """It becomes a part of its own, until such parts have grown to a share of the large one."""
    monkeypatch.setattr(refresh, "FOLD", 1)
    (large,) = refreshed(root).manifest.parts
    write_runs(root, [NEW])
    found = refreshed(root)
    assert large in found.manifest.parts
    assert sorted(part.rows for part in found.manifest.parts) == [1, 3]
    write_runs(root, [published_run(5.0), published_run(6.0)])
    found = refreshed(root)
    assert [part.rows for part in found.manifest.parts] == [6]
    assert parts(root) == [found.manifest.parts[0].name]


def test_there_are_never_many_parts(tmp_path):
    """One run at a time, forty times."""
    known = None
    for number in range(40):
        write_runs(tmp_path, [published_run(float(number))])
        known = refreshed(tmp_path, known)
    rows = sorted(part.rows for part in known.manifest.parts)
    assert sum(rows) == 40
    assert all(large > FOLD * small for small, large in pairwise(rows))


def test_a_broken_document_is_left_out_and_comes_back(root, monkeypatch):
    """Also where it is put right by writing over it, and the ledger is large."""
    monkeypatch.setattr(looking, "LOOKED_AT_EACH_TIME", -1)
    content = path_of(root, RUNS[0]).read_bytes()
    path_of(root, RUNS[0]).write_bytes(b"{")
    assert ids(root, refreshed(root)) == ids_of(*RUNS[1:])
    path_of(root, RUNS[0]).write_bytes(content)
    assert ids(root, refreshed(root)) == ids_of(*RUNS)


@pytest.mark.parametrize("damage", [b"", b"PAR1 no", None], ids=["empty", "garbage", "other columns"])
def test_a_broken_part_is_made_again(root, damage):
    """As soon as something is to be written beside it."""
    (part,) = refreshed(root).paths(root)
    if damage is None:
        pq.write_table(pa.table({"id": ["x"], "size": [1], "changed_ns": [1]}), part)
    else:
        part.write_bytes(damage)
    write_runs(root, [NEW])
    assert ids(root, refreshed(root)) == ids_of(*RUNS, NEW)


def test_a_part_that_is_gone_is_made_again(root):
    """The manifest is not believed without it."""
    (part,) = refreshed(root).paths(root)
    part.unlink()
    assert ids(root, refreshed(root)) == ids_of(*RUNS)


def test_where_nothing_can_be_written_the_index_stays_in_memory(root, read):
    """A ledger on a read-only disk answers all the same, and reads only what is new."""
    (root / ".index").write_bytes(b"a file where the folder should be")
    first = refreshed(root)
    assert (first.manifest.parts, ids(root, first)) == ((), ids_of(*RUNS))
    assert refreshed(root, first).memory is first.memory
    write_runs(root, [NEW])
    path_of(root, RUNS[0]).unlink()
    assert ids(root, refreshed(root, first)) == ids_of(*RUNS[1:], NEW)
    assert read == [*ids_of(*RUNS), NEW.id]


def test_while_somebody_writes_nothing_is_written_and_nobody_waits(root):
    """The rows of what is new are kept beside the parts that are there."""
    first = refreshed(root)
    write_runs(root, [NEW])
    with locked(root):
        beside = refreshed(root)
        assert (beside.manifest.parts, beside.memory.num_rows) == (first.manifest.parts, 1)
        assert ids(root, beside) == ids_of(*RUNS, NEW)
        assert read_manifest(root) == first.manifest
        held = refreshed(root, beside, Task(held=True))
    assert (held.memory, ids(root, held)) == (None, ids_of(*RUNS, NEW))


def test_a_rebuilt_index_is_one_part_of_the_documents_alone(root, read):
    """Whatever there was before."""
    refreshed(root)
    write_runs(root, [NEW])
    read.clear()
    found = rebuilt(root)
    assert (len(found.manifest.parts), ids(root, found), read) == (1, ids_of(*RUNS, NEW), ids_of(*RUNS, NEW))


MANY = tuple(published_run(float(value)) for value in range(12))
STEPS = st.lists(st.tuples(st.sampled_from(("write", "remove", "touch", "break")), st.sampled_from(MANY)), max_size=8)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(STEPS, min_size=1, max_size=4))
def test_whatever_happens_the_index_says_what_the_folder_says(tmp_path_factory, batches):
    """After each batch of changes: from what was known, from the disk, and made anew."""
    root, known = tmp_path_factory.mktemp("ledger"), None
    for batch in batches:
        for number, (what, run) in enumerate(batch):
            change(root, what, run, number)
        known = refreshed(root, known)
        truth = ids(root, Index(memory=rebuilt_rows(root)))
        assert ids(root, known) == truth
        assert ids(root, refreshed(root)) == truth


def change(root, what, run, number):
    path = path_of(root, run)
    if what == "write":
        write_runs(root, [run])
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif path.exists() and what == "touch":
        os.utime(path, ns=(number + 1, number + 1))
    elif path.exists():
        path.write_bytes(b"{" * (number + 1))


def rebuilt_rows(root):
    pieces = [piece.table() for _, piece in reading.read_documents(root, scan(root).documents)]
    return pa.concat_tables(pieces) if pieces else None
