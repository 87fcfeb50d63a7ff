"""Rows of the index: what is in them, and their form as files."""

import io

import msgspec
import pyarrow.parquet as pq
import pytest

from caveat.figures import TABLE, Check, Row, dump, load
from caveat.ledger import index
from caveat.ledger.index import (
    COLUMNS,
    arrow_schema,
    own_parquet_of,
    own_row,
    own_schema,
    parquet_of,
    row_of,
    table_of,
)
from caveat.ledger.store import Entry
from tests.builders import published_run

RUNS = tuple(published_run(value, platform=f"box {value:.0f}") for value in (1.0, 2.0, 3.0))


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
    assert row["output_tokens"] == [("max", 1024.0), ("mean", 267.0)]
    assert (row["engine"], row["replaces"]) == (None, None)


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


def test_a_row_of_ones_own_has_the_file_and_not_the_document():
    """The document is read from its file; all else is as in the shipped set."""
    run = RUNS[0]
    own = own_row(run, Entry(run.id, 10, 20))
    assert (own.pop("size"), own.pop("changed_ns")) == (10, 20)
    shipped = row_of(run, dump(run))
    del shipped["document"]
    assert own == shipped
    assert [*own_schema().names, "document"] == [
        *(name for name in arrow_schema().names if name != "document"),
        "document",
    ]


@pytest.mark.parametrize("metrics", [(), ("loadgen-ttft.p99",)])
def test_each_figure_has_its_own_outcome(metrics):
    """Whether validity is about the run or about single metrics."""
    checks = (Check(aspect="review", outcome="pass"), Check(aspect="early stopping", outcome="fail", metrics=metrics))
    run = published_run(rows=(Row(metric="loadgen-ttft.p99", value=1.0),), validity=checks)
    assert [(one["metric"], one["outcome"]) for one in row_of(run, dump(run))["figures"]] == [
        (row.metric, run.outcome(row.metric)) for row in run.rows
    ]


def test_a_part_is_sorted_by_id_and_reads_back():
    """With the smallest and largest id of each group, so that what is sought is found in one of them."""
    table = table_of((own_row(run, Entry(run.id, 1, 2)) for run in RUNS), own_schema())
    content = own_parquet_of(table)
    read = pq.read_table(io.BytesIO(content))
    assert read.equals(table.sort_by("id"))
    statistics = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0).statistics
    ids = sorted(run.id for run in RUNS)
    assert (statistics.min, statistics.max) == (ids[0], ids[-1])
