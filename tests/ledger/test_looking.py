"""Looking again: what is noticed at which price, and what a folder changed a moment ago is believed."""

import os

import pytest

from caveat.ledger import looking
from caveat.ledger.looking import Folder, look
from caveat.ledger.store import scan, write_runs
from tests.builders import published_run

RUNS = tuple(published_run(float(value)) for value in range(1, 7))
RUN = RUNS[0]
PREFIX = RUN.id[:2]


@pytest.fixture
def root(tmp_path):
    write_runs(tmp_path, RUNS)
    return tmp_path


@pytest.fixture
def large(monkeypatch):
    """Every ledger counts as one of very many documents."""
    monkeypatch.setattr(looking, "LOOKED_AT_EACH_TIME", -1)


def path_of(root, run):
    return root / "runs" / run.id[:2] / f"{run.id}.json"


def settled(root):
    """The folders as they are seen long after their last change."""
    for folder in (root / "runs").iterdir():
        os.utime(folder, ns=(1, 1))
    seen = look(root, {}).folders
    return {prefix: Folder(f.times, True, f.count, f.digest, f.unread, f.temporary) for prefix, f in seen.items()}


def test_the_first_look_finds_every_document(root):
    """As a listing does."""
    seen = look(root, {})
    assert (
        tuple(sorted((e for entries in seen.documents.values() for e in entries), key=lambda e: e.id))
        == scan(root).documents
    )
    assert sum(folder.count for folder in seen.folders.values()) == len(RUNS)


def test_nothing_is_there_where_nothing_is(tmp_path):
    """An absent ledger does not differ from an empty one."""
    assert not look(tmp_path / "none", {}).differs({})


@pytest.mark.parametrize("of", ["small", "large"])
def test_what_did_not_change_does_not_differ(root, of, request):
    """Twice the same."""
    if of == "large":
        request.getfixturevalue("large")
    before = settled(root)
    again = look(root, before)
    assert again.documents == {}
    assert {prefix: folder.digest for prefix, folder in again.folders.items()} == {
        prefix: folder.digest for prefix, folder in before.items()
    }


def added(root):
    os.link(path_of(root, RUN), root / "runs" / PREFIX / f"{PREFIX}{'0' * 38}.json")


def removed(root):
    path_of(root, RUN).unlink()


def put_in_its_place(root):
    new = root / "new"
    new.write_bytes(b"{}")
    new.replace(path_of(root, RUN))


def whole_folder_removed(root):
    removed(root)
    for path in (root / "runs" / PREFIX).iterdir():
        path.unlink()
    (root / "runs" / PREFIX).rmdir()


@pytest.mark.parametrize("change", [added, removed, put_in_its_place, whole_folder_removed])
def test_what_came_went_or_was_replaced_is_noticed_in_a_large_ledger(root, large, change):
    """As git and careful editors do it: the folder's times say so, and no other folder is listed."""
    before = settled(root)
    change(root)
    assert set(look(root, before).documents) == {PREFIX}


def written_over(root):
    path_of(root, RUN).write_bytes(b"{}")


def test_a_file_written_over_is_noticed_in_a_small_ledger_and_where_asked_in_a_large_one(root, monkeypatch):
    """Its folder's times do not change: of a large ledger it is noticed when it is read."""
    before = settled(root)
    written_over(root)
    assert set(look(root, before).documents) == {PREFIX}
    monkeypatch.setattr(looking, "LOOKED_AT_EACH_TIME", -1)
    assert look(root, before).documents == {}
    assert set(look(root, before, at=[PREFIX]).documents) == {PREFIX}


def test_a_folder_with_an_unread_document_is_looked_at_each_time(root, large):
    """Whoever puts the document right by copying over it finds it again."""
    before = settled(root)
    folder = before[PREFIX]
    before[PREFIX] = Folder(folder.times, True, folder.count, folder.digest, unread=True)
    seen = look(root, before)
    assert (seen.documents, seen.folders[PREFIX].unread) == ({}, True)
    written_over(root)
    seen = look(root, before)
    assert (set(seen.documents), seen.folders[PREFIX].unread) == ({PREFIX}, False)


def test_a_folder_changed_a_moment_ago_is_listed_again(root, large):
    """A second change within one tick of the clock would leave its times as they are."""
    fresh = look(root, {})
    assert not any(folder.settled for folder in fresh.folders.values())
    before = {p: Folder(f.times, f.settled, f.count, "of another listing") for p, f in fresh.folders.items()}
    assert set(look(root, before).documents) == set(before)
    assert look(root, {p: Folder(f.times, True, f.count, f.digest) for p, f in before.items()}).documents == {}


def test_temporary_files_of_writers_are_remembered(root):
    """For the next writer, who removes those that are old."""
    (root / "runs" / PREFIX / ".tmp-dead").write_bytes(b"half")
    assert look(root, {}).folders[PREFIX].temporary == (f"runs/{PREFIX}/.tmp-dead",)
