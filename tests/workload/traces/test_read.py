"""Every format gives the same requests; one bad line never stops a file; what is wrong is said with its line."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError, UsageError
from caveat.workload import TRACE_FORMATS, TraceStream, describe_trace, read_trace
from caveat.workload.traces.read import dense
from tests.workload.traces.samples import AZURE, FILES, MOONCAKE, SECOND, codes, jsonl, needs_traces, rows, written

TIMES = [0, 1_500_000_000, 2_750_000_000]
LENGTHS = [(1000, 5), (1600, 6), (500, 7)]


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_requests(name, tmp_path):
    """Time from the first request, in nanoseconds, and both lengths."""
    found = rows(read_trace(written(tmp_path, name)).recording)
    assert [row[0] for row in found] == TIMES
    assert [row[1:3] for row in found] == LENGTHS


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_recognised_by_its_beginning(name, tmp_path):
    """No name of a format is needed."""
    assert read_trace(written(tmp_path, name)).recording.source.format == name.split()[0]


@pytest.mark.parametrize("name", ["bailian", "bench-jsonl", "caveat"])
def test_conversations_are_kept_where_a_format_has_them(name, tmp_path):
    """The first two requests are turns of one conversation."""
    found = rows(read_trace(written(tmp_path, name)).recording)
    assert [row[3:5] for row in found] == [(0, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize(("name", "block_tokens"), [("mooncake", 512), ("bailian", 16), ("caveat", 512)])
def test_blocks_are_kept_where_a_format_has_them(name, block_tokens, tmp_path):
    """Equal ids stay equal; the format says how long a block is."""
    trace = read_trace(written(tmp_path, name)).recording
    assert trace.block_tokens == block_tokens
    shared = [row[5] for row in rows(trace)]
    assert shared[0] == shared[1][:2]
    assert [len(ids) for ids in shared] == [2, 4, 1]
    assert len({one for ids in shared for one in ids}) == 5


def test_the_unit_of_time_is_said_with_who_says_so(tmp_path):
    """Declared, in a name, from an epoch or written out."""
    said = {name: read_trace(written(tmp_path, name)).recording.source for name in FILES}
    assert {name: (source.time_unit, source.time_unit_how) for name, source in said.items()} == {
        "mooncake": ("ms", "declared by the format"),
        "bailian": ("s", "declared by the format"),
        "azure": ("ISO 8601", "written out"),
        "azure 2024": ("ISO 8601", "written out"),
        "burstgpt": ("s", "declared by the format"),
        "bench-jsonl": ("ms", "declared by the format"),
        "request-log": ("s", "from the size of the values, which are times since 1970"),
        "generic csv": ("ms", "from the column's name, 'arrival_ms'"),
        "generic jsonl": ("s", "from the column's name, 'start_time_s'"),
        "caveat": ("ns", "declared by the format"),
    }


def test_a_unit_that_nobody_says_is_refused(tmp_path):
    """A guess would be wrong by a factor of a thousand."""
    path = tmp_path / "mine.csv"
    path.write_text("time,input_tokens,output_tokens\n1,2,3\n5,2,3\n")
    with pytest.raises(InputError, match="unit of time") as refused:
        read_trace(path)
    assert "s, ms, us or ns" in refused.value.next
    assert read_trace(path, time_unit="ms").recording.t_ns.tolist() == [0, 4_000_000]


def test_a_bad_line_is_a_finding_and_the_rest_is_read(tmp_path):
    """Each fault has its code and its line."""
    good = {"timestamp": 5, "input_length": 100, "output_length": 5, "hash_ids": [1]}
    lines = [
        json.dumps(good),
        "{not json",
        json.dumps(good | {"input_length": -4}),
        json.dumps(good | {"timestamp": None}),
        json.dumps(good | {"output_length": "many"}),
        json.dumps(good | {"timestamp": 3}),
        json.dumps(good | {"output_length": 0, "timestamp": 6}),
        json.dumps(good | {"input_length": 0, "hash_ids": [], "timestamp": 7}),
        json.dumps(good | {"hash_ids": [1, 2, 3], "timestamp": 8}),
        "",
        '{"timestamp": 9, "input_length": 9, "output_length": 9, "hash_ids": [], "note": "\udcff"}',
        json.dumps([1, 2]),
        json.dumps(good | {"timestamp": 10, "input_length": 10**30}),
        "[" * 100_000,
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines), errors="surrogateescape")
    read = read_trace(path, format="mooncake")
    assert codes(read.problems) == {
        "line-malformed": [2, 12, 14],
        "not-utf8": [11],
        "time-missing": [4],
        "length-missing": [5],
        "length-impossible": [3, 13],
        "input-zero": [8],
        "output-zero": [7],
        "time-backwards": [6],
        "blocks-impossible": [9],
    }
    assert read.recording.t_ns.tolist() == [0, 2 * 10**6, 3 * 10**6, 4 * 10**6, 5 * 10**6, 6 * 10**6]
    assert np.diff(read.recording.prefix_ends, prepend=0).tolist() == [1, 1, 1, 0, 1, 0]


def test_a_bad_csv_line_is_a_finding_and_the_rest_is_read(tmp_path):
    """Missing cells, words for numbers, bytes that are no text."""
    path = tmp_path / "trace.csv"
    path.write_bytes(
        b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        b"2023-11-16 18:17:03.9799600,4808,10\r\n"
        b"2023-11-16 18:17:04.0319600,3180\r\n"
        b"yesterday,110,27\r\n"
        b"2023-11-16 18:17:05,many,27\r\n"
        b"\r\n"
        b"2023-11-16 18:17:06.9799600,\xff\xfe,27\r\n"
        b'2023-11-16 18:17:07.9799600,"12",0\r\n'
    )
    read = read_trace(path)
    assert codes(read.problems) == {
        "line-malformed": [3],
        "not-utf8": [7],
        "time-missing": [4],
        "length-missing": [5, 7],
        "output-zero": [8],
    }
    assert rows(read.recording) == [(0, 4808, 10, None, None, None), (4 * SECOND, 12, 0, None, None, None)]


def test_a_line_without_end_is_skipped_and_counted(tmp_path):
    """A line of 20 megabytes is not held; the one after it has the right number."""
    good = jsonl([{"timestamp": 0, "input_length": 1, "output_length": 1}])
    path = tmp_path / "trace.jsonl"
    path.write_text(good + "x" * (20 << 20) + "\n" + good + "{\n")
    read = read_trace(path)
    assert len(read.recording) == 2
    assert codes(read.problems)["line-too-long"] == [2]
    assert codes(read.problems)["line-malformed"] == [4]


def test_many_faults_are_counted_and_only_the_first_are_named(tmp_path):
    """A million bad lines are not a million records."""
    path = tmp_path / "trace.jsonl"
    path.write_text(jsonl([{"timestamp": 0, "input_length": 1, "output_length": 1}]) + "{\n" * 1000)
    problems = read_trace(path).problems
    assert [problem.line for problem in problems] == [2, 3, 4, 5, 6, None]
    assert "995 more" in problems[-1].message


def test_nothing_of_a_line_is_quoted(tmp_path):
    """A bad line may hold a prompt or a key."""
    secret = "sk-live-0123456789"
    path = tmp_path / "log.jsonl"
    path.write_text(
        jsonl([{"created": 1700000000, "usage": {"prompt_tokens": 4, "completion_tokens": 2}}])
        + f'{{"created": {secret}, "messages": [{{"content": "{secret}\n'
        + jsonl([{"created": secret, "usage": {"prompt_tokens": secret, "completion_tokens": 2}}])
    )
    read = read_trace(path)
    assert len(read.problems) >= 2
    assert secret not in repr(read)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "trace-empty"),
        ("\n\n", "trace-empty"),
        ('[{"timestamp": 1}]', "trace-format-unknown"),
        ('{"timestamp": 1, "input_length": 1}\n', "trace-column-missing"),
        ("a,b\n1,2\n", "trace-column-missing"),
        ("\x00\x01\x02", "trace-column-missing"),
        ('{"timestamp": null, "input_length": 1, "output_length": 1}\n', "trace-empty"),
    ],
)
def test_a_file_that_holds_no_request_is_refused(text, code, tmp_path):
    """With a code, and a next step."""
    path = tmp_path / "trace.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_trace(path)
    assert refused.value.code == code
    assert refused.value.next


def test_what_is_no_file_is_refused(tmp_path):
    """A folder, a pipe and nothing at all."""
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "absent"):
        with pytest.raises(InputError):
            read_trace(tmp_path / name)


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    """The message lists the table."""
    with pytest.raises(UsageError) as refused:
        read_trace(written(tmp_path, "mooncake"), format="excel")
    assert all(one.name in refused.value.message for one in TRACE_FORMATS)


def test_a_stream_gives_the_same_requests_piece_by_piece(tmp_path):
    """Pieces joined are the whole; the source knows the file when it has been read."""
    rows_written = [{"timestamp": 3 * n, "input_length": 1 + n % 7, "output_length": 2} for n in range(150_000)]
    path = tmp_path / "trace.jsonl"
    path.write_text(jsonl(rows_written))
    stream = TraceStream(path)
    parts = list(stream.blocks())
    whole = read_trace(path).recording
    assert len(parts) > 2
    assert max(len(part) for part in parts) < 60_000
    assert np.concatenate([part.t_ns for part in parts]).tolist() == whole.t_ns.tolist()
    assert stream.source().lines == 150_000
    assert stream.source().sha256 == whole.source.sha256


@given(
    st.sampled_from(sorted(FILES)),
    st.lists(
        st.tuples(st.integers(0, 400), st.sampled_from([b"", b"\n", b"\xff", b'"', b"{", b"-", b"9" * 30, b"\x00,"]))
    ),
    st.sampled_from([None, *(one.name for one in TRACE_FORMATS)]),
)
@settings(max_examples=150, deadline=None)
def test_damaged_files_are_read_or_refused(name, damage, format):
    """Whatever is put into a file, in whatever format it is read: requests, findings or an InputError."""
    data = FILES[name][1].encode()
    for place, junk in damage:
        data = data[:place] + junk + data[place + len(junk) :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / FILES[name][0]
        path.write_bytes(data)
        try:
            trace = read_trace(path, format=format).recording
        except InputError as error:
            assert error.next
        else:
            assert (np.diff(trace.t_ns) >= 0).all()
            assert trace.input_tokens.min() >= 0
            describe_trace(trace)


@given(st.lists(st.integers(0, 1 << 62), min_size=1, max_size=60))
def test_renumbered_ids_are_equal_where_the_ids_were(ids: list[int]):
    """And small, in the order in which they first appear."""
    found = dense(np.array(ids), always=True).tolist()
    order = list(dict.fromkeys(ids))
    assert found == [order.index(one) for one in ids]


@needs_traces
def test_the_public_conversation_trace_is_read_whole():
    """Counts from its description; the three-second grid of its clock is found."""
    read = read_trace(MOONCAKE)
    assert len(read.recording) == 12_031
    assert read.recording.source.grid_ns == 3 * SECOND
    assert len(read.recording.prefix_blocks) == 288_500
    assert codes(read.problems) == {"time-grid": [None], "rows-twice": [7733]}


@needs_traces
def test_the_public_azure_trace_is_read_whole():
    """100 ns digits are kept; nothing is wrong with it."""
    read = read_trace(AZURE)
    assert len(read.recording) == 19_366
    assert read.problems == ()
    assert rows(read.recording)[1] == (4_314_579_000, 396, 109, None, None, None)


def test_findings_are_in_order_and_say_times_for_people(tmp_path):
    """What is left out comes first; lines rise; four seconds are not four billion nanoseconds."""
    path = tmp_path / "mine.csv"
    path.write_text("time_s,input_tokens,output_tokens\n5,10,10\n1,10,10\n1,10,10\n1,10,10\n,3,3\n7,-3,3\n")
    problems = read_trace(path).problems
    assert [(problem.code, problem.line) for problem in problems] == [
        ("time-missing", 6),
        ("length-impossible", 7),
        ("time-backwards", 3),
        ("rows-twice", 4),
        ("rows-twice", 5),
    ]
    assert problems[2].found == "4 s before it"


def test_a_file_of_which_nothing_can_be_read_says_why_once(tmp_path):
    """Which length is missing, where, how often; and what to do."""
    path = tmp_path / "log.jsonl"
    path.write_text(jsonl([{"created": 1700000000 + n, "messages": []} for n in range(3)]))
    with pytest.raises(InputError) as refused:
        read_trace(path)
    assert "length-missing, 3 times, first in line 1 (no length at all)" in refused.value.message
    assert refused.value.next == "log the usage that the server reports, or map the columns that hold the lengths"


def test_a_format_beside_a_map_of_columns_is_refused(tmp_path):
    """One of them would be ignored."""
    with pytest.raises(UsageError, match="beside a map"):
        read_trace(written(tmp_path, "generic csv"), format="azure", columns={"input": "a", "output": "b"})
