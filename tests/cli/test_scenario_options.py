"""caveat measure --scenario: its words, what it would do, what it did, and what that is not."""

import json

import pytest

from caveat.cli.measured import headline
from caveat.cli.scenario_options import ScenarioWords, scenario_of
from caveat.errors import EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger
from caveat.loadgen import read_folder
from caveat.loopback import behaviour_of, start_process
from caveat.measure import scenario_of_profile, scenario_with

NOWHERE = "http://127.0.0.1:9"
TINY = ("--input", "16", "--output", "4", "--no-probe", "--no-calibrate", "--model", "m")
PROFILE = ("--profile", "llama2-70b-99.9@v6.1")
EASY = ("--slo", "ttft=5s,p50", "--min-duration", "100ms", "--min-queries", "20")


@pytest.fixture(scope="module")
def server():
    with start_process(behaviour_of({"ttft_s": 0.01, "itl_s": 0.001})) as running:
        yield running


def test_words_are_a_scenario_with_limits_of_ones_own():
    """What is not said is as LoadGen has it; the seed is that of the plan."""
    words = ScenarioWords(name="server", min_duration="2min", min_queries=5, samples=64)
    assert scenario_of(words, "ttft=2s,p90", 7, None) == scenario_with(
        "server",
        ttft_s=2.0,
        percentile=0.9,
        min_duration_s=120.0,
        min_queries=5,
        set_size=64,
        schedule_seed=7,
        sample_index_seed=7,
    )
    assert scenario_of(ScenarioWords(), "ttft=2s", 0, None) is None


def test_a_profile_keeps_what_is_not_changed_and_says_what_is():
    """--short is a few changes at once; what is said word for word goes before it."""
    plain = scenario_of(ScenarioWords(name="server", profile="llama2-70b-99.9@v6.1"), None, 3, None)
    assert plain == scenario_of_profile("llama2-70b-99.9", "v6.1", "server")
    words = ScenarioWords(name="server", profile="llama2-70b-99.9@v6.1", short=True, min_duration="3s")
    short = scenario_of(words, "ttft=1s", 3, None)
    assert (short.min_duration_s, short.min_queries, short.set_size, short.percentile) == (3.0, 64, 64, 0.9)
    assert (short.ttft_s, short.tpot_s, short.schedule_seed) == (1.0, 0.2, plain.schedule_seed)
    assert "minimum duration 3 s in place of 10 min" in short.changed
    assert "TTFT limit 1 s in place of 2 s" in short.changed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--profile", "x@v6.1"), "found --profile without --scenario"),
        (("--short",), "found --short without --scenario"),
        (("--scenario", "server", "--rate", "4"), "found no limit"),
        (("--scenario", "serve", "--rate", "4"), "scenario.name: found 'serve'"),
        (("--scenario", "server", *PROFILE), "found no rate"),
        (("--scenario", "server", "--profile", "llama2-70b-99.9", "--rate", "4"), "NAME@v6.1"),
        (("--scenario", "server", *PROFILE, "--rate", "4", "--cv", "2"), "found --cv beside --scenario"),
        (("--scenario", "server", *PROFILE, "--rate", "4", "--requests", "9"), "found --requests beside"),
        (("--scenario", "server", *PROFILE, "--rate", "4", "--warmup", "9"), "found warmup beside"),
        (("--scenario", "multi-stream", "--rate", "4"), "sets its pace"),
        (("--scenario", "server", "--slo", "ttft=1s,p42", "--rate", "4"), "percentile 'p42'"),
        (("--spec", "run.toml", "--scenario", "server"), "found --scenario beside --spec"),
        (("--like", "abc", "--dataset", "x"), "found --dataset beside --like"),
    ],
)
def test_words_that_do_not_go_together_are_refused(caveat, options, said):
    """What was found, and what was expected."""
    done = caveat("measure", NOWHERE, "--model", "m", *options)
    assert (done.code, said in done.err) == (EXIT_USAGE, True), done.err


def test_a_dry_run_says_how_many_and_how_many_may_be_late(caveat):
    """24,576 queries are a whole set; of these 209 may lie above a limit, 0.85 % and not 1 %."""
    argv = ("measure", NOWHERE, "--model", "m", "--scenario", "server", *PROFILE, "--rate", "4", "--dry-run")
    done = caveat(*argv)
    assert done.code == EXIT_YES
    text = " ".join(done.out.split())
    assert "24,576 requests over" in text
    assert "scenario server, profile llama2-70b-99.9 of v6.1: at least 10 min and 100 queries" in text
    assert "p99 TTFT within 2 s" in text
    assert "needs 459 queries to certify p99; of these 24,576 at most 209 may lie above a limit (0.85%)" in text
    (run,) = caveat(*argv, "--json").json["runs"]
    assert (run["scenario"]["may_be_above"], run["scenario"]["fewest_queries"], run["requests"]) == (209, 459, 24576)
    assert run["mean_output_tokens"] == 294  # the middle of what the profile accepts
    few = caveat("measure", NOWHERE, "--model", "m", "--scenario", "server", *EASY[:1], "ttft=1s", "--rate", "1",
                 "--min-duration", "1s", "--dry-run")  # fmt: skip
    assert "these are 100: too few, the run cannot be valid" in " ".join(few.out.split())


def test_a_valid_run_says_what_it_is_and_what_it_is_not(caveat, server):
    """The head line, the exit code, the conditions; progress counts what is missing; --like repeats it."""
    argv = ("measure", server.url, "--scenario", "server", *EASY, "--rate", "200", "--samples", "10", *TINY, "--json")
    done = caveat(*argv)
    (run,) = done.json["runs"]
    failed = {e["aspect"] for e in run["figures"][0]["validity"]["entries"] if e["outcome"] == "fail"}
    assert failed <= {"client health", "arrivals"}  # a busy machine
    judged = "INVALID" if failed else "VALID"
    assert run["headline"] == (
        f"{judged} under caveat's reading of the rules (server, with limits of your own); unverified, not an MLPerf "
        "result"
    )
    assert done.code == (EXIT_NO if failed else EXIT_YES)
    assert (run["valid"], "more_queries" in done.err or not done.err) == (not failed, True)
    spec, _ = read_folder(Ledger().path / run["subject"])
    assert spec.scenario.min_queries == 20
    again = caveat("measure", "--like", run["id"], "--no-calibrate", "--json").json["runs"][0]
    assert again["figures"][0]["conditions"]["plan"] == run["figures"][0]["conditions"]["plan"]


def test_an_invalid_run_says_why_first(caveat, server):
    """The number of missing queries stands above the table."""
    limits = ("--slo", "ttft=5s", "--min-duration", "100ms")
    done = caveat("measure", server.url, "--scenario", "server", *limits, "--rate", "400", *TINY)
    assert done.code == EXIT_NO
    text = " ".join(done.out.split())
    assert "INVALID under caveat's reading of the rules" in text
    assert "unverified, not an MLPerf result" in text
    assert "Would need at least" in text.split("caveat-ttft")[0]


def test_a_data_set_goes_through_with_and_without_a_scenario(caveat, server, tmp_path):
    """Its samples are the set; lengths of prompts are nobody's to choose."""
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"question {n}"}) + "\n" for n in range(10)))
    common = ("--dataset", path, "--output", "4", "--no-calibrate", "--model", "m")
    for options, made in ((("--scenario", "offline", "--rate", "100", *EASY[2:]), 20), (("--concurrency", "2"), 40)):
        done = caveat("measure", server.url, *options, *common, "--json")
        (run,) = done.json["runs"]
        known = run["figures"][0]["conditions"]
        assert (known["queries"], known["dataset_samples"], known["salted"]) == (made, 10, False)
        assert known["dataset"].startswith("set.jsonl, 10 samples")
    refused = caveat("measure", server.url, "--concurrency", "2", *common, "--input", "9")
    assert (refused.code, "found --input beside --dataset" in refused.err) == (EXIT_USAGE, True)
    shown = caveat("measure", server.url, "--concurrency", "2", *common, "--dry-run")
    assert "40 requests as fast as they are answered, prompts of set.jsonl" in " ".join(shown.out.split())


def test_a_run_without_a_scenario_has_no_head_line(acme):
    """Nothing was asked of it."""
    assert {headline(run) for run in acme.values()} <= {None}
