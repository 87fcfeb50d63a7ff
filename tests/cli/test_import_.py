"""caveat import: what was read, what was wrong with it, and nothing twice."""

import pytest

from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.figures import dump
from caveat.ledger import Ledger, parse_where
from tests.cli.acme import acme_runs
from tests.cli.redhat import write_redhat
from tests.importers.loadgen_files import write_result


@pytest.fixture
def tree(tmp_path):
    """A submission tree with one result of each scenario."""
    for folder in ("Server", "Offline"):
        write_result(tmp_path / "tree", folder=folder)
    return tmp_path / "tree"


def own_runs():
    return Ledger(shipped=False).runs()


def test_a_tree_is_imported_once(caveat, tree):
    """Added, then known."""
    first = caveat("import", tree, "--json")
    assert (first.code, first.json["format"], first.json["runs"]) == (EXIT_YES, "caveat-import/1", 2)
    assert {run.id for run in own_runs()} == set(first.json["added"])
    second = caveat("import", tree, "--json")
    assert (second.code, second.json["added"]) == (EXIT_YES, [])
    assert sorted(second.json["known"]) == sorted(first.json["added"])
    assert caveat("import", tree).out.startswith("2 runs read: v6.0 2\n0 added (0 enrich an older one), 2 known\n")


def test_a_dry_run_writes_nothing(caveat, tree):
    """And says what it would."""
    done = caveat("import", tree, "--dry-run")
    assert done.code == EXIT_YES
    assert "2 would be added (0 enrich an older one), 0 known" in done.out
    assert caveat("import", tree, "--dry-run", "--json").json["dry_run"] is True
    assert own_runs() == ()


def test_one_bad_file_does_not_stop_the_rest(caveat, tree, tmp_path):
    """Exit 1, with code, place and words of each problem."""
    (tmp_path / "broken.json").write_text("[{")
    done = caveat("import", tree, tmp_path / "broken.json", "--json")
    assert (done.code, done.json["runs"]) == (EXIT_NO, 2)
    assert {"code", "path", "line", "message"} <= set(done.json["problems"][0])
    assert done.json["problems"][0]["path"] == str(tmp_path / "broken.json")
    text = caveat("import", tree, tmp_path / "broken.json")
    assert text.code == EXIT_NO
    assert "\n1 problem: " in text.out
    assert f"  format-unknown: no format is recognised in this file\n    {tmp_path}/broken.json\n    next: " in text.out


def test_nothing_read_is_an_input_error(caveat, tmp_path):
    """Exit 4, as text and as JSON."""
    for argv in ((tmp_path / "nowhere",), (tmp_path / "nowhere", "--json")):
        assert caveat("import", *argv).code == EXIT_INPUT
    assert caveat("import", tmp_path / "nowhere", "--json").json["problems"][0]["code"] == "path-missing"
    assert caveat("import", tmp_path / "nowhere").out.startswith("0 runs read\n")


def test_schedules_are_played_on_request(caveat, tmp_path):
    """And counted by what came out."""
    write_redhat(tmp_path / "tree")
    assert caveat("import", tmp_path / "tree", "--json").json["schedules"] != {"reproduced": 1}
    assert caveat("import", tmp_path / "tree", "--verify", "--json").json["schedules"] == {"reproduced": 1}
    assert "schedules: 1 reproduced" in caveat("import", tmp_path / "tree", "--verify").out


def test_a_format_that_does_not_exist_is_usage(caveat, tree):
    """With those there are."""
    done = caveat("import", tree, "--as", "excel", "--json")
    assert (done.code, done.json["error"]["code"]) == (EXIT_USAGE, "usage")
    assert "mlperf-tree" in done.json["error"]["next"]


def test_a_run_document_comes_in_as_it_went_out(caveat, tmp_path):
    """The same id."""
    for name, run in acme_runs().items():
        (tmp_path / f"{name}.json").write_bytes(dump(run))
    paths = sorted(tmp_path.glob("*.json"))
    done = caveat("import", *paths, "--json")
    assert sorted(done.json["added"]) == sorted(run.id for run in acme_runs().values())


def test_names_that_are_no_unicode_are_shown_and_do_nothing(caveat, tmp_path):
    """A folder of another century, a file name that writes to the terminal."""
    folder = tmp_path / "tr\udcffe\x1b[31me"
    folder.mkdir()
    (folder / "summary\x1b[2J.json").write_text("[{")
    done = caveat("import", folder)
    assert done.code == EXIT_INPUT
    assert all(line.isprintable() for line in done.out.split("\n"))
    said = caveat("import", folder, "--json")
    assert said.code == EXIT_INPUT
    assert all(line.isprintable() for line in said.out.split("\n"))
    assert said.json["problems"]


def test_a_shipped_document_is_known_already(caveat, tmp_path):
    """Nothing is added to one's own ledger that says what the package says."""
    shipped = Ledger().runs([parse_where("round=v6.0"), parse_where("scenario=server")])[0]
    (tmp_path / "run.json").write_bytes(dump(shipped))
    done = caveat("import", tmp_path / "run.json", "--json")
    assert (done.code, done.json["known"]) == (EXIT_YES, [shipped.id])
