"""Any table with a column map: CSV, JSONL, Parquet."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caveat.errors import InputError
from caveat.workload import read_trace
from tests.workload.traces.samples import jsonl, rows

MAP = {"time": "when", "input": "in", "output": "out", "session": "who", "blocks": "kv"}
EXPECTED = [(0, 40, 2, 0, 0, [0, 1]), (1_250_000_000, 50, 3, 0, 1, [0, 1, 2]), (2_000_000_000, 20, 4, 1, 0, [3])]


def test_a_parquet_file_is_read_by_a_map(tmp_path):
    """Time stamps with a zone, names as sessions, lists of blocks."""
    path = tmp_path / "log.parquet"
    when = pa.array([10_000, 11_250, 12_000], pa.timestamp("ms", "UTC"))
    table = {
        "when": when,
        "in": [40, 50, 20],
        "out": [2, 3, 4],
        "who": ["a", "a", "b"],
        "kv": [["x", "y"], ["x", "y", "z"], ["w"]],
    }
    pq.write_table(pa.table(table), path)
    read = read_trace(path, columns=MAP, block_tokens=16)
    assert rows(read.recording) == EXPECTED
    assert read.recording.source.lines == 3


def test_jsonl_is_read_by_a_map(tmp_path):
    """ISO times as text."""
    path = tmp_path / "log.jsonl"
    made = [
        {"when": "2026-01-01T10:00:00Z", "in": 40, "out": 2, "who": "a", "kv": [5, 6]},
        {"when": "2026-01-01T10:00:01.25Z", "in": 50, "out": 3, "who": "a", "kv": [5, 6, 7]},
        {"when": "2026-01-01T10:00:02Z", "in": 20, "out": 4, "who": "b", "kv": [9]},
    ]
    path.write_text(jsonl(made))
    read = read_trace(path, columns=MAP, block_tokens=16)
    assert [row[:5] for row in rows(read.recording)] == [row[:5] for row in EXPECTED]


def test_without_a_block_size_blocks_say_nothing(tmp_path):
    """Unknown is unknown: no size, no blocks."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([{"when": 1700000000, "in": 40, "out": 2, "who": "a", "kv": [5, 6]}]))
    assert not read_trace(path, columns=MAP).recording.has_blocks


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"time": "when", "input": "in"}, "trace-column-missing"),
        ({"time": "when", "input": "in", "output": "absent"}, "trace-column-missing"),
        ({"time": "when", "input": "in", "output": "out", "colour": "out"}, "trace-column-unknown"),
        ({"time": "when", "input": "in", "output": "out", "blocks": "out"}, "trace-column-missing"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(columns, code, tmp_path):
    """The message names the file's own columns or the mapped one."""
    path = tmp_path / "log.csv"
    path.write_text("when,in,out\n2026-01-01 10:00:00,1,2\n")
    with pytest.raises(InputError) as refused:
        read_trace(path, columns=columns)
    assert refused.value.code == code


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet"])
def test_columns_called_input_and_output_need_no_map(name, tmp_path):
    """Numbers under the two shortest names there are."""
    path = tmp_path / name
    made = [{"timestamp": 10, "input": 40, "output": 2}, {"timestamp": 12, "input": 50, "output": 3}]
    if name.endswith("csv"):
        path.write_text("timestamp,input,output\n10,40,2\n12,50,3\n")
    elif name.endswith("jsonl"):
        path.write_text(jsonl(made))
    else:
        pq.write_table(pa.Table.from_pylist(made), path)
    found = read_trace(path, time_unit="s").recording
    assert (found.input_tokens.tolist(), found.output_tokens.tolist()) == ([40, 50], [2, 3])


@pytest.mark.parametrize(
    "row",
    [
        {"timestamp": 10, "input": "Why is the sky blue?", "output": "It is not."},
        {"timestamp": 10, "input": 40},
        {"timestamp": 10, "input": 40, "output_tokens": 40},
    ],
)
def test_texts_and_half_a_pair_are_not_taken_for_lengths(row, tmp_path):
    """What is ambiguous is asked for."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([row]))
    with pytest.raises(InputError, match="no column for ") as refused:
        read_trace(path)
    assert refused.value.code == "trace-column-missing"
