"""The folder of documents: complete or absent, never through a link, whoever dies in between."""

import fcntl
import os

import pytest

from caveat.errors import DocumentError, LedgerError
from caveat.figures import dump
from caveat.ledger.store import (
    LARGEST_DOCUMENT,
    Entry,
    Listing,
    locked,
    locked_if_free,
    read_bytes,
    read_run,
    remove_left_behind,
    scan,
    write_runs,
)
from tests.builders import published_run

RUN = published_run()
NAME = f"runs/{RUN.id[:2]}/{RUN.id}.json"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "ledger"


def place(root, name, content=b""):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_what_is_written_is_listed_and_read_back(root):
    """One file a run, in the folder of its first two digits, as figures dumps it."""
    write_runs(root, [RUN])
    listing = scan(root)
    assert [(entry.id, entry.name) for entry in listing.documents] == [(RUN.id, NAME)]
    assert read_run(root, listing.documents[0]) == (RUN, dump(RUN))
    assert (listing.strangers, listing.temporary) == ((), ())


def test_the_files_that_were_written_are_told(root):
    """As a listing finds them afterwards."""
    assert write_runs(root, [RUN]) == dict(zip(scan(root).documents, [RUN], strict=True))


def test_a_document_that_was_touched_is_not_what_it_was(root):
    """Whoever knew it by size and time learns that it may be another."""
    write_runs(root, [RUN])
    (entry,) = scan(root).documents
    assert read_bytes(root, entry, untouched=True) == dump(RUN)
    os.utime(root / NAME, ns=(1, 1))
    assert read_bytes(root, entry) == dump(RUN)
    with pytest.raises(DocumentError, match="was changed while it was read") as caught:
        read_bytes(root, entry, untouched=True)
    assert caught.value.code == "touched"


def test_the_lock_is_taken_only_if_it_is_free(root):
    """And somebody who does not wait does not hinder."""
    with locked(root), locked_if_free(root) as mine:
        assert not mine
    with locked_if_free(root) as mine:
        assert mine
    place(root.parent, "file")
    with locked_if_free(root.parent / "file") as mine:
        assert not mine


def test_progress_counts_documents(root):
    """(written, to write), in order."""
    said = []
    write_runs(root, [published_run(value) for value in (1.0, 2.0, 3.0)], lambda done, of: said.append((done, of)))
    assert said == [(1, 3), (2, 3), (3, 3)]


def test_an_absent_folder_is_an_empty_ledger(root):
    """Looking makes nothing."""
    assert scan(root) == Listing()
    assert not root.exists()


def test_the_stamp_changes_with_the_documents_only(root):
    """A new document or a touched one changes it, a stray file does not."""
    write_runs(root, [RUN])
    before = scan(root).stamp
    place(root, "runs/README.md")
    assert scan(root).stamp == before
    os.utime(root / NAME, ns=(1, 1))
    touched = scan(root).stamp
    write_runs(root, [published_run(2.0)])
    assert len({before, touched, scan(root).stamp}) == 3


def test_what_is_no_document_is_a_stranger(root, tmp_path):
    """Links, folders, misplaced documents and other files are named with a reason, and hidden files left alone."""
    write_runs(root, [RUN])
    other = published_run(2.0)
    misplaced = place(root, f"runs/{RUN.id[:2]}/{'0' * 40 if RUN.id[:2] != '00' else '1' * 40}.json")
    elsewhere = place(tmp_path, "elsewhere/x.json", dump(other))
    link = root / "runs" / RUN.id[:2] / f"{RUN.id[:2]}{'a' * 38}.json"
    link.symlink_to(elsewhere)
    os.mkfifo(link.with_name(f"{RUN.id[:2]}{'b' * 38}.json"))
    folder = "zz" if RUN.id[:2] != "zz" else "yy"
    (root / "runs" / folder).symlink_to(elsewhere.parent)
    place(root, "runs/.gitkeep")
    listing = scan(root)
    assert [entry.id for entry in listing.documents] == [RUN.id]
    assert dict(listing.strangers) == {
        str(misplaced.relative_to(root)): "not where a document stands",
        str(link.relative_to(root)): "not a plain file",
        f"runs/{RUN.id[:2]}/{RUN.id[:2]}{'b' * 38}.json": "not a plain file",
        f"runs/{folder}": "not a folder of documents",
    }


@pytest.mark.parametrize("name", ["", "runs"])
def test_a_file_in_the_place_of_a_folder_is_refused(root, name):
    """The error names the ledger and the way out."""
    place(root.parent, f"ledger/{name}".rstrip("/"), b"x")
    for use in (lambda: scan(root), lambda: write_runs(root, [RUN])):
        with pytest.raises(LedgerError, match="cannot be used") as caught:
            use()
        assert "CAVEAT_LEDGER" in caught.value.next


@pytest.mark.parametrize("name", ["runs", f"runs/{RUN.id[:2]}"])
def test_nothing_is_written_through_a_link(root, tmp_path, name):
    """A planted link does not carry documents elsewhere."""
    target = tmp_path / "target"
    target.mkdir()
    (root / name).parent.mkdir(parents=True)
    (root / name).symlink_to(target)
    with pytest.raises(LedgerError):
        write_runs(root, [RUN])
    assert list(target.iterdir()) == []


def test_a_link_in_the_place_of_a_document_is_replaced_not_followed(root, tmp_path):
    """The file behind it stays as it was."""
    victim = place(tmp_path, "victim", b"mine")
    (root / NAME).parent.mkdir(parents=True)
    (root / NAME).symlink_to(victim)
    write_runs(root, [RUN])
    assert victim.read_bytes() == b"mine"
    assert (root / NAME).read_bytes() == dump(RUN)


@pytest.mark.parametrize("name", [".index", ".index/lock"])
def test_the_lock_is_not_taken_through_a_link(root, tmp_path, name):
    """Neither the folder of the index nor the lock may point elsewhere."""
    (root / name).parent.mkdir(parents=True)
    (root / name).symlink_to(tmp_path / "planted")
    with pytest.raises(LedgerError), locked(root):
        pass
    assert not (tmp_path / "planted").exists()


def test_the_index_folder_is_hidden_from_git(root):
    """A ledger may live in git; its index must not."""
    with locked(root):
        assert (root / ".index" / ".gitignore").read_bytes() == b"*\n"


def test_a_document_that_was_changed_is_not_read(root):
    """The hash of the content must be the name."""
    write_runs(root, [RUN])
    (entry,) = scan(root).documents
    (root / NAME).write_bytes(dump(RUN).replace(b"103275", b"903275"))
    with pytest.raises(DocumentError, match="content was changed") as caught:
        read_run(root, entry)
    assert NAME in caught.value.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a caveat-run/1 document"),
        (b"\x00\xff\x00", "not a caveat-run/1 document"),
        (b"[" * 100_000, "not a caveat-run/1 document"),
        (b" " * (LARGEST_DOCUMENT + 1), "more than 16,777,216 bytes"),
    ],
    ids=["empty", "binary", "deep", "huge"],
)
def test_a_broken_document_is_named(root, content, message):
    """Whatever lies in the file, the error says which file."""
    place(root, NAME, content)
    with pytest.raises(DocumentError, match=message) as caught:
        read_run(root, Entry(RUN.id, len(content), 0))
    assert NAME in caught.value.message


def test_a_full_disk_leaves_nothing_half_written(root, monkeypatch):
    """The error counts what was written; no temporary file stays."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("caveat.ledger.store.os.replace", full)
    with pytest.raises(LedgerError, match=r"No space left on device \(0 of 1 documents written\)"):
        write_runs(root, [RUN])
    assert scan(root) == Listing()


def test_old_temporary_files_are_removed_and_young_ones_left(root):
    """A killed writer's files go, a living one's stay, and neither is a document."""
    old, young = (place(root, f"runs/{RUN.id[:2]}/.tmp-{name}", b"half") for name in ("old", "young"))
    os.utime(old, ns=(0, 0))
    listing = scan(root)
    assert len(listing.temporary) == 2
    assert listing.documents == ()
    remove_left_behind(root, listing.temporary)
    assert (old.exists(), young.exists()) == (False, True)


def test_a_lock_whose_file_went_away_locks_nothing(root, monkeypatch):
    """Who waited for a file that was removed and made anew takes the new one."""
    real, calls = fcntl.flock, []

    def flock(handle, operation):
        real(handle, operation)
        calls.append(handle)
        if len(calls) == 1:
            (root / ".index" / "lock").unlink()
            (root / ".index" / "lock").touch()

    monkeypatch.setattr("caveat.ledger.store.fcntl.flock", flock)
    with locked(root):
        assert len(calls) == 2
        assert (root / ".index" / "lock").stat().st_ino == os.fstat(calls[1]).st_ino
