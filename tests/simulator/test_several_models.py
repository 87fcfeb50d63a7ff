"""Several models: dedicated ones do not feel each other, swapped ones take turns, shares are kept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError, UsageError
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import MS, Columns, affine, poisson, serve
from tests.simulator.strategies import plans, schedulers, step_times

FAST, SLOW = affine(10), affine(30)


def in_turn(block, first):
    return np.arange(first, first + len(block)) % 2


def asked(*models):
    return lambda block, first: np.asarray(models[first : first + len(block)])


@settings(max_examples=25, deadline=None)
@given(step_times, schedulers(longest=100), plans(), st.sampled_from(sorted(ROUTERS)), st.booleans())
def test_one_model_with_all_the_requests_is_the_fleet_without(step_time, scheduler, plan, router, dedicated):
    """A second model that nobody asks: nothing changes, whether it has a replica of its own or none."""
    routing = Routing(router=router)
    alone = serve(SimulatedServer(step_time, scheduler, replicas=2, routing=routing), plan)
    several = SeveralModels(
        others=(SLOW,), shares=(1.0, 0.0), replicas=(2, 1) if dedicated else None, swap_s=9.0, most_behind=10**6
    )
    both = serve(
        SimulatedServer(step_time, scheduler, replicas=2 + dedicated, routing=routing, several_models=several), plan
    )
    assert both.table.equals(alone.table)
    assert both.internals.swaps == 0


def test_dedicated_models_do_not_feel_each_other():
    """Each model's requests see what they see alone on as many replicas."""
    rng = np.random.default_rng(1)
    at_ns, prompts, answers = poisson(rng, 100, 400), rng.integers(1, 50, 400), rng.integers(1, 50, 400)
    several = SeveralModels(others=(SLOW,), shares=(0.5, 0.5), replicas=(2, 3))
    server = SimulatedServer(FAST, replicas=5, several_models=several, models=in_turn)
    both = serve(server, Columns(at_ns, prompts, answers))
    for model, (step_time, replicas) in enumerate(((FAST, 2), (SLOW, 3))):
        mine = slice(model, None, 2)
        alone = serve(SimulatedServer(step_time, replicas=replicas), Columns(at_ns[mine], prompts[mine], answers[mine]))
        assert both.ints("end_ns")[mine].tolist() == alone.ints("end_ns").tolist()


def test_a_swap_waits_until_the_replica_is_empty():
    """Model 1 comes 5 ms after a request that takes 50, swaps for 100 ms and takes 2 x 30; model 0 swaps back."""
    several = SeveralModels(others=(SLOW,), shares=(0.5, 0.5), swap_s=0.1)
    server = SimulatedServer(FAST, several_models=several, models=asked(0, 1, 0))
    served = serve(server, Columns([0, 5 * MS, 6 * MS], [1] * 3, [5, 2, 1]))
    assert served.s("end_ns").round(9).tolist() == [0.05, 0.21, 0.32]
    assert served.internals.swaps == 2


def test_a_swap_loses_the_prefix_cache():
    """The same prompt for the other model is computed whole, and again when the first comes back."""
    several = SeveralModels(others=(FAST,), shares=(0.5, 0.5))
    scheduler = Scheduler(prefix_cache=True, block_tokens=8)
    plan = Columns([0, 100 * MS, 200 * MS, 300 * MS], [32] * 4, [1] * 4, prefixes=[[1, 2, 3, 4]] * 4, block_tokens=8)
    served = serve(SimulatedServer(FAST, scheduler, several_models=several, models=asked(0, 0, 1, 0)), plan)
    assert served.ints("cached_tokens_usage").tolist() == [0, 24, 0, 0]


def test_requests_go_where_their_model_is():
    """Two replicas, two models three by three: one swap in all, unless it may cost no request of waiting."""
    plan = Columns(np.arange(40) * 50 * MS, [1] * 40, [3] * 40)
    found = {}
    for most_behind in (100, 0):
        server = SimulatedServer(
            FAST,
            replicas=2,
            routing=Routing(router="least-outstanding"),
            several_models=SeveralModels(others=(FAST,), shares=(0.5, 0.5), swap_s=0.1, most_behind=most_behind),
            models=lambda block, first: (np.arange(first, first + len(block)) // 3) % 2,
        )
        found[most_behind] = serve(server, plan).internals.swaps
    assert found[100] == 1 < found[0]


def test_shares_are_kept_and_repeat():
    """Chi-square of 6,000 draws below its 99.9 % point; the same whatever the blocks."""
    several = SeveralModels(others=(FAST, SLOW), shares=(0.5, 0.3, 0.2), seed=4)
    plan = Columns(np.arange(6000), np.ones(6000), np.ones(6000))
    (block,) = plan.blocks()
    drawn = several.drawn(block, 0)
    expected = np.array([3000, 1800, 1200])
    assert ((np.bincount(drawn, minlength=3) - expected) ** 2 / expected).sum() < 13.8
    small = Columns(plan.at_ns, plan.input_tokens, plan.output_tokens, block_requests=700)
    parts = [several.drawn(part, 700 * i) for i, part in enumerate(small.blocks())]
    assert np.concatenate(parts).tolist() == drawn.tolist()


def test_what_makes_no_sense_is_refused():
    """Shares, numbers of replicas, a model that there is not, a choice of models without models."""
    for wrong in ({"shares": (0.5, 0.6)}, {"shares": (1.0,)}, {"replicas": (1,)}, {"swap_s": -1.0}, {"others": ()}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            SeveralModels(**({"others": (FAST,), "shares": (0.5, 0.5)} | wrong))
    several = SeveralModels(others=(FAST,), shares=(0.5, 0.5), replicas=(1, 1))
    with pytest.raises(InputError, match="found 2 in sum, expected the fleet's 3"):
        SimulatedServer(FAST, replicas=3, several_models=several)
    with pytest.raises(InputError, match="request 1: found 2, expected a model's number"):
        serve(
            SimulatedServer(FAST, replicas=2, several_models=several, models=asked(0, 2)),
            Columns([0, 0], [1, 1], [1, 1]),
        )
    with pytest.raises(UsageError, match="a choice of models"):
        SimulatedServer(FAST, models=in_turn)
