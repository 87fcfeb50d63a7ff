"""Ablate: each technique by itself, both sides of one plan, and a reason where nothing can be said."""

import dataclasses

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError, UsageError
from caveat.measure import Slo
from caveat.simulator import TECHNIQUES, Assumed, ablate, ablation_json, changed
from caveat.simulator.ablate_peaks import affordable, range_of, ratio_range
from caveat.simulator.outcome import Peak, times_of
from caveat.simulator.scheduler import Speculation
from caveat.simulator.target import SimulatedServer
from tests.simulator.models import small
from tests.simulator.plans import Columns, S, poisson

SLO = Slo(ttft_s=0.2, tpot_s=0.05, percentile="p95")
SIZE = 600


def plan(**more):
    """Bursts of thirty, lengths of many kinds, four beginnings that are often shared."""
    rng = np.random.default_rng(1)
    columns = Columns(
        at_ns=np.sort(np.repeat(rng.uniform(0, 60 * S, SIZE // 30).astype(np.int64), 30)),
        input_tokens=rng.integers(100, 400, SIZE),
        output_tokens=np.rint(rng.lognormal(3, 1, SIZE)).astype(np.int64) + 1,
        prefixes=[[int(which)] * 6 for which in rng.integers(0, 4, SIZE)],
        block_tokens=16,
    )
    return dataclasses.replace(columns, **more)


def fleet(**settings):
    """The small model with four replicas."""
    return changed(small(), {"fleet.replicas": "4"} | settings)


ASSUMED = Assumed(kv_bytes_per_token=1e5, link_bytes_per_s=1e10)


@pytest.fixture(scope="module")
def found():
    return ablate(fleet(), plan(), SLO, assumed=ASSUMED)


def worth(found, technique):
    return next(one for one in found.worth if one.technique == technique)


def test_every_technique_has_two_sides(found):
    """In the order of the table, all with a peak and ratios that are those of their sides."""
    assert tuple(one.technique for one in found.worth) == TECHNIQUES
    for one in found.worth:
        assert one.reason == ""
        assert one.ratios.peak == pytest.approx(one.on.peak.rate_per_s / one.off.peak.rate_per_s)
        assert one.ratios.ttft_p99 == pytest.approx(one.on.outcome.ttft_s.p99 / one.off.outcome.ttft_s.p99)
        assert one.ratios.ranges == {}


def test_each_is_worth_what_it_should_be(found):
    """Shared beginnings and drafts help; bursts and mixed lengths cost, each where it must."""
    assert worth(found, "prefix reuse").on.outcome.hit_share > 0.2
    assert worth(found, "prefix reuse").off.outcome.hit_share is None
    assert worth(found, "prefix reuse").ratios.ttft_p50 < 1
    assert worth(found, "prefix-aware routing").on.outcome.hit_share > worth(found, "prefix reuse").on.outcome.hit_share
    assert worth(found, "speculative decoding").ratios.tpot_p50 < 0.7
    assert worth(found, "arrivals as they came").ratios.peak < 0.9
    assert worth(found, "arrivals as they came").ratios.ttft_p95 > 1.2
    assert worth(found, "disaggregation").on != worth(found, "disaggregation").off
    assert "of 4 replicas compute prompts" in worth(found, "disaggregation").assumed


def test_equal_sides_are_served_once_and_are_the_plain_server(found):
    """The plan as it is on the model with all off stands on one side of all but one."""
    plain = worth(found, "prefix reuse").off
    assert all(plain in (one.off, one.on) for one in found.worth if one.technique != "prefix-aware routing")
    model = fleet()
    alone = SimulatedServer(model.step_time.step_time(), model.scheduler.scheduler(model.overheads), replicas=4)
    assert times_of(alone, plan()).outcome() == plain.outcome
    assert plain.keeps is times_of(alone, plan()).keeps(SLO)


def test_draws_say_how_sure_a_ratio_is():
    """Both sides with the same draw: what they have in common falls out."""
    found = ablate(fleet(), plan(), draws=4, techniques=("speculative decoding",))
    (one,) = found.worth
    ranges = one.ratios.ranges
    assert ranges["tpot_p50"].low <= one.ratios.tpot_p50 <= ranges["tpot_p50"].high
    assert ranges["tpot_p50"].high / ranges["tpot_p50"].low < 1.2
    assert (one.on.peak, one.ratios.peak, one.on.keeps) == (None, None, None)


def test_a_highest_rate_has_a_range_and_its_ratio_a_narrower_one():
    """Draws are paired: a slower draw is slower on both sides, and most of that falls out of the ratio."""
    steps = []
    few = Columns(poisson(np.random.default_rng(3), 10, 150), [200] * 150, [20] * 150)
    only = ("speculative decoding",)
    found = ablate(small(), few, SLO, draws=5, techniques=only, step=lambda *told: steps.append(told))
    (one,) = found.worth
    assert (found.draws, found.peak_draws, steps[-1]) == (5, 5, (6, 6))
    for side in (one.off, one.on):
        assert side.peak_range.low / 1.03 <= side.peak.rate_per_s <= side.peak_range.high * 1.03
    around = one.ratios.ranges["peak"]
    assert around.low / 1.03 <= one.ratios.peak <= around.high * 1.03
    widest = max(side.peak_range.high / side.peak_range.low for side in (one.off, one.on))
    assert around.high / around.low < widest
    without = ablate(small(), few, SLO, draws=1, peak_draws=0, techniques=only)
    assert (without.peak_draws, without.worth[0].ratios.ranges.get("peak")) == (0, None)
    assert any("best guess" in note for note in without.notes)


def test_draws_of_highest_rates_are_as_many_as_a_bounded_time_allows():
    """All for a short plan, none where fewer than five could be had; a number that was asked for goes before that."""
    assert affordable(10, None, requests=600, sides=9) == 10
    assert affordable(10, None, requests=6_000, sides=9) == 6
    assert affordable(10, None, requests=12_000, sides=9) == 0
    assert affordable(3, None, requests=600, sides=9) == 3
    assert affordable(10, 2, requests=12_000, sides=9) == 2
    with pytest.raises(UsageError, match="peak_draws: found 11"):
        affordable(10, 11, requests=1, sides=1)


def test_a_range_needs_a_rate_in_every_draw():
    """Where one draw keeps its limits at no rate, the range would flatter."""
    rates = [Peak(rate_per_s=rate) for rate in (2.0, 4.0, 8.0)]
    assert range_of(rates).median == 4.0
    assert ratio_range(rates, rates).high == 1.0
    assert range_of([*rates, None]) is None
    assert ratio_range(rates, [*rates[:2], None]) is None
    assert range_of([]) is None


def test_a_model_keeps_its_own_speculation():
    """What it has is switched off for the other side."""
    own = fleet(**{"scheduler.speculation": "{draft_tokens=2, acceptance=1.0}"})
    (one,) = ablate(own, plan(), techniques=("speculative decoding",)).worth
    assert one.ratios.tpot_p50 == pytest.approx(1 / 3, rel=0.2) and one.assumed == ""
    weak = Assumed(speculation=Speculation(draft_tokens=1, acceptance=0.0))
    (one,) = ablate(fleet(), plan(), techniques=("speculative decoding",), assumed=weak).worth
    assert one.ratios.tpot_p50 == pytest.approx(1, abs=0.1) and "acceptance 0" in one.assumed


def test_what_cannot_be_said_has_a_reason():
    """One replica; nothing shared; unknown bytes; arrivals that completions make; a closed loop has no highest rate."""
    bare = plan(prefixes=(), block_tokens=0)
    found = ablate(small(), bare, SLO)
    reasons = {one.technique: one.reason for one in found.worth if one.reason}
    assert "one replica" in reasons["disaggregation"] and "one replica" in reasons["least-outstanding routing"]
    assert "nothing is known of what prompts share" in reasons["prefix reuse"]
    (split,) = ablate(fleet(), bare, techniques=("disaggregation",)).worth
    assert "bytes of keys and values" in split.reason
    closed = ablate(fleet(), plan(concurrency=8), SLO, techniques=("arrivals as they came", "prefix reuse"))
    assert "make their own arrivals" in closed.worth[0].reason
    assert closed.rate_per_s is None and closed.worth[1].on.peak is None
    assert closed.worth[1].ratios.output_tokens_per_s > 1


def test_a_share_of_the_model_stands_for_what_the_plan_does_not_say():
    """Half of every prompt, as assumed; a range by its middle; unknown is no zero."""
    bare = plan(prefixes=(), block_tokens=0)
    for hit in ("0.5", "{low=0.4, high=0.6}"):
        (one,) = ablate(fleet(prefix_hit=hit), bare, techniques=("prefix reuse",)).worth
        assert one.on.outcome.hit_share == pytest.approx(0.5, abs=0.1)  # whole blocks, and the first ones compute them
        assert "prefix_hit" in one.assumed
    (one,) = ablate(small(hit='"unknown"'), bare, techniques=("prefix reuse",)).worth
    assert one.reason


def test_the_answer_is_marked_and_is_one_object(found):
    """Simulated, with its format, its plan's size and its limits."""
    plain = ablation_json(found)
    assert (plain["format"], plain["simulated"], plain["requests"]) == ("caveat-ablated/1", True, SIZE)
    assert plain["slo"]["percentile"] == "p95" and len(plain["worth"]) == len(TECHNIQUES)
    assert msgspec.json.decode(msgspec.json.encode(found)) == plain


def test_it_tells_how_far_it_is_and_refuses_what_makes_no_sense():
    """Each technique is a step, and so is each draw of it."""
    steps = []
    ablate(fleet(), plan(), techniques=TECHNIQUES[:2], step=lambda done, of: steps.append((done, of)))
    assert steps == [(1, 2), (2, 2)]
    with pytest.raises(UsageError, match="technique: found 'magic'"):
        ablate(fleet(), plan(), techniques=("magic",))
    with pytest.raises(UsageError, match="draws: found -1"):
        ablate(fleet(), plan(), draws=-1)
    with pytest.raises(CannotSayError, match="without requests"):
        ablate(fleet(), Columns([], [], []))
    with pytest.raises(CannotSayError, match="max_num_seqs is not one number"):
        ablate(small(seats='"unknown"'), plan())


def test_arrivals_are_the_plans():
    """The rate is that of the plan."""
    rng = np.random.default_rng(2)
    found = ablate(small(), Columns(poisson(rng, 5, 400), [50] * 400, [5] * 400), techniques=("mixed lengths",))
    assert found.rate_per_s == pytest.approx(5, rel=0.15)
    assert found.worth[0].ratios.ttft_p99 == 1.0  # they were all alike before


def test_pools_are_made_of_the_replicas_that_the_other_side_has():
    """The number and the routing stay; a model's own pools are taken as they are, and its other side has one pool."""
    (assumed,) = ablate(fleet(), plan(), techniques=("disaggregation",), assumed=ASSUMED).worth
    assert assumed.assumed.startswith("as many replicas on both sides; on: 1 of 4 replicas compute prompts")
    assert assumed.assumed.endswith("round robin everywhere")
    split = "{prefill_replicas=2, kv_bytes_per_token=1e5, link_bytes_per_s=1e10, links=2}"
    (own,) = ablate(fleet(**{"fleet.disaggregation": split}), plan(), techniques=("disaggregation",)).worth
    assert "on: 2 of 4 replicas compute prompts, 2 x 10 GB/s" in own.assumed
    assert own.off == assumed.off and own.on != assumed.on


def test_what_the_fleet_has_beside_techniques_is_left_out_and_said():
    """Autoscaling and failures on neither side; of several models nothing can be said for all."""
    more = {"fleet.autoscaling.target_outstanding": "8", "fleet.failures.mean_between_s": "1000"}
    bare, switched = (ablate(one, plan(), techniques=("mixed lengths",)) for one in (fleet(), fleet(**more)))
    assert switched.worth == bare.worth
    assert switched.notes[-1] == (
        "without autoscaling and failures on both sides: 4 replicas that are always there"
    )  # fmt: skip
    two = "{others=[{kind='pieces', pieces=[{step_s=0.1}]}], shares=[0.5, 0.5]}"
    with pytest.raises(UsageError, match=r"found fleet\.several_models"):
        ablate(fleet(**{"fleet.several_models": two}), plan())
