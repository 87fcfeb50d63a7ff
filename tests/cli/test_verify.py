"""caveat verify: a schedule played again, from logs or from what is on record."""

import pytest

from caveat.errors import EXIT_CANNOT_SAY, EXIT_INPUT, EXIT_NO, EXIT_YES
from tests.cli.acme import SERVER
from tests.cli.redhat import write_redhat
from tests.importers.loadgen_files import write_result


@pytest.mark.parametrize(
    ("duration_ns", "state", "code"),
    [(674_472_826_893, "reproduced", EXIT_YES), (674_472_826_894, "differs", EXIT_NO)],
)
def test_one_nanosecond_decides(caveat, tmp_path, duration_ns, state, code):
    """Exit 0 where the log is what its seed gives, 1 where it is not."""
    tree = tmp_path / "tree"
    write_redhat(tree, duration_ns=duration_ns)
    done = caveat("verify", tree, "--json")
    assert done.code == code
    ((said),) = done.json["results"]
    assert (done.json["format"], said["schedule"]) == ("caveat-verify/1", state)
    assert said["subject"] == "mlperf-inference/v5.1/closed/Acme/H200-SXM-141GBx8/llama2-70b-99/server/run_1"
    text = caveat("verify", tree)
    assert text.code == code
    assert text.out.splitlines()[-1] == f"1 {state}"
    assert text.out.startswith(f"{state}  {said['subject']}\n    ")


def test_nothing_to_check_cannot_be_said(caveat, tmp_path):
    """Offline has no schedule; an empty folder has no run."""
    write_result(tmp_path / "tree", folder="Offline")
    for place in ("tree", "empty"):
        (tmp_path / place).mkdir(exist_ok=True)
        done = caveat("verify", tmp_path / place)
        assert done.code == EXIT_CANNOT_SAY
        assert "no log of a run with scheduled arrivals was found" in done.out
        assert caveat("verify", tmp_path / place, "--json").json == {"format": "caveat-verify/1", "results": []}


def test_a_figure_is_checked_without_its_log(caveat, tmp_path):
    """What the ledger kept of the run is enough."""
    write_redhat(tmp_path / "tree")
    added = caveat("import", tmp_path / "tree", "--verify", "--json").json["added"]
    done = caveat("verify", added[0][:10], "--json")
    assert (done.code, [one["schedule"] for one in done.json["results"]]) == (EXIT_YES, ["reproduced"])


def test_a_figure_without_its_settings_cannot_be_said(caveat, acme):
    """A published table alone holds no seed."""
    done = caveat("verify", SERVER, "--json")
    assert (done.code, [one["schedule"] for one in done.json["results"]]) == (EXIT_CANNOT_SAY, ["not checkable"])


@pytest.mark.parametrize("name", ["no/such/log.txt", "x" * 5000])
def test_what_is_neither_file_nor_figure_is_not_found(caveat, acme, name):
    """Exit 4."""
    done = caveat("verify", name, "--json")
    assert (done.code, done.json["error"]["code"]) == (EXIT_INPUT, "not-found")
