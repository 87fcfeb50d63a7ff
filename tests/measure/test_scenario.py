"""scenario: rules from the tables, changes that are said, workloads as LoadGen's, and a verdict of every part."""

import msgspec
import numpy as np
import pytest

from caveat.errors import UsageError
from caveat.facts import BENCHMARKS, SCENARIOS, limits, round_named, scenarios
from caveat.figures import Check, conditions_of
from caveat.measure import (
    Scenario,
    Slo,
    altered,
    offers,
    scenario_of_profile,
    scenario_with,
    verdict,
    workload_of_scenario,
)
from caveat.workload import Burst, Fixed, Loadgen, Poisson, Separate, Streams, Workload
from caveat.workload import Limits as PlanLimits

LENGTHS = Separate(input=Fixed(8), output=Fixed(4))


def test_a_profile_is_what_the_tables_say():
    """llama2-70b in v6.1: limits, set, output range and seeds of the round."""
    found = scenario_of_profile("llama2-70b-99.9", "v6.1", "interactive")
    assert found.limits() == {"ttft_s": 0.45, "tpot_s": 0.04}
    assert (found.percentile, found.min_duration_s, found.min_queries, found.set_size) == (0.99, 600.0, 100, 24576)
    assert found.tokens_per_sample == pytest.approx((265.005, 323.895))
    seeds = round_named("v6.1").seeds
    assert (found.schedule_seed, found.sample_index_seed) == (seeds.schedule, seeds.sample_index)
    assert (found.profile, found.changed, found.is_strict) == ("llama2-70b-99.9 of v6.1", (), True)
    assert found.slo() == Slo(ttft_s=0.45, tpot_s=0.04)
    assert found.note is None
    assert "sources differ" in scenario_of_profile("gpt-oss-120b", "v6.1", "interactive").note


def test_every_text_benchmark_of_every_round_has_its_scenarios():
    """All of the table, with the limits of the table; a document comes back as it was."""
    seen = set()
    for one in BENCHMARKS:
        for round_name in one.rounds if one.modality == "text" else ():
            for name in scenarios(one.id, round_name):
                found = scenario_of_profile(one.id, round_name, name)
                asked = limits(one.id, round_name, name)
                assert found.ttft_s == (asked.ttft_s if asked else None)
                assert msgspec.json.decode(msgspec.json.encode(found), type=Scenario) == found
                conditions_of(found.conditions())
                seen.add(name)
    assert seen == set(SCENARIOS) - {"multi-stream"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("llama2-70b-99.9", "v9.9", "server"), "no round 'v9.9'"),
        (("llama9", "v6.1", "server"), "v6.1 has no benchmark 'llama9'"),
        (("llama2-70b-99", "v6.1", "server"), "v6.1 has no benchmark"),
        (("llama3.1-8b-edge", "v6.1", "server"), "no scenario 'server'"),
        (("whisper", "v6.1", "offline"), "asks with speech"),
        (("qwen3-vl-235b-a22b", "v6.1", "server"), "asks with image"),
    ],
)
def test_a_profile_that_does_not_exist_is_refused_with_what_does(asked, said):
    """Each with a way on."""
    with pytest.raises(UsageError, match=said) as caught:
        scenario_of_profile(*asked)
    assert caught.value.next


def test_what_is_changed_of_a_profile_is_said():
    """Once each, with both values; of limits of one's own there is nothing to say."""
    found = altered(scenario_of_profile("llama3.1-8b", "v6.1", "server"), min_duration_s=10.0, set_size=64, ttft_s=2.0)
    assert found.changed == (
        "minimum duration 10 s in place of 10 min",
        "samples in the set 64 in place of 13,368",
    )
    assert found.conditions()["profile_changes"] == "; ".join(found.changed)
    own = altered(scenario_with("server", ttft_s=1.0), min_queries=5)
    assert (own.changed, own.min_queries, own.is_strict) == ((), 5, False)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "poisson"}, "scenario.name"),
        ({"name": "server"}, "found no limit"),
        ({"name": "offline", "ttft_s": 1.0}, "expected none"),
        ({"name": "single-stream", "latency_s": 1.0}, "expected none"),
        ({"name": "server", "ttft_s": 0.0}, "above zero"),
        ({"name": "server", "tpot_s": float("inf")}, "above zero"),
        ({"name": "server", "ttft_s": 1.0, "percentile": 99}, "percentile"),
        ({"name": "offline", "min_queries": 0}, "min_queries"),
        ({"name": "offline", "set_size": 0}, "set_size"),
        ({"name": "offline", "min_duration_s": float("nan")}, "min_duration_s"),
        ({"name": "offline", "samples_per_query": 8}, "samples_per_query"),
    ],
)
def test_a_scenario_that_cannot_be_is_refused(fields, said):
    """By its field."""
    with pytest.raises(UsageError, match=said):
        Scenario(**fields)


def test_usual_values_are_those_of_the_harness():
    """p90 of a single stream, 8 samples and 662 queries of a multi-stream."""
    single, multi = scenario_with("single-stream"), scenario_with("multi-stream")
    assert (single.percentile, single.samples_per_query, single.min_queries) == (0.9, 1, 100)
    assert (multi.percentile, multi.samples_per_query, multi.min_queries) == (0.99, 8, 662)


def test_a_server_schedule_is_that_of_the_harness():
    """Vector C: a published run of llama3.1-8b in v5.1 at 39.5 queries a second has 26,736."""
    scenario = scenario_of_profile("llama3.1-8b", "v5.1", "server")
    plan = workload_of_scenario(scenario, LENGTHS, target_qps=39.5).plan()
    blocks = list(plan.blocks())
    assert sum(map(len, blocks)) == 26736
    sample = np.concatenate([block.sample for block in blocks])
    assert (np.bincount(sample) == 2).all()
    assert blocks[-1].at_ns[-1] >= 600 * 10**9


@pytest.mark.parametrize(("target_qps", "samples"), [(1.0, 64), (4.0, 64), (10.0, 128), (6.0, 128), (5.9, 64)])
def test_offline_has_a_tenth_more_than_the_rate_needs_in_whole_sets(target_qps, samples):
    """max(min_queries, floor(1.1 x rate x duration)) padded to the set."""
    scenario = scenario_with("offline", min_duration_s=10.0, min_queries=20, set_size=64)
    assert workload_of_scenario(scenario, LENGTHS, target_qps=target_qps).limits.requests == samples


def test_streams_are_whole_queries_until_there_are_enough():
    """And have no rate."""
    scenario = scenario_with("multi-stream", set_size=64, min_duration_s=5.0)
    workload = workload_of_scenario(scenario, LENGTHS)
    assert workload.arrivals == Streams(8, 5 * 10**9, 662, 64)
    assert workload.samples.each == 8
    assert workload.limits.requests == 40_000
    with pytest.raises(UsageError, match="sets its pace"):
        workload_of_scenario(scenario, LENGTHS, target_qps=4.0)
    with pytest.raises(UsageError, match="found no rate"):
        workload_of_scenario(scenario_with("offline"), LENGTHS)
    with pytest.raises(UsageError, match="no set"):
        workload_of_scenario(scenario_with("offline"), LENGTHS, target_qps=4.0, order=(0,))


def test_a_scenario_knows_its_arrivals():
    """Poisson of our own is not LoadGen's schedule."""
    server, offline, single = (
        scenario_with("server", ttft_s=1.0),
        scenario_with("offline"),
        scenario_with("single-stream"),
    )

    def of(arrivals):
        return Workload(arrivals=arrivals, lengths=LENGTHS, limits=PlanLimits(requests=10))

    assert offers(server, of(Loadgen(seed=1, target_qps=5.0)))
    assert not offers(server, of(Poisson(5.0)))
    assert offers(offline, of(Burst()))
    assert offers(single, of(Streams(1)))
    assert not offers(single, of(Streams(8)))


def checks(*outcomes, aspect="latency limits"):
    lasted = Check(aspect="minimum duration", outcome="pass")
    return [lasted, *(Check(aspect=aspect, outcome=outcome) for outcome in outcomes)]


def test_a_run_is_valid_only_when_every_part_is():
    """A failure anywhere is one; what is not known decides only where the rules ask; other runs have no verdict."""
    assert verdict(checks("pass", "not applicable")) == "VALID"
    assert verdict(checks("pass", "unknown")) == "UNDECIDED"
    assert verdict(checks("unknown", "fail")) == "INVALID"
    assert verdict(checks("fail", aspect="client health")) == "INVALID"
    assert verdict(checks("unknown", aspect="consistency")) == "VALID"
    assert verdict([Check(aspect="latency limits", outcome="pass")]) is None
