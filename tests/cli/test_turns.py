"""Which runs are made, and in which draw each."""

import pytest

from caveat.cli.turns import load_words, redrawn, turns
from caveat.loadgen import Endpoint, Replay, Spec
from caveat.measure import scenario_with, workload_of_scenario
from caveat.workload import (
    Burst,
    Concurrency,
    Fixed,
    Limits,
    Poisson,
    SampleSet,
    Separate,
    Workload,
    plan_digest,
)

HERE = Endpoint(url="http://127.0.0.1:9")
LENGTHS = Separate(input=Fixed(value=10), output=Fixed(value=2))


def spec_of(arrivals, **more):
    workload = Workload(arrivals=arrivals, lengths=LENGTHS, seed=3, limits=Limits(requests=20), **more)
    return Spec(endpoint=HERE, workload=workload)


def test_each_repeat_has_a_draw_of_its_own():
    """The first is the one asked for; no two plans are alike."""
    points = [spec_of(Poisson(rate_qps=rate)) for rate in (1.0, 2.0)]
    order = turns(points, 3, same_draw=False)
    assert [turn.point for turn in order] == [0, 0, 0, 1, 1, 1]
    assert [turn.spec.seed() for turn in order] == [3, 4, 5] * 2
    assert (order[0].spec, order[3].spec) == tuple(points)
    assert len({plan_digest(turn.spec.plan()) for turn in order}) == 6


def test_the_same_draw_can_be_asked_for():
    """To the last request."""
    point = spec_of(Poisson(rate_qps=1.0))
    assert [turn.spec for turn in turns([point], 3, same_draw=True)] == [point] * 3


def test_a_scenario_keeps_its_draw():
    """The rules name its seeds."""
    scenario = scenario_with("server", ttft_s=1.0, tpot_s=0.1, schedule_seed=1, sample_index_seed=2)
    spec = Spec(endpoint=HERE, workload=workload_of_scenario(scenario, LENGTHS, target_qps=4.0), scenario=scenario)
    assert redrawn(spec, 5) is spec


def test_a_set_is_shuffled_anew_and_a_replay_drawn_anew():
    """Both have seeds of their own."""
    samples = spec_of(Poisson(rate_qps=1.0), samples=SampleSet(size=4, seed=8))
    assert redrawn(samples, 2).workload.samples.seed == 10
    assert redrawn(Spec(endpoint=HERE, replay=Replay(file="a", seed=1)), 2).replay.seed == 3


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (spec_of(Poisson(rate_qps=2.5)), "2.5 requests/s"),
        (spec_of(Concurrency(requests=1000)), "1,000 in flight"),
        (spec_of(Burst()), "all at once"),
        (Spec(endpoint=HERE, replay=Replay(file="a")), "the replay"),
    ],
)
def test_a_point_has_words(spec, words):
    """For what was not measured, and above a summary."""
    assert load_words(spec) == words
