"""Files are read within bounds, whatever they are."""

import hashlib
import os

import pytest

from caveat.errors import InputError
from caveat.importers.mlperf import bounded_file
from caveat.importers.mlperf.bounded_file import read_head, read_small, scan_lines


def scanned(path, **bounds):
    taken = []
    return scan_lines(path, lambda number, line: taken.append((number, line)), **bounds), taken


def test_every_line_comes_with_its_number_and_the_hash_is_that_of_the_file(tmp_path):
    """A last line without an end is told."""
    content = b"one\r\n\ntwo \xff\nlast"
    path = tmp_path / "log"
    path.write_bytes(content)
    found, taken = scanned(path)
    assert taken == [(1, b"one\r\n"), (2, b"\n"), (3, b"two \xff\n"), (4, b"last")]
    assert (found.sha256, found.lines, found.ends_whole) == (hashlib.sha256(content).hexdigest(), 4, False)


def test_a_line_too_long_is_skipped_but_hashed(tmp_path, monkeypatch):
    """The lines around it are read, and the hash is still the file's."""
    monkeypatch.setattr(bounded_file, "MAX_LINE_BYTES", 16)
    content = b"short\n" + b"x" * 50 + b"\nafter\n" + b"y" * 16
    path = tmp_path / "log"
    path.write_bytes(content)
    found, taken = scanned(path)
    assert taken == [(1, b"short\n"), (3, b"after\n")]
    assert found.overlong == (2, 4)
    assert found.sha256 == hashlib.sha256(content).hexdigest()


def test_what_is_too_large_is_refused_unread(tmp_path):
    """The refusal names both sizes."""
    path = tmp_path / "log"
    path.write_bytes(b"x" * 2000)
    with pytest.raises(InputError, match=r"2,000 bytes, at most 1,000") as refused:
        scanned(path, max_bytes=1000)
    assert refused.value.code == "log-too-large"
    with pytest.raises(InputError):
        read_small(path, max_bytes=1000)
    assert read_head(path, 4) == b"xxxx"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: None, lambda path: path.symlink_to(path)])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, make):
    """A pipe would block for ever, a link to itself leads nowhere."""
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(InputError) as refused:
        read_small(path)
    assert refused.value.code == "file-unreadable"
