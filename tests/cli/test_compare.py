"""caveat compare: a verdict, its findings and its exit code."""

import pytest

from caveat.errors import EXIT_CANNOT_SAY, EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from tests.cli.acme import INVALID, OFFLINE, OWN, RIVAL, SERVER
from tests.cli.golden import golden, settled

AMD = "AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/server/run_1"


def test_a_verdict_at_a_hundred_columns(caveat, acme):
    """Both figures with conditions, the verdict, the ratio, findings with their way out."""
    done = caveat("compare", SERVER, RIVAL, "--per-accelerator")
    assert (done.code, settled(done.out), done.err) == (EXIT_YES, golden("compare"), "")


@pytest.mark.parametrize(
    ("left", "right", "verdict", "code"),
    [
        (SERVER, RIVAL, "comparable-with-caveats", EXIT_YES),
        (SERVER, OFFLINE, "not-comparable", EXIT_NO),
        (SERVER, INVALID, "not-comparable", EXIT_NO),
        (SERVER, OWN, "not-comparable", EXIT_NO),
        (f"v6.0/closed/{AMD}", f"v6.1/closed/{AMD}", "unknown", EXIT_CANNOT_SAY),
    ],
)
def test_exit_codes_follow_the_verdict(caveat, acme, left, right, verdict, code):
    """0 yes, 1 no, 3 cannot say; a ratio only where one may be formed."""
    done = caveat("compare", left, right, "--json")
    assert (done.code, done.json["verdict"]) == (code, verdict)
    assert (done.json["ratio"] is not None) == (code == EXIT_YES)


def test_an_unknown_round_names_the_date_of_the_table(caveat):
    """Compatibility ends with what was published when it was read."""
    done = caveat("compare", f"v6.0/closed/{AMD}", f"v6.1/closed/{AMD}")
    assert done.code == EXIT_CANNOT_SAY
    assert "UNKNOWN   no ratio is formed" in done.out
    assert "2026-04-28" in done.out


def test_of_several_the_worst_pair_decides(caveat, acme):
    """All pairs are answered."""
    done = caveat("compare", SERVER, RIVAL, OFFLINE, "--json")
    assert done.code == EXIT_NO
    assert [pair["verdict"] for pair in done.json["pairs"]] == [
        "comparable-with-caveats",
        "not-comparable",
        "not-comparable",
    ]


def test_one_figure_is_no_comparison(caveat, acme):
    """Usage."""
    done = caveat("compare", SERVER)
    assert (done.code, done.err) == (
        EXIT_USAGE,
        "caveat: compare needs two figures or more\n  next: caveat figures lists their ids\n",
    )


def test_a_figure_that_is_not_there_is_not_found(caveat, acme):
    """Exit 4."""
    assert caveat("compare", SERVER, "0000000000").code == EXIT_INPUT
