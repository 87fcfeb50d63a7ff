"""The table of formats, and how a file is recognised."""

import pytest

from caveat.errors import UsageError
from caveat.figures import dump
from caveat.importers.formats import FORMATS, format_named, format_of
from tests.builders import published_run
from tests.importers.tables import checker_table, results_table


def name_of(path):
    known = format_of(path)
    return known.name if known else None


def test_names_are_unique_and_described():
    """What `--as` takes and what errors list."""
    names = [one.name for one in FORMATS]
    assert names == ["caveat-run", "mlperf-summary-json", "mlperf-summary-csv", "mlperf-tree"]
    assert all(one.description and one.description[0].islower() for one in FORMATS)
    assert [format_named(name) for name in names] == list(FORMATS)


def test_an_unknown_name_lists_the_known_ones():
    """The next step is in the error."""
    with pytest.raises(UsageError) as caught:
        format_named("excel")
    assert "mlperf-summary-csv" in caught.value.next


def test_files_are_recognised_by_content_whatever_their_names(tmp_path):
    """Names are a matter of taste."""
    run = tmp_path / "a.txt"
    run.write_bytes(dump(published_run()))
    log = tmp_path / "b.log"
    log.write_text("================\nMLPerf Results Summary\n================\n")
    detail = tmp_path / "c.log"
    detail.write_text(':::MLLOG {"key": "x"}\n')
    table = checker_table(tmp_path, name="d")
    results = results_table(tmp_path, name="e")
    assert [name_of(path) for path in (run, log, detail, table, results, tmp_path)] == [
        "caveat-run",
        "mlperf-tree",
        "mlperf-tree",
        "mlperf-summary-csv",
        "mlperf-summary-json",
        "mlperf-tree",
    ]


def test_a_byte_order_mark_hides_nothing(tmp_path):
    """As spreadsheets write it."""
    for path in (checker_table(tmp_path), results_table(tmp_path)):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert name_of(path) in ("mlperf-summary-csv", "mlperf-summary-json")


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"hello", b"\x00" * 1000, b"a,b,c\n1,2,3", b'"' * 99, b"\xff\xfe"]
)
def test_other_files_are_not_taken(tmp_path, content):
    """Nothing is guessed."""
    path = tmp_path / "x"
    path.write_bytes(content)
    assert format_of(path) is None


def test_what_is_no_file_is_not_opened(tmp_path):
    """A pipe would block, a link may lead nowhere."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    assert format_of(link) is None
    assert format_of(tmp_path / "missing") is None
