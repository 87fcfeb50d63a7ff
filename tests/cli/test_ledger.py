"""caveat ledger: where it is, whether it is whole, its index anew."""

from caveat.errors import EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger


def test_where_counts_own_and_shipped_documents(caveat, acme, tmp_path):
    """Without an action that is what it says."""
    shipped = len(Ledger(tmp_path / "none").runs())
    text = f"{tmp_path}/ledger\n5 documents of your own, {shipped:,} shipped\n"
    assert caveat("ledger") == caveat("ledger", "where") == (EXIT_YES, text, "")
    assert caveat("ledger", "--json").json == {
        "format": "caveat-ledger/1",
        "path": f"{tmp_path}/ledger",
        "documents": {"own": 5, "shipped": shipped},
        "problems": [],
    }


def test_the_folder_is_an_option_before_the_environment(caveat, acme, tmp_path):
    """An empty folder is an empty ledger, and is not made."""
    done = caveat("ledger", "--ledger", tmp_path / "other")
    assert done.out.startswith(f"{tmp_path}/other\n0 documents of your own, ")
    assert not (tmp_path / "other").exists()


def test_verify_finds_a_document_that_was_changed(caveat, acme, tmp_path):
    """Exit 1, the file and the way out; nothing found is exit 0."""
    assert caveat("ledger", "verify").out.endswith("\n0 problems\n")
    id = acme["own"].id
    document = tmp_path / "ledger" / "runs" / id[:2] / f"{id}.json"
    document.chmod(0o644)
    document.write_text(document.read_text().replace("4321", "9999"))
    done = caveat("ledger", "verify")
    assert done.code == EXIT_NO
    assert f"changed  runs/{id[:2]}/{id}.json" in " ".join(done.out.split()).replace("changed runs", "changed  runs")
    assert "next: restore the file from a copy" in done.out
    said = caveat("ledger", "verify", "--json")
    assert said.code == EXIT_NO
    assert "changed" in {problem["code"] for problem in said.json["problems"]}


def test_rebuild_makes_the_index_anew(caveat, acme, tmp_path):
    """From the documents alone."""
    assert caveat("ledger", "rebuild").code == EXIT_YES
    assert len(list((tmp_path / "ledger" / ".index").glob("*.parquet"))) == 1


def test_an_unknown_action_is_usage(caveat):
    """With those there are."""
    done = caveat("ledger", "delete", "--json")
    assert (done.code, done.json["error"]["next"]) == (EXIT_USAGE, "one of where, verify, rebuild")
