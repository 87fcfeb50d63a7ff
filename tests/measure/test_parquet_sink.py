"""parquet sink: what was measured is on disk while the run goes, and stays there if the run is killed."""

import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from caveat.errors import InputError, RefusedError
from caveat.measure import ParquetSink, columns_of, schema
from caveat.measure import parquet_sink as module
from caveat.measure.parts import folder_of, part_path, rows_of, standing_parts, write_rows
from tests.measure.samples import samples

PATIENCE_S = 20  # for a thread or a process that is always quick; a bound, not a measure


def batch(first: int, count: int):
    (one,) = samples(range(first, first + count), 0.5, request=range(first, first + count)).to_batches()
    return one


def wait_for(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def test_all_rows_are_there_in_order_after_close(tmp_path):
    """One file of the schema, no parts beside it; closing twice does no harm."""
    path = tmp_path / "run.parquet"
    sink = ParquetSink(path)
    for first in range(0, 1000, 100):
        sink.take(batch(first, 100))
    sink.close()
    sink.close()
    assert columns_of(path).numbers("request").tolist() == list(range(1000))
    found = pq.read_schema(path)
    assert (found.names, found.metadata) == (schema().names, schema().metadata)
    assert found.field("ready_ns").metadata[b"meaning"].startswith(b"when it could be sent")
    assert [one.name for one in tmp_path.iterdir()] == ["run.parquet"]


def test_a_run_that_took_nothing_is_an_empty_file(tmp_path):
    """It can be read; there is nothing in it."""
    path = tmp_path / "run.parquet"
    ParquetSink(path).close()
    assert columns_of(path).rows == 0


def test_rows_can_be_read_while_the_run_goes(tmp_path):
    """By the name that the file will have."""
    path = tmp_path / "run.parquet"
    sink = ParquetSink(path, every_s=0.01)
    sink.take(batch(0, 10))
    wait_for(lambda: columns_of(path).rows == 10)
    sink.take(batch(10, 10))
    wait_for(lambda: columns_of(path).rows == 20)
    sink.close()
    assert columns_of(path).rows == 20


KILLED = """
import os, signal, sys
from pathlib import Path
from caveat.measure import ParquetSink, columns_of
from tests.measure.test_parquet_sink import batch, wait_for
path = Path(sys.argv[1])
sink = ParquetSink(path, every_s=0.05)
for first in range(0, 500, 100):
    sink.take(batch(first, 100))
    wait_for(lambda: columns_of(path).rows == first + 100)
sink.take(batch(500, 100))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_9_keeps_all_but_the_last_moment(tmp_path):
    """A process kills itself without warning: what was flushed can be read, and nothing is half there."""
    path = tmp_path / "run.parquet"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    found = columns_of(path).numbers("request").tolist()
    assert found in (list(range(500)), list(range(600)))


def test_many_parts_become_one_and_no_row_is_seen_twice(tmp_path, monkeypatch):
    """Merged parts stay for readers that listed them, and are left out by those that list now."""
    monkeypatch.setattr(module, "MERGED_AT", 3)
    path = tmp_path / "run.parquet"
    sink = ParquetSink(path, every_s=0.005)
    for first in range(0, 80, 10):
        sink.take(batch(first, 10))
        wait_for(lambda seen=first + 10: columns_of(path).rows == seen)
    assert columns_of(path).numbers("request").tolist() == list(range(80))
    wait_for(lambda: any(one.name == "00000003-00000005.parquet" for one in folder_of(path).iterdir()))
    wait_for(lambda: not part_path(folder_of(path), (0, 0)).exists())
    sink.close()
    assert columns_of(path).numbers("request").tolist() == list(range(80))


def test_a_merge_that_was_cut_short_leaves_nothing_double(tmp_path):
    """A merged part beside all that it replaced, and a torn temporary file: each row is there once."""
    for place in range(3):
        write_rows([samples([place], 0.5)], part_path(tmp_path, (place, place)))
    write_rows(rows_of([part_path(tmp_path, (place, place)) for place in range(2)]), part_path(tmp_path, (0, 1)))
    (tmp_path / ".00000003-00000003.parquet.growing").write_bytes(b"PAR1")
    (tmp_path / "notes-of-mine.parquet").write_bytes(b"?")
    assert [one.name for one in standing_parts(tmp_path)] == ["00000000-00000001.parquet", "00000002-00000002.parquet"]
    assert columns_of(tmp_path).numbers("ready_ns").tolist() == [0, 1e9, 2e9]


@pytest.mark.parametrize("there", ["run.parquet", "run.parquet.parts"])
def test_samples_that_stand_already_are_never_overwritten(tmp_path, there):
    """Neither a finished file nor the parts of a killed run."""
    (tmp_path / there).mkdir()
    with pytest.raises(RefusedError, match="found samples already"):
        ParquetSink(tmp_path / "run.parquet")


def test_a_batch_of_other_columns_is_refused(tmp_path):
    """At once, by the thread that hands it over."""
    sink = ParquetSink(tmp_path / "run.parquet")
    with pytest.raises(InputError, match="expected those of caveat-samples/1"):
        sink.take(batch(0, 1).select(["request"]))
    sink.close()


def test_a_disk_that_refuses_is_told_to_whoever_hands_over_the_next_rows(tmp_path):
    """The writing thread has nobody to raise to: the next take and the close raise for it."""
    path = tmp_path / "run.parquet"
    sink = ParquetSink(path, every_s=0.005)
    folder_of(path).rmdir()
    sink.take(batch(0, 1))
    with pytest.raises(InputError, match="samples cannot be written"):
        wait_for(lambda: sink.take(batch(1, 1)))
    with pytest.raises(InputError, match="samples cannot be written"):
        sink.close()
