"""Reading many documents: in their order, here or by further processes, whatever happens to those."""

from collections.abc import Generator

import pytest

from caveat.ledger import reading
from caveat.ledger.index import own_row, own_schema, table_of
from caveat.ledger.reading import read_documents
from caveat.ledger.store import read_run, scan, write_runs
from tests.builders import published_run

RUNS = tuple(published_run(float(value)) for value in range(1, 8))


@pytest.fixture
def root(tmp_path):
    write_runs(tmp_path, RUNS)
    return tmp_path


@pytest.fixture
def pieces(monkeypatch):
    monkeypatch.setattr(reading, "PIECE", 2)


@pytest.fixture
def several(pieces, monkeypatch):
    """Two further processes for whatever there is to read."""
    monkeypatch.setattr(reading, "MANY", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def expected(root):
    return table_of((own_row(read_run(root, entry)[0], entry) for entry in scan(root).documents), own_schema())


def read(root, **how):
    import pyarrow as pa

    found = list(read_documents(root, scan(root).documents, **how))
    problems = [problem for _, piece in found for problem in piece.problems]
    return [len(entries) for entries, _ in found], pa.concat_tables([piece.table() for _, piece in found]), problems


@pytest.mark.parametrize("how", ["pieces", "several"])
def test_rows_come_in_the_order_of_the_documents(root, how, request):
    """One piece after the other, with progress."""
    request.getfixturevalue(how)
    said = []
    sizes, table, problems = read(root, progress=lambda done, of: said.append((done, of)))
    assert (sizes, problems) == ([2, 2, 2, 1], [])
    assert table.equals(expected(root))
    assert said == [(2, 7), (4, 7), (6, 7), (7, 7)]


@pytest.mark.parametrize("how", ["pieces", "several"])
def test_a_broken_document_is_a_problem_and_the_others_are_rows(root, how, request):
    """Wherever it is read."""
    request.getfixturevalue(how)
    path = root / scan(root).documents[3].name
    path.write_bytes(b"{")
    _, table, (problem,) = read(root)
    assert table.num_rows == 6
    assert (problem.code, problem.path) == ("unreadable", str(path.relative_to(root)))


def test_what_was_just_written_is_not_read(root, pieces, monkeypatch):
    """Its row is made from the run."""
    entries = scan(root).documents
    runs = {run.id: run for run in RUNS}
    wanted = expected(root)
    monkeypatch.setattr(reading, "read_run", None)
    assert read(root, written={entry: runs[entry.id] for entry in entries})[1].equals(wanted)


@pytest.mark.parametrize(
    "program",
    ["no-such-program", "import sys; sys.exit(3)", "print('x' * 20, flush=True); input()"],
    ids=["none", "dies", "talks nonsense"],
)
def test_a_process_that_is_not_well_is_not_needed(root, several, monkeypatch, program):
    """Its pieces are read here."""
    if program == "no-such-program":
        monkeypatch.setattr("sys.executable", str(root / program))
    else:
        monkeypatch.setattr(reading, "_START", program)
    assert read(root)[1].equals(expected(root))


def test_whoever_stops_listening_ends_the_processes(root, several):
    """None is left behind."""
    found = read_documents(root, scan(root).documents)
    next(found)
    assert isinstance(found, Generator)
    found.close()
