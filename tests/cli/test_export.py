"""caveat export: a whole document on standard output or in a file."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger, parse_where
from caveat.publish import EXPORT_FORMS, export
from tests.cli.acme import derived_run

WHERE = ("-w", "submitter=Acme")


def expected(form: str) -> bytes:
    return export(Ledger().figures([parse_where("submitter=Acme")]), form)


@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_standard_output_is_the_document(acme, form):
    """Byte for byte, so that it can be piped."""
    done = subprocess.run(
        [sys.executable, "-m", "caveat", "export", "-f", form, *WHERE], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (EXIT_YES, expected(form), b"")


@pytest.mark.parametrize("form", EXPORT_FORMS)
def test_a_file_is_the_document(caveat, acme, tmp_path, form):
    """Readable by those who may read files of this user; what was written is said on standard error."""
    path = tmp_path / f"acme.{form}"
    done = caveat("export", "-f", form, *WHERE, "-o", path)
    assert (done.code, done.out) == (EXIT_YES, "")
    assert done.err == f"5 figures, {len(expected(form)):,} bytes: {path}\n"
    assert path.read_bytes() == expected(form)
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, "ledger"}
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_json_about_a_file(caveat, acme, tmp_path):
    """One object on standard output."""
    path = tmp_path / "acme.csv"
    assert caveat("export", "-f", "csv", *WHERE, "-o", path, "--json").json == {
        "format": "caveat-exported/1",
        "figures": 5,
        "file": str(path),
        "bytes": len(expected("csv")),
    }
    assert caveat("export", *WHERE, "--json").json["format"] == "caveat-export/1"


@pytest.mark.parametrize("form", ["csv", "parquet", "markdown"])
def test_one_output_holds_one_document(caveat, acme, form):
    """--json and another form want the same place."""
    done = caveat("export", "-f", form, "--json")
    assert (done.code, done.json["error"]["next"]) == (EXIT_USAGE, "give a file with --output")


def test_an_unknown_form_is_usage(caveat, acme):
    """With those there are."""
    assert "one of json, csv, parquet, markdown" in caveat("export", "-f", "xlsx").err


def test_no_figure_is_no(caveat, acme, tmp_path):
    """An empty document, exit 1."""
    done = caveat("export", "-w", "submitter=Nobody")
    assert (done.code, done.json) == (EXIT_NO, {"format": "caveat-export/1", "figures": []})


def test_a_derived_figure_is_refused(caveat, tmp_path):
    """And the file that was there stays."""
    Ledger().add([derived_run()])
    path = tmp_path / "claims.json"
    path.write_text("before")
    done = caveat("export", *WHERE, "-o", path, "--json")
    assert (done.code, done.json["error"]["code"]) == (EXIT_NO, "refused")
    assert path.read_text() == "before"


def test_a_file_is_replaced_whole_or_not_at_all(caveat, acme, tmp_path, monkeypatch):
    """Where writing fails the old content stays and nothing is left beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "figures.json").write_text("before")

    def fail(self, mode):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "chmod", fail)
    done = caveat("export", *WHERE, "-o", folder / "figures.json")
    assert (done.code, done.err) == (EXIT_INPUT, "caveat: No space left on device\n")
    assert [entry.name for entry in folder.iterdir()] == ["figures.json"]
    assert (folder / "figures.json").read_text() == "before"


def test_a_link_is_followed_and_a_device_is_written_to(caveat, acme, tmp_path):
    """Neither is replaced by a file."""
    (tmp_path / "real.json").write_text("before")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    assert caveat("export", *WHERE, "-o", tmp_path / "link.json").code == EXIT_YES
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == expected("json")
    assert caveat("export", *WHERE, "-o", "/dev/null").code == EXIT_YES
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_place_that_is_none_is_an_input_error(caveat, acme, tmp_path):
    """A folder that is not there, or a folder where a file is meant."""
    done = caveat("export", "-o", tmp_path / "no" / "where.json")
    assert (done.code, done.err) == (
        EXIT_INPUT,
        f"caveat: there is no folder {tmp_path}/no to write into\n  next: mkdir -p {tmp_path}/no\n",
    )
    assert "is a folder, expected a file" in caveat("export", "-o", tmp_path).err


def test_the_shipped_set_exports_whole(caveat, tmp_path):
    """README: `caveat export --format csv --where round=v6.1 --output v6.1.csv`."""
    done = caveat("export", "--format", "csv", "--where", "round=v6.1", "--output", tmp_path / "v6.1.csv")
    figures = Ledger().figures([parse_where("round=v6.1")])
    assert done.err.startswith(f"{len(figures)} figures, ")
