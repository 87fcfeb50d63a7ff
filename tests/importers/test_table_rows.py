"""Rows of published tables, whole and damaged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.importers.mlperf import table_rows
from caveat.importers.mlperf.table_rows import fields_of, read_table

HEADER = "Organization,Platform,MlperfModel,Scenario,Result,Location"
ROW = '"AMD","8xMI355X","llama2-70b-99.9","Server","103275.0","closed/AMD/results/8xMI355X/llama2-70b-99.9/Server"'
CELLS = {
    "submitter": "AMD",
    "platform": "8xMI355X",
    "benchmark": "llama2-70b-99.9",
    "scenario": "Server",
    "value": "103275.0",
    "location": "closed/AMD/results/8xMI355X/llama2-70b-99.9/Server",
}


def table_of(tmp_path, content):
    path = tmp_path / "summary.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


def codes(table):
    return [(problem.code, problem.line) for problem in table.problems]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", [""]),
        ("a,b", ["a", "b"]),
        ("a,", ["a", ""]),
        ('"a","b"', ["a", "b"]),
        ('"","b",""', ["", "b", ""]),
        ('"a, b",c', ["a, b", "c"]),
        ('"19" rack","x"', ['19" rack', "x"]),
        ('"a "quoted", word","x"', ['a "quoted", word', "x"]),
        ('"say ""hi""","x"', ['say "hi"', "x"]),
        ('"=HYPERLINK("http://x")",1', ['=HYPERLINK("http://x")', "1"]),
        ('"a', None),
        ('"a","b', None),
    ],
)
def test_a_row_splits_where_the_checker_meant_it(line, fields):
    """The checker quotes every field and escapes nothing inside."""
    assert fields_of(line) == fields


@given(st.lists(st.text(st.characters(exclude_characters='",\n\r')), min_size=1, max_size=8))
def test_fields_written_as_the_checker_writes_them_read_back(fields):
    """Quote, join, split: the same fields, whatever they hold that is neither quote nor comma."""
    assert fields_of(",".join(f'"{field}"' for field in fields)) == fields


@given(st.text(max_size=300))
def test_splitting_never_fails(line):
    """Any line gives fields or nothing."""
    fields = fields_of(line)
    assert fields is None or len(fields) >= 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_endings_and_a_byte_order_mark_change_nothing(tmp_path, ending, mark):
    """Tables saved on other systems read the same."""
    table = table_of(tmp_path, mark + ending.join((HEADER, ROW, "")).encode())
    assert [row.cells for row in table.rows] == [CELLS]
    assert table.problems == ()
    assert table.columns is not None
    assert table.columns.form == "checker summary"


def test_columns_may_stand_in_any_order(tmp_path):
    """The header says where things are."""
    names, values = HEADER.split(","), ROW.split(",")
    turned = ",".join(reversed(names)) + "\n" + ",".join(reversed(values)) + "\n"
    assert [row.cells for row in table_of(tmp_path, turned).rows] == [CELLS]


def test_rows_are_counted_as_the_file_counts_them(tmp_path):
    """The header is row 1, and a row keeps the number of the line that it starts on."""
    broken = ROW.replace("8xMI355X", "8x\nMI355X", 1)
    table = table_of(tmp_path, "\n".join((HEADER, broken, ROW)))
    assert [(row.number, row.line) for row in table.rows] == [(2, 2), (3, 4)]
    assert table.rows[0].cells["platform"] == "8x MI355X"


def test_a_row_with_the_wrong_number_of_fields_is_one_problem(tmp_path):
    """The rows around it are read."""
    table = table_of(tmp_path, "\n".join((HEADER, ROW, '"AMD","x"', ROW, '"AMD","unfinished')))
    assert [row.line for row in table.rows] == [2, 4]
    assert codes(table) == [("row-malformed", 3), ("row-malformed", 5)]


def test_a_table_of_nothing_but_broken_rows_is_given_up(tmp_path, monkeypatch):
    """Problems are bounded, and so is the time."""
    monkeypatch.setattr(table_rows, "MAX_BAD_ROWS", 3)
    table = table_of(tmp_path, "\n".join((HEADER, *['"a'] * 50)))
    assert [code for code, _ in codes(table)] == ["row-malformed"] * 4 + ["table-malformed"]


def test_a_table_without_end_is_given_up(tmp_path, monkeypatch):
    """Rows are bounded as well."""
    monkeypatch.setattr(table_rows, "MAX_ROWS", 2)
    table = table_of(tmp_path, "\n".join((HEADER, *[ROW] * 50)))
    assert (len(table.rows), codes(table)) == (2, [("table-malformed", None)])
    table = table_of(tmp_path, json.dumps([RECORD] * 50))
    assert (len(table.rows), codes(table)) == (2, [("table-malformed", None)])
    monkeypatch.setattr(table_rows, "MAX_LINES", 20)
    table = table_of(tmp_path, HEADER + "\n" * 50 + ROW)
    assert (len(table.rows), codes(table)) == (0, [("table-malformed", None)])


def test_bytes_that_are_no_utf8_are_replaced_and_told(tmp_path):
    """Latin-1 names do not cost the row."""
    table = table_of(tmp_path, f"{HEADER}\n{ROW}".encode().replace(b"AMD", b"AM\xe9D", 1))
    assert table.rows[0].cells["submitter"] == "AM\ufffdD"
    assert codes(table) == [("table-not-utf8", None)]


def test_a_table_over_the_limit_is_refused_unread(tmp_path, monkeypatch):
    """Size is looked at before content."""
    monkeypatch.setattr(table_rows, "MAX_TABLE_BYTES", 10)
    table = table_of(tmp_path, f"{HEADER}\n{ROW}")
    assert table.rows == ()
    assert codes(table) == [("table-too-large", None)]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\x01\x02" * 100, b"name,age\nx,1\n", b'"' * 5000])
def test_what_is_no_table_gives_no_columns_and_no_error(tmp_path, content):
    """Binary, empty, and other people's tables."""
    table = table_of(tmp_path, content)
    assert table.columns is None
    assert table.rows == ()


RECORD = {"Submitter": "AMD", "Model": "llama2-70b-99.9", "Scenario": "Server", "Performance_Result": 103275.0}


def test_json_rows_are_counted_from_one(tmp_path):
    """Numbers become the text that reads back as the same number; what states nothing is left out."""
    table = table_of(tmp_path, json.dumps([RECORD, {**RECORD, "Nodes": 2, "Accelerator": "", "has_power": False}]))
    assert [row.number for row in table.rows] == [1, 2]
    assert table.rows[1].cells == {
        "submitter": "AMD",
        "benchmark": "llama2-70b-99.9",
        "scenario": "Server",
        "value": "103275.0",
        "nodes": "2",
        "power_run": "false",
    }


def test_json_elements_that_are_no_rows_are_problems(tmp_path):
    """The rows between them are read."""
    table = table_of(tmp_path, json.dumps([1, RECORD, [], None, {"a": 1}, RECORD]))
    assert [row.number for row in table.rows] == [2, 6]
    assert [problem.found for problem in table.problems] == ["int", "list", "NoneType", "no column of a result"]


def test_a_truncated_json_table_keeps_the_rows_before_the_cut(tmp_path):
    """And says where it stopped."""
    table = table_of(tmp_path, json.dumps([RECORD, RECORD, RECORD])[:-40])
    assert [row.number for row in table.rows] == [1, 2]
    assert codes(table) == [("table-malformed", None)]
    assert "row 3" in table.problems[0].message


def test_bare_nan_is_a_cell_that_states_nothing(tmp_path):
    """As other tools write it."""
    table = table_of(tmp_path, json.dumps([{**RECORD, "a#": float("nan")}]))
    assert "accelerators_per_node" not in table.rows[0].cells
    assert table.problems == ()


@pytest.mark.parametrize(
    "content", ["[" * 200_000, '[{"Scenario": ' + "[" * 200_000, "[" + "9" * 100_000 + "]", '["' + "\\ud800" + '"]']
)
def test_nesting_and_huge_numbers_are_problems(tmp_path, content):
    """No recursion, no quadratic conversion, no lone surrogate stops the reader."""
    table = table_of(tmp_path, content)
    assert table.rows == ()
    assert table.problems


def test_nested_cells_state_nothing(tmp_path):
    """A cell is one value."""
    table = table_of(tmp_path, json.dumps([{**RECORD, "System": {"name": ["x"]}, "Nodes": [1]}]))
    assert table.rows[0].cells.keys() == {"submitter", "benchmark", "scenario", "value"}


def test_a_json_row_with_a_key_twice_is_none(tmp_path):
    """Readers differ in which of two results they would believe; the row beside it is read."""
    doubled = '{"Performance_Result": 5, "Performance_Result": 7, "Scenario": "Offline"}'
    table = table_of(tmp_path, f'[{doubled}, {{"Performance_Result": 6, "Scenario": "Offline"}}]')
    assert [row.cells["value"] for row in table.rows] == ["6"]
    assert codes(table) == [("row-malformed", None)]


def test_a_column_twice_makes_no_table(tmp_path):
    """Which of two columns of results is the result cannot be told; a column that nobody reads may repeat."""
    assert codes(table_of(tmp_path, f"{HEADER},Result\n{ROW},5\n")) == [("table-malformed", None)]
    (row,) = table_of(tmp_path, f"{HEADER},x,x\n{ROW},1,2\n").rows
    assert row.cells == CELLS
