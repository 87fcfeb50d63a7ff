"""Detail logs, clean and hostile."""

import hashlib

import pytest

from caveat.importers.mlperf.loadgen_detail import SHOWN_PROBLEMS, read_log_detail
from tests.importers.loadgen_files import detail_log, values


@pytest.fixture
def read(tmp_path):
    def reading(content: bytes):
        path = tmp_path / "mlperf_log_detail.txt"
        path.write_bytes(content)
        return read_log_detail(path, "shown.txt")

    return reading


def codes(log):
    return [found.code for found in log.problems]


def test_every_wanted_key_is_read_with_its_line(read):
    """Keys that lie (tokens per nanosecond, queries over a limit of zero) are not wanted."""
    said = values("Server")
    log = read(detail_log(said))
    traps = {"result_token_throughput", "result_overlatency_query_count"}
    assert dict(log.values) == {key: value for key, value in said.items() if key not in traps}
    assert log.lines["loadgen_version"] == 1
    assert log.problems == ()
    assert log.sha256 == hashlib.sha256(detail_log(said)).hexdigest()


def test_windows_ends_and_byte_order_marks_are_read_too(read):
    """The same values, whatever the editor did."""
    content = detail_log(values())
    assert read(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")).values == read(content).values


def test_of_a_repeated_key_the_first_counts(read):
    """As in the submission checker; that the log holds a second verdict is told."""
    log = read(detail_log(values()) + detail_log({"result_validity": "INVALID"}))
    assert log.text("result_validity") == "VALID"
    assert codes(log) == ["log-repeated"]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "-nan", "inf"])
def test_numbers_that_are_none_are_not_recorded(read, value):
    """LoadGen prints them bare, which is no JSON; the file is not broken by it."""
    line = f':::MLLOG {{"key": "result_mean_latency_ns", "value": {value}, "metadata": {{}}}}\n'
    log = read(detail_log(values(result_mean_latency_ns=None)) + line.encode())
    assert "result_mean_latency_ns" not in log.values
    assert codes(log) == ["value-impossible"]
    assert log.problems[0].found == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("result_completed_tokens_per_second", 0),
        ("result_completed_tokens_per_second", -5),
        ("result_time_to_output_token_max", 2**64 - 1),
        ("result_first_token_min_latency_ns", 0),
        ("result_mean_latency_ns", "fast"),
        ("result_query_count", -1),
        ("result_query_count", 1.5),
        ("effective_qsl_rng_seed", 2**70),
        ("result_validity", True),
        ("result_min_duration_met", "yes"),
    ],
)
def test_values_that_cannot_be_are_not_recorded(read, key, value):
    """Zero, negative, overflowing and of the wrong kind: a problem with its line, never a value."""
    log = read(detail_log(values("Server", **{key: value})))
    assert key not in log.values
    assert codes(log) == ["value-impossible"]
    assert log.problems[0].line == list(values("Server", **{key: value})).index(key) + 1


def test_logged_errors_are_kept_and_counted(read):
    """Even without LoadGen's own count, and even where the text of an error breaks its line."""
    broken = b':::MLLOG {"key": "error_runtime", "value": "say "no"", "metadata": {"is_error": true}}\n'
    log = read(detail_log(values(num_errors=None), errors=("n_tokens is 0", "\x1b[31mred")) + broken)
    assert log.count("num_errors") == 3
    assert [error.text for error in log.errors[:2]] == ["n_tokens is 0", "red"]


def test_an_error_that_comes_once_is_not_lost_among_thousands_of_another_kind(read):
    """Errors that differ in their numbers only are one kind; all are counted."""
    texts = (*(f"no first token for sample {at}" for at in range(1000)), "the run was aborted")
    log = read(detail_log(values(), errors=texts))
    assert log.count("num_errors") == 1001
    assert [error.text for error in log.errors] == ["no first token for sample 0", "the run was aborted"]


def test_foreign_lines_are_problems_and_few_of_them_are_shown(read):
    """A thousand bad lines make a handful of problems, and the rest of the log counts."""
    log = read(b"garbage\n" * 1000 + detail_log(values()))
    assert codes(log) == ["log-malformed-line"] * (SHOWN_PROBLEMS + 1)
    assert log.problems[-1].message.endswith("997 more such lines")
    assert log.text("result_validity") == "VALID"


def test_a_log_that_breaks_off_says_so(read):
    """The last line has no end and is no record."""
    content = detail_log(values())
    log = read(content[:-40])
    assert codes(log) == ["log-truncated"]
    assert log.problems[0].line == content.count(b"\n")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "log-empty"),
        (b"\n\n", "log-empty"),
        (bytes(range(256)) * 20, "log-empty"),
        (detail_log(values()).decode().encode("utf-16"), "log-empty"),
        (b':::ENDPTS {"key": "x", "value": 1}\n', "log-empty"),
    ],
)
def test_what_is_no_log_is_empty_of_records(read, content, code):
    """Binary files, other encodings and other tools' lines hold no record of LoadGen."""
    log = read(content)
    assert codes(log) == [code]
    assert log.values == {}


def test_one_line_that_is_not_utf8_or_too_deep_is_one_problem(read):
    """The other lines are read."""
    bad = b':::MLLOG {"key": "loadgen_version", "value": "\xff\xfe", "metadata": {}}\n'
    deep = b':::MLLOG {"key": "test_datetime", "value": ' + b"[" * 50_000 + b"\n"
    log = read(bad + deep + detail_log(values(loadgen_version=None, test_datetime=None)))
    assert sorted(codes(log)) == ["log-malformed-line", "log-not-utf8"]
    assert log.number("result_completed_samples_per_sec") == 99.5


def test_a_missing_file_is_a_problem(tmp_path):
    """Reading never raises."""
    assert codes(read_log_detail(tmp_path / "none.txt", "shown.txt")) == ["file-unreadable"]
