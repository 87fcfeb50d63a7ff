from caveat.caveats.server_rate_is_a_floor import CAVEAT, FAR
from caveat.compare.pair import FLOOR_BELOW
from tests.builders import published_run
from tests.caveats.cases import INVALID, offline
from tests.caveats.ledger import small_ledger


def test_far_from_the_limit_means_the_same_as_the_flag_of_a_pair():
    """A sentence that says floor and a pair that is not flagged would contradict each other."""
    assert FAR == FLOOR_BELOW


def test_siblings_are_chosen_by_how_much_they_differ():
    """The pair of racks is found, the least near first, whatever the order of the ledger."""
    for runs in (small_ledger(), small_ledger()[::-1]):
        siblings = CAVEAT.evidence(runs).tables[1]
        assert [(row[2], *row[6:]) for row in siblings.rows] == [
            ("GB300x72", "32 %", "35 %", "0.832"),
            ("GB200x72", "73 %", "76 %", "1.019"),
        ]


def test_systems_of_two_submitters_are_no_siblings():
    """Nor is one system alone."""
    runs = (
        offline(platform="a"),
        published_run(platform="a", headroom_ttft=0.1, headroom_tpot=0.2),
        offline(platform="b", submitter="other"),
        published_run(platform="b", submitter="other", headroom_ttft=0.9, headroom_tpot=0.9),
    )
    evidence = CAVEAT.evidence(runs)
    assert evidence.tables[1].rows == ()
    assert (evidence.numbers["n"], evidence.numbers["far_runs"]) == (2, 1)


def test_invalid_runs_are_no_evidence():
    """A run that failed shows no headroom."""
    evidence = CAVEAT.evidence((published_run(headroom_ttft=0.1, headroom_tpot=0.2, validity=INVALID),))
    assert evidence.n == 0


def test_a_limit_on_the_whole_request_counts_too():
    """gptj and the vision model have no limit per token."""
    evidence = CAVEAT.evidence((published_run(headroom_latency=0.4),))
    assert evidence.numbers["share_far"] == "100 %"
