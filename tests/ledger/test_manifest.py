"""The manifest: what is believed of it, and what goes when it is replaced."""

import msgspec
import pytest

from caveat import __version__
from caveat.ledger import manifest
from caveat.ledger.index import COLUMNS
from caveat.ledger.looking import Folder
from caveat.ledger.manifest import Manifest, Part, part_path, read_manifest, write_manifest, write_part

FOLDERS = {"ab": Folder((1, 2), True, 3, "00", True, ("runs/ab/.tmp-1",))}


@pytest.fixture
def kept(tmp_path):
    found = Manifest((write_part(tmp_path, b"PAR1", 3),), FOLDERS)
    write_manifest(tmp_path, found)
    return found


def write(root, content):
    (root / ".index" / "manifest").write_bytes(content)


def test_it_reads_back(tmp_path, kept):
    """Parts and folders."""
    assert read_manifest(tmp_path) == kept
    assert part_path(tmp_path, kept.parts[0]).read_bytes() == b"PAR1"


def test_without_one_nothing_is_known(tmp_path):
    """And nothing is made."""
    assert read_manifest(tmp_path) == Manifest()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"null", b'{"parts": [["x", "y"]]}'])
def test_a_broken_one_is_none(tmp_path, kept, content):
    """Whatever stands in it."""
    write(tmp_path, content)
    assert read_manifest(tmp_path) == Manifest()


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "caveat-index/3"},
        {"columns": "of another version"},
        {"parts": (Part("../runs/ab.parquet", 1),)},
        {"parts": (Part("0" * 32 + ".parquet", 1),)},
        {"folders": {"../..": FOLDERS["ab"]}},
    ],
    ids=["of the future", "other columns", "a path", "a part that is not there", "a folder elsewhere"],
)
def test_one_that_does_not_fit_is_none(tmp_path, kept, changes):
    """Other formats and columns, and names that are none of ours."""
    write(tmp_path, msgspec.json.encode(msgspec.structs.replace(kept, **changes)))
    assert read_manifest(tmp_path) == Manifest()


@pytest.mark.parametrize("name", ["manifest", "part", ".index"])
def test_nothing_is_read_through_a_link(tmp_path, kept, name):
    """A planted link is not followed."""
    path = {"manifest": tmp_path / ".index" / "manifest", "part": part_path(tmp_path, kept.parts[0])}.get(
        name, tmp_path / name
    )
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert read_manifest(tmp_path) == Manifest()


def test_what_it_does_not_name_goes(tmp_path, kept):
    """Parts of killed writers, temporary files, and the index of an older version of the package."""
    old = [tmp_path / ".index" / name for name in ("1-00.parquet", f"{'0' * 32}.parquet", ".tmp-dead")]
    for path in old:
        path.write_bytes(b"old")
    write_manifest(tmp_path, kept)
    assert sorted(path.name for path in (tmp_path / ".index").iterdir()) == sorted(
        (".gitignore", "manifest", kept.parts[0].name)
    )


def test_another_version_has_other_columns():
    """What one version could not read another may: it reads again."""
    assert msgspec.json.encode((__version__, COLUMNS))
    assert len(manifest.COLUMNS_DIGEST) == 32
