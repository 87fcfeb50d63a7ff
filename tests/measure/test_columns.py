"""columns: samples are read from a table, a file or growing parts, and nothing else is taken for samples."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caveat.errors import InputError, NotFoundError
from caveat.measure import FORMAT, columns_of, schema
from tests.measure.samples import samples

TABLE = samples([0.0, 1.0, 2.0], 0.5, session=[7, None, 9], error_class=[None, "reset", None])


@pytest.fixture(params=["table", "path", "text", "chunked"])
def source(request, tmp_path):
    """The same three samples in every shape in which they may come."""
    path = tmp_path / "run.parquet"
    pq.write_table(TABLE, path, row_group_size=2)
    chunked = pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 2)])
    return {"table": TABLE, "path": path, "text": str(path), "chunked": chunked}[request.param]


def test_a_column_is_the_same_wherever_it_comes_from(source):
    """Numbers with NaN for null, presence, and equality with a word."""
    columns = columns_of(source)
    assert columns.rows == 3
    np.testing.assert_array_equal(columns.numbers("session"), [7, np.nan, 9])
    np.testing.assert_array_equal(columns.numbers("ready_ns"), [0, 1e9, 2e9])
    assert columns.present("error_class").tolist() == [False, True, False]
    assert columns.equal("error_class", "reset").tolist() == [False, True, False]
    assert columns_of(columns) is columns


def test_nanoseconds_of_a_run_of_weeks_stay_exact():
    """float64 holds whole numbers up to 2^53: a hundred days."""
    due = [2**53 - 1, 2**53 - 2]
    assert columns_of(samples([0, 0], 0.1, ready_ns=due)).numbers("ready_ns").tolist() == due


def test_no_samples_are_not_found(tmp_path):
    """The path is named."""
    with pytest.raises(NotFoundError, match="found no samples"):
        columns_of(tmp_path / "nothing.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x00" * 100, b"PAR1" + b"\xff" * 60 + b"PAR1"])
def test_a_file_that_is_no_parquet_is_refused(tmp_path, content):
    """Whatever stands in it, and without an error of the library."""
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match="found no Parquet file"):
        columns_of(path)


def test_a_file_that_is_damaged_inside_is_refused_when_it_is_read(tmp_path):
    """The end of the file is whole, a column in the middle is not."""
    path = tmp_path / "bad.parquet"
    pq.write_table(samples(np.random.default_rng(1).random(5000), 0.5), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4)
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        columns_of(path).numbers("ready_ns")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (TABLE.drop_columns(["end_ns"]), "found no column end_ns"),
        (TABLE.set_column(0, "request", pa.array(["a", "b", "c"])), "request: found string, expected int64"),
        (TABLE.replace_schema_metadata({"format": "caveat-samples/9\x1b[2J"}), "found format"),
    ],
)
def test_columns_of_another_kind_are_refused(table, complaint):
    """What was found, what was expected; hostile text is made printable."""
    with pytest.raises(InputError, match=complaint) as caught:
        columns_of(table)
    assert "\x1b" not in str(caught.value)


def test_a_table_without_metadata_and_with_more_columns_is_read():
    """Who makes samples by hand need not know the format's name, and may keep columns of their own."""
    table = TABLE.replace_schema_metadata(None).append_column("gpu", pa.array([1, 2, 3]))
    assert columns_of(table).rows == 3
    assert schema().metadata == {b"format": FORMAT.encode()}


def test_words_are_counted_in_the_rows_that_are_asked_for():
    """Null is counted as None."""
    table = samples(np.arange(5), 0.1, error_class=["refused", None, "refused", "http-500", None])
    found = columns_of(table).counts("error_class", np.array([True, True, True, False, False]))
    assert found == {"refused": 2, None: 1}
