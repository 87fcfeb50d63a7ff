"""caveat record: a folder becomes a run of the ledger, once, with its samples."""

import shutil

import msgspec
import pytest

from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_YES
from caveat.ledger import Ledger
from caveat.loadgen.folder import SAMPLES
from tests.loadgen.folders import HEALTH, SUBJECT, made_folder, text_of


def test_a_folder_from_elsewhere_is_kept_with_its_samples(caveat, tmp_path):
    """Copied where its figures find it; the second time nothing is added, wherever the folder stands by then."""
    folder = made_folder(tmp_path / "vendor-run")
    first = caveat("record", folder, "--json")
    assert first.code == EXIT_YES
    assert first.json["ledger"] == "added to the ledger"
    home = Ledger().path / SUBJECT
    assert sorted(path.name for path in home.iterdir()) == ["notes.json", SAMPLES, "spec.json"]
    (run,) = Ledger(shipped=False).runs()
    assert (run.id, run.samples) == (first.json["runs"][0]["id"], f"{SUBJECT}/{SAMPLES}")
    shutil.move(folder, tmp_path / "moved")
    for place in (tmp_path / "moved", home):
        again = caveat("record", place, "--json")
        assert (again.code, again.json["runs"][0]["id"]) == (EXIT_YES, run.id)
        assert "nothing was added" in again.json["ledger"]
    assert len(Ledger(shipped=False).runs()) == 1
    assert caveat("ledger", "verify").code == EXIT_YES


def test_no_path_of_this_machine_is_in_the_ledger(caveat, tmp_path):
    """Neither where the folder was nor where the ledger is."""
    caveat("record", made_folder(tmp_path / "vendor-run"))
    runs = text_of(Ledger().path / "runs")
    assert SUBJECT.encode() in runs
    assert str(tmp_path).encode() not in runs


@pytest.mark.parametrize(
    ("late_s", "health", "aspects"),
    [
        (0.0, msgspec.structs.replace(HEALTH, cpu_share_p95=0.99), {"client health"}),
        (0.2, HEALTH, {"client health", "arrivals"}),
    ],
)
def test_a_run_in_which_the_client_was_the_limit_exits_with_no(caveat, tmp_path, late_s, health, aspects):
    """Every request succeeded; the figures are kept, and may not be cited."""
    done = caveat("record", made_folder(tmp_path / "a", late_s=late_s, health=health), "--json")
    assert done.code == EXIT_NO
    (run,) = done.json["runs"]
    entries = run["figures"][0]["validity"]["entries"]
    assert {entry["aspect"] for entry in entries if entry["outcome"] == "fail"} == aspects
    assert run["valid"] is False
    cited = caveat("cite", run["id"])
    assert (cited.code, "not valid" in cited.err) == (EXIT_NO, True)


def test_people_read_the_run_and_what_became_of_it(caveat, tmp_path):
    """With --full metrics, validity, notes, caveats, within a hundred columns."""
    done = caveat("record", made_folder(tmp_path / "a"), "--full")
    assert done.code == EXIT_YES
    assert all(word in done.out for word in ("caveat-ttft.p50", "validity", "notes", "caveats", "client health"))
    assert done.out.endswith("added to the ledger\n")
    assert [line for line in done.out.splitlines() if len(line) > 100] == []


def test_a_link_in_a_foreign_folder_is_not_followed(caveat, tmp_path):
    """It could lead to any file of this machine, and what it leads to would be kept as ours."""
    folder = made_folder(tmp_path / "a")
    secret = tmp_path / "secret.parquet"
    (folder / SAMPLES).rename(secret)
    (folder / SAMPLES).symlink_to(secret)
    done = caveat("record", folder)
    assert (done.code, "found a link" in done.err) == (EXIT_INPUT, True)
    assert Ledger(shipped=False).runs() == ()


def test_a_run_without_a_name_of_its_own_has_one_that_follows_from_it(caveat, tmp_path):
    """Made by the library alone, recorded twice: one run."""
    folder = made_folder(tmp_path / "a", subject="")
    first, again = caveat("record", folder, "--json"), caveat("record", folder, "--json")
    assert first.json["runs"][0]["id"] == again.json["runs"][0]["id"]
    assert "nothing was added" in again.json["ledger"]


def test_a_folder_without_an_experiment_is_an_input_error(caveat, tmp_path):
    """With what it should hold."""
    done = caveat("record", tmp_path)
    assert done.code == EXIT_INPUT
    assert "spec.json, notes.json and samples.parquet" in " ".join(done.err.split())


def test_a_broken_folder_leaves_nothing_in_the_ledger(caveat, tmp_path):
    """Truncated samples give no figures and no copy; the same folder, whole, is recorded afterwards."""
    folder = made_folder(tmp_path / "a")
    whole = (folder / SAMPLES).read_bytes()
    (folder / SAMPLES).write_bytes(whole[: len(whole) // 2])
    assert caveat("record", folder).code == EXIT_INPUT
    home = Ledger().path / SUBJECT
    assert list(home.parent.iterdir()) == []
    (folder / SAMPLES).write_bytes(whole)
    assert caveat("record", folder, "--json").json["ledger"] == "added to the ledger"
    assert (home / SAMPLES).read_bytes() == whole


@pytest.mark.parametrize("name", ["notes.json", "spec.json", SAMPLES])
def test_a_changed_copy_of_a_run_that_is_there_is_refused(caveat, tmp_path, name):
    """The ledger's figures are not those of the copy, and it says which file differs."""
    folder = made_folder(tmp_path / "a")
    caveat("record", folder)
    other = made_folder(tmp_path / "b", slower=1.1)
    (folder / name).write_bytes((other / name).read_bytes() + (b"" if name == SAMPLES else b"\n"))
    done = caveat("record", folder)
    assert (done.code, f"{name} is not the one" in " ".join(done.err.split())) == (EXIT_NO, True)
    assert len(Ledger(shipped=False).runs()) == 1
