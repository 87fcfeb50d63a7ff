"""caveat compare of measured runs: whether they may be compared, and apart from it, whether they differ."""

import msgspec
import pytest

from caveat.errors import EXIT_NO, EXIT_YES
from caveat.ledger import Ledger
from caveat.loadgen import Endpoint
from caveat.measure import WarmUp
from caveat.workload import Fixed, Separate
from tests.loadgen.folders import made_folder, poisson_spec

PUBLISHED = "AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/server/run_1"
FAMILY = ("comparable", "comparable-with-caveats")


@pytest.fixture
def recorded(caveat, tmp_path):
    """recorded("a", slower=1.1) makes a run, records it and gives its id."""

    def make(name, **changes):
        subject = f"measured/{name.encode().hex():0<32}"
        done = caveat("record", made_folder(tmp_path / name, subject=subject, **changes), "--json")
        return done.json["runs"][0]["id"]

    return make


def answers(done):
    return {one["metric"]: one for one in done.json["measured_difference"]}


def test_two_equal_runs_are_comparable_and_do_not_differ(caveat, recorded):
    """Every ratio is one, and its interval holds one."""
    done = caveat("compare", recorded("a"), recorded("b"), "--json")
    assert (done.code, done.json["verdict"] in FAMILY) == (EXIT_YES, True)
    found = answers(done)
    assert len(found) == 11
    assert {one["different"] for one in found.values()} <= {False, None}
    for metric in ("caveat-ttft.mean", "caveat-latency.p50", "caveat-tpot-usage.mean", "caveat-latency.p99"):
        assert found[metric]["different"] is False
        assert found[metric]["ratio"] == 1.0
        assert found[metric]["low"] <= 1.0 <= found[metric]["high"]


def test_a_slower_run_is_comparable_and_differs(caveat, recorded):
    """By as much as it is slower; left / right, as the verdict's ratio is."""
    done = caveat("compare", recorded("slow", slower=1.25), recorded("quick"), "--json")
    assert (done.code, done.json["verdict"] in FAMILY) == (EXIT_YES, True)
    for metric in ("caveat-ttft.mean", "caveat-ttft.p50", "caveat-tpot-usage.mean", "caveat-latency.mean"):
        one = answers(done)[metric]
        assert one["different"] is True
        assert one["low"] <= 1.25 <= one["high"]
        assert one["ratio_of"] == done.json["ratio_of"] == "left / right"


def test_people_read_both_answers_apart(caveat, recorded):
    """The verdict first; then the table, and what many intervals are worth."""
    done = caveat("compare", recorded("slow", slower=1.25), recorded("quick"))
    verdict, _, difference = done.out.partition("is there a difference?")
    assert "COMPARABLE" in verdict
    assert "caveat-latency.mean" not in verdict
    assert "1.25" in difference
    assert "of twenty such questions" in " ".join(difference.split())
    assert [line for line in done.out.splitlines() if len(line) > 100] == []


def test_runs_of_two_workloads_are_not_compared(caveat, recorded):
    """Another shape is other work; the samples are answered all the same, since it is another question."""
    workload = msgspec.structs.replace(
        poisson_spec().workload, lengths=Separate(input=Fixed(value=900), output=Fixed(value=10))
    )
    other = poisson_spec(workload=workload, endpoint=Endpoint(url="http://h", model="another"))
    done = caveat("compare", recorded("a"), recorded("b", spec=other), "--json")
    assert (done.code, done.json["verdict"]) == (EXIT_NO, "not-comparable")
    assert done.json["measured_difference"]


def test_a_measured_run_is_not_compared_with_a_published_one(caveat, recorded):
    """Refused by the rule for it; the run itself is nowhere called by the suite's name."""
    mine = recorded("a")
    published = f"v6.0/closed/{PUBLISHED}"
    done = caveat("compare", mine, published, "--json")
    assert (done.code, done.json["verdict"], done.json["ratio"]) == (EXIT_NO, "not-comparable", None)
    assert "published-with-other" in {finding["rule"] for finding in done.json["findings"]}
    assert done.json["measured_difference"] == []
    shown = [caveat(verb, mine).out for verb in ("show", "cite")]
    assert [text for text in shown if "MLPerf" in text] == []
    assert "unverified" in shown[1]
    assert "Not a result of any benchmark suite." in " ".join(shown[1].split())


def test_published_results_alone_are_asked_nothing_of_samples(caveat):
    """The key is there and empty."""
    done = caveat("compare", f"v6.0/closed/{PUBLISHED}", f"v6.1/closed/{PUBLISHED}", "--json")
    assert done.json["measured_difference"] == []


def test_warm_ups_by_two_rules_are_not_set_side_by_side(caveat, recorded):
    """It is said, and nothing is guessed."""
    done = caveat(
        "compare", recorded("a"), recorded("b", spec=poisson_spec(warmup=WarmUp(first_requests=20))), "--json"
    )
    assert {one["different"] for one in answers(done).values()} == {None}
    assert {"different rules" in one["reason"] for one in answers(done).values()} == {True}


def test_of_several_each_pair_has_its_answers(caveat, recorded):
    """In the order of the verdicts."""
    done = caveat("compare", recorded("a"), recorded("b"), recorded("c", slower=1.25), "--json")
    means = [
        next(one["different"] for one in pair["measured_difference"] if one["metric"] == "caveat-latency.mean")
        for pair in done.json["pairs"]
    ]
    assert means == [False, True, True]


def test_a_document_that_names_samples_elsewhere_is_not_followed(caveat, recorded, tmp_path):
    """Its path leads out of the ledger: there are no samples of it here."""
    mine = recorded("a")
    run = Ledger().run(mine)
    path = f"../{made_folder(tmp_path / 'outside').name}/samples.parquet"
    stray = msgspec.structs.replace(run, subject="measured/" + "f" * 32, samples=path)
    Ledger().add([stray])
    assert caveat("compare", mine, stray.id, "--json").json["measured_difference"] == []


def test_samples_have_the_only_word_on_whether_there_is_a_difference(caveat, recorded):
    """Equal runs differ in their last digit: no shape slack makes a difference of it. What cannot be said is named."""
    other = recorded("b", spec=poisson_spec(warmup=WarmUp(first_requests=20)))
    done = caveat("compare", recorded("a"), other)
    assert "slack (" not in done.out
    assert "cannot say: caveat-ttft.mean, caveat-ttft.p50, caveat-ttft.p99" in " ".join(done.out.split())
    assert "shape slack" in caveat("compare", f"v6.0/closed/{PUBLISHED}", f"v6.0/closed/{PUBLISHED}").out
