"""The view: which documents are heads, and that rows of an older package are still rows."""

import msgspec
import pyarrow.parquet as pq
import pytest

from caveat.figures import Provenance, Source, dump
from caveat.ledger.index import own_parquet_of, own_row, own_schema, parquet_of, row_of, table_of
from caveat.ledger.query import parse_where
from caveat.ledger.store import Entry
from caveat.ledger.view import Counts, Known, Located, View
from tests.builders import published_run

OLD = published_run(1.0)
NEW = msgspec.structs.replace(published_run(2.0), replaces=OLD.id)
NEWEST = msgspec.structs.replace(published_run(3.0), replaces=NEW.id)
OTHER = published_run(4.0, platform="other")


def table(*runs):
    return table_of(row_of(run, dump(run)) for run in runs)


def own(*runs):
    return table_of((own_row(run, Entry(run.id, 1, 2)) for run in runs), own_schema())


@pytest.fixture
def shipped(tmp_path):
    def write(*runs):
        path = tmp_path / "shipped.parquet"
        path.write_bytes(parquet_of(table(*runs)))
        return path

    return write


def test_nothing_at_all_is_a_view_too():
    """All answers are empty."""
    view = View(None, [])
    assert (view.runs(()), view.figures((), primary_only=True), view.located(["x"])) == ([], [], {})
    assert (view.forks(), view.dangling(), view.headless()) == ([], [], [])


@pytest.mark.parametrize("split", range(4))
def test_the_head_is_what_nothing_replaces_over_both_sets(shipped, split):
    """Wherever the line between the package and the folder runs."""
    chain = (OLD, NEW, NEWEST)
    view = View(shipped(OTHER, *chain[:split]), [], own(*chain[split:]) if split < 3 else None)
    assert sorted(view.runs(())) == sorted([NEWEST.id, OTHER.id])
    assert view.known([OLD.subject, "nobody"]) == {OLD.subject: Known(NEWEST.id, frozenset(run.id for run in chain))}
    assert (view.forks(), view.dangling(), view.headless()) == ([], [], [])


def test_the_own_copy_of_a_shipped_document_counts(shipped):
    """It knows what it replaced; the package's does not."""
    forgetful = msgspec.structs.replace(NEW, replaces=None)
    view = View(shipped(forgetful), [], own(OLD, NEW))
    assert view.runs(()) == [NEW.id]
    assert view.forks() == []


def test_of_several_heads_the_richest_wins():
    """The richer kind of source first, then more sources, then the smaller id; the order of rows does not matter."""
    rank = {"log-summary": 1, "published-summary": 2}
    runs = []
    for value, kinds in enumerate((("published-summary",), ("log-summary",), ("log-summary", "published-summary"))):
        sources = tuple(Source(kind=kind, path="x", sha256=str(rank[kind])) for kind in kinds)
        provenance = Provenance(origin="imported", sources=sources)
        runs.append(msgspec.structs.replace(published_run(float(value)), provenance=provenance))
    for order in (runs, runs[::-1]):
        view = View(None, [], own(*order))
        assert view.runs(()) == [runs[2].id]
        assert view.forks() == [(OLD.subject, [runs[2].id, runs[1].id, runs[0].id])]


def test_a_set_made_before_a_condition_existed_is_read(tmp_path):
    """Its column is absent there, the value undisclosed."""
    path = tmp_path / "old.parquet"
    pq.write_table(table(OLD).drop_columns(["engine"]), path)
    view = View(path, [])
    assert view.runs([parse_where("engine=undisclosed")]) == [OLD.id]
    assert view.runs([parse_where("engine~vllm")]) == []


def test_a_path_is_no_pattern(tmp_path):
    """Brackets, stars and `key=value` in the name of a folder mean nothing to the database."""
    path = tmp_path / "a[1]*?" / "round=v9" / "it's {x}.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(parquet_of(table(OLD)))
    assert View(path, []).runs([parse_where("round=v6.1")]) == [OLD.id]


def test_a_document_is_in_the_file_or_in_the_shipped_set(shipped):
    """The file comes first where both have it."""
    view = View(shipped(OTHER, OLD), [], own(OLD))
    found = view.located([OLD.id, OTHER.id, "nobody"])
    assert found == {
        OLD.id: Located(None, Entry(OLD.id, 1, 2)),
        OTHER.id: Located(msgspec.json.format(dump(OTHER), indent=-1), None),
    }


def test_a_question_about_one_subject_and_one_about_all_agree(tmp_path, shipped):
    """Parts, rows in memory and the shipped set are one; heads of one subject are among the heads of all."""
    part = tmp_path / "part.parquet"
    part.write_bytes(own_parquet_of(own(NEW)))
    view = View(shipped(OLD, OTHER), [part], own(NEWEST))
    assert view.heads_of(OLD.subject, 10) == [(NEWEST.id, OLD.subject)]
    assert view.heads_of(OTHER.subject.split("/", 1)[1], 10) == [(OTHER.id, OTHER.subject)]
    assert view.heads_inside(OTHER.subject.rsplit("/", 2)[0]) == [(OTHER.id, OTHER.subject)]
    assert view.heads_inside(OTHER.subject.rsplit("/", 1)[0]) == []
    assert sorted(view.runs(())) == sorted([NEWEST.id, OTHER.id])
    assert view.own_ids() == {NEW.id, NEWEST.id}
    assert view.counts() == Counts(own=2, shipped=2)


def test_a_limit_leaves_out_and_a_count_does_not(shipped):
    """The first ones in the order of the ledger."""
    view = View(shipped(OTHER), [], own(OLD))
    every = view.figures((), primary_only=True)
    assert len(every) == view.count_figures((), primary_only=True) == 2
    assert view.figures((), primary_only=True, limit=1) == every[:1]
