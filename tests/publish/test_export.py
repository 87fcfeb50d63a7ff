"""Export: what goes out comes back, with every condition, and as nothing but data."""

import csv
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from caveat.caveats import sentences
from caveat.errors import RefusedError, UsageError
from caveat.figures import TABLE, Figure, figures_of
from caveat.publish import EXPORT_FORMS, export, figure_json
from tests.builders import published_run
from tests.cli.acme import HOSTILE_NAMES, acme_runs, derived_run, hostile_run
from tests.strategies import runs

NUMBER = re.compile(r"-?[0-9][0-9.e+-]*")


def acme_figures() -> list[Figure]:
    return [figure for run in acme_runs().values() for figure in figures_of(run)]


def csv_rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_csv_holds_every_condition_of_every_figure():
    """A row a figure; what is not known says so in words."""
    figures = acme_figures()
    rows = csv_rows(export(figures, "csv"))
    assert [row["id"] for row in rows] == [figure.id for figure in figures]
    assert {row.key for row in TABLE} <= {head.partition(".")[0] for head in rows[0]}
    for figure, row in zip(figures, rows, strict=True):
        assert float(row["value"]) == figure.row.value
        assert row["caveats"].split() == [name for name, _ in sentences(figure)]
        for condition in TABLE:
            state = figure.conditions.state(condition.key)
            assert state == "known" or {row[k] for k in row if k.partition(".")[0] == condition.key} == {state}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_no_cell_of_any_run_is_a_formula(run):
    """Only numbers may begin with a sign."""
    if run.provenance.origin == "derived":
        return
    for cells in csv.reader(io.StringIO(export(figures_of(run), "csv").decode(), newline="")):
        for cell in cells:
            assert not cell.lstrip().startswith(("=", "+", "-", "@")) or NUMBER.fullmatch(cell)
            assert cell.isprintable()


def test_parquet_is_what_the_figures_are():
    """Typed columns, null for what is not known, and the whole figure in the last one."""
    figures = acme_figures()
    table = pq.read_table(pa.BufferReader(export(figures, "parquet")))
    rows = table.to_pylist()
    assert table.schema.metadata == {b"format": b"caveat-export/1"}
    for figure, row in zip(figures, rows, strict=True):
        assert (row["id"], row["value"], row["n"]) == (figure.id, figure.row.value, figure.row.n)
        assert {key: row[key] for key in figure.conditions.flat()} == figure.conditions.flat()
        assert all(row[c.key] is None for c in TABLE if c.key in row and figure.conditions.state(c.key) != "known")
        assert row["caveats"] == [name for name, _ in sentences(figure)]
        assert json.loads(row["figure"]) == json.loads(json.dumps(figure_json(figure)))


def test_types_of_parquet_do_not_depend_on_what_is_exported():
    """Files of two days can be read together."""
    one, none = (pq.read_table(pa.BufferReader(export(figures, "parquet"))) for figures in (acme_figures(), []))
    assert {field.name: field.type for field in none.schema} == {field.name: field.type for field in one.schema}
    assert one.schema.field("accelerators").type == pa.int64()
    assert one.schema.field("cooling").type == pa.string()
    assert one.schema.field("power_run").type == pa.bool_()


def test_json_decodes_to_the_same_figures():
    """One object, each figure in its own format."""
    figures = acme_figures()
    said = json.loads(export(figures, "json"))
    assert said["format"] == "caveat-export/1"
    assert said["figures"] == [json.loads(json.dumps(figure_json(figure))) for figure in figures]


def test_markdown_is_a_section_a_figure_with_all_conditions():
    """Head, definition, a table of two columns and the sentences that travel along."""
    (figure,) = figures_of(published_run())
    text = export([figure], "markdown").decode()
    assert text.startswith("### 103,275 tokens/s: AMD, Box of eight, 8 x MI355X, llama2-70b-99.9, server, v6.1")
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0][2:] for line in table] == ["condition", "---", *(row.key for row in TABLE)]
    assert "| platform | 8xMI355X\\_2xEPYC\\_9575F |" in table
    assert text.count("\n- *") == len(sentences(figure))


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_hostile_names_stay_inside_their_markdown_cells(name):
    """No row is split, no tag, link or code span opens."""
    text = export(figures_of(hostile_run(name)), "markdown").decode()
    assert all(line.isprintable() for line in text.split("\n"))
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {3}
    assert len(table) == len(TABLE) + 2
    assert not re.search(r"(?<!\\)<", text)
    assert not re.search(r"(?<!\\)\]\(", text)


@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_a_derived_pair_is_never_exported(form):
    """It would come out as a claim."""
    with pytest.raises(RefusedError, match="derived") as refusal:
        export([*acme_figures(), *figures_of(derived_run())], form)
    assert "aa.x, bb.y" in refusal.value.next


@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_nothing_exports_as_nothing(form):
    """An empty selection is a well-formed document of its form."""
    content = export([], form)
    assert form == "markdown" or content


def test_an_unknown_form_is_refused_with_those_there_are():
    """Usage, not a traceback."""
    with pytest.raises(UsageError) as refusal:
        export([], "xlsx")
    assert refusal.value.next == "one of json, csv, parquet, markdown"
