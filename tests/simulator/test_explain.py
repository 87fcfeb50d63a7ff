"""Explain: the accounts add up, Server passes a starved Offline and not a saturated one, one replica stands for all."""

import math

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError, InputError, UsageError
from caveat.measure import Slo
from caveat.simulator import Question, changed, decode_model, explain, explain_json, model_named
from caveat.simulator.changed_plans import Sped
from caveat.simulator.explain import accelerators_each, scales_of
from caveat.simulator.explain_scenarios import _stream
from caveat.simulator.full_batch import full_batch
from caveat.simulator.modelled import server_of
from caveat.simulator.outcome import times_of
from caveat.simulator.routers import Routing
from caveat.workload import Fixed, Lognormal, Separate
from tests.simulator.models import document, small
from tests.simulator.queues import estimate

LENGTHS = Separate(input=Lognormal(mean=100, cv=0.5), output=Lognormal(mean=60, cv=0.5))
LOOSE, TIGHT = Slo(ttft_s=2.0, tpot_s=0.1), Slo(ttft_s=0.05, tpot_s=0.1)
ASKED = Question(
    lengths=LENGTHS, server=LOOSE, interactive=TIGHT, set_size=3000, served_s=0, scales=(1, 16), batch_limits=(32,)
)


@pytest.fixture(scope="module")
def found():
    return explain(small(), ASKED)


def test_ramp_tail_and_rate_are_the_whole(found):
    """Offline = C (1 - ramp - tail), Server = C (1 - waiting): the difference is said to the last share."""
    for point in found.points:
        whole = point.full_batch_tokens_per_s
        offline = point.offline
        assert offline.tokens_per_s == pytest.approx(whole * (1 - offline.ramp - offline.tail), rel=0.03)
        assert point.server.tokens_per_s == pytest.approx(whole * (1 - point.server.waiting))
        assert point.server.ratio == pytest.approx(point.server.tokens_per_s / offline.tokens_per_s)


def test_a_starved_offline_is_passed_and_a_saturated_one_is_not(found):
    """3,000 samples on one replica are 94 a seat, on sixteen 6: the tail grows, and Server with loose limits passes."""
    one, sixteen = found.points
    assert one.offline.samples_per_seat == pytest.approx(93.75) and sixteen.offline.samples_per_seat < 6
    assert one.offline.tail < 0.05 < 0.1 < sixteen.offline.tail
    assert sixteen.server.verdict == "starved" and sixteen.server.ratio > 1.1
    assert one.interactive.verdict == "saturated" and one.interactive.ratio < one.server.ratio
    assert "Offline is starved" in sixteen.server.why and "to its tail" in sixteen.server.why


def test_as_long_as_loadgen_wants_it_the_tail_is_small():
    """With ten minutes of samples sixteen replicas are not starved: the gain was the shortness of the run."""
    asked = msgspec.structs.replace(ASKED, min_duration_s=60, scales=(16,), interactive=None)
    (point,) = explain(small(), asked).points
    assert point.offline.samples % 3000 == 0 and point.offline.duration_s > 60
    assert point.offline.tail < 0.06
    assert point.interactive is None


def test_a_full_batch_is_its_closed_form():
    """Requests all alike on an affine step: B / (E[O] t(B)), and one second of work a second."""
    lengths = Separate(input=Fixed(1), output=Fixed(100))
    server = server_of(small(), max_num_seqs=32)
    full = full_batch(server, lengths, 0)
    step_s = 0.01 + 32 * 1e-4 + 32 * 51 * 1e-8
    assert full.seats == 32
    assert full.tokens_per_s == pytest.approx(32 / step_s, rel=0.02)
    assert full.requests_per_s * 100 == pytest.approx(full.tokens_per_s)
    assert full.token_s * 32 == pytest.approx(step_s, rel=0.02)


def test_under_round_robin_one_replica_stands_for_all():
    """First-token times of four replicas under Poisson arrivals, and of one with gamma gaps of shape four: one mean
    and one p90, within their errors. Under other routers all are simulated."""
    server = server_of(small(), max_num_seqs=4)
    full = full_batch(server, LENGTHS, 0)
    asked = msgspec.structs.replace(ASKED, served_s=2000, seed=3)
    alone, plan, warm, share = _stream(server, full, asked, 4)
    assert (alone.replicas, share) == (1, 0.25)
    rate_per_s = 0.75 * 4 * full.requests_per_s
    one = times_of(alone, Sped(plan, rate_per_s * share)).since(warm).ttft_s()
    server.routing = Routing(router="random")
    fleet, plan, warm, share = _stream(server, full, asked, 4)
    assert (fleet.replicas, share) == (4, 1.0)
    fleet.routing = Routing(router="round-robin")
    all_four = times_of(fleet, Sped(plan, rate_per_s)).since(warm).ttft_s()
    p90 = np.quantile(all_four, 0.9)
    for value in (lambda ttft_s: ttft_s, lambda ttft_s: (ttft_s > p90).astype(float)):
        (a, a_half), (b, b_half) = estimate(value(one)), estimate(value(all_four))
        assert abs(a - b) < math.hypot(a_half, b_half) < 0.3 * b


def test_limits_that_nothing_keeps_are_said():
    """A step takes 10 ms: no rate gives a TPOT of 1 ms."""
    asked = msgspec.structs.replace(ASKED, server=Slo(tpot_s=0.001), interactive=None, scales=(1,))
    server = explain(small(), asked).points[0].server
    assert (server.tokens_per_s, server.ratio, server.verdict) == (None, None, None)
    assert "no rate keeps the limits of Server" in server.why


def test_the_answer_is_marked_and_is_one_object(found):
    """Simulated, with its format; the question in it can be asked again."""
    plain = explain_json(found)
    assert (plain["format"], plain["simulated"], plain["model"]) == ("caveat-explained/1", True, "small")
    assert msgspec.convert(plain["question"], Question) == ASKED
    assert len(plain["points"]) == 2 and math.isfinite(plain["points"][0]["offline"]["tail"])


def test_it_tells_how_far_it_is_and_refuses_what_is_not_known():
    """Each point is a step. Without a batch limit there is no answer."""
    steps = []
    asked = msgspec.structs.replace(ASKED, set_size=100, interactive=None, scales=(1, 2))
    explain(small(), asked, step=lambda done, of: steps.append((done, of)))
    assert steps == [(1, 2), (2, 2)]
    unknown = msgspec.structs.replace(asked, batch_limits=())
    with pytest.raises(CannotSayError, match="max_num_seqs is not one number"):
        explain(small(seats='"unknown"'), unknown)
    assert explain(small(seats='"unknown"'), unknown, max_num_seqs=8).points[0].max_num_seqs == 8
    for wrong in ({"scales": (0,)}, {"set_size": 0}, {"min_duration_s": -1.0}, {"batch_limits": (0,)}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Question(**wrong)


def test_draws_give_ranges_around_the_best_guess():
    """Each draw is asked the same. A step that is a tenth slower carries a tenth less, and moves both scenarios alike:
    the ratio is surer than either rate. Each draw of each point is a step."""
    steps = []
    asked = msgspec.structs.replace(ASKED, set_size=300, scales=(1,), interactive=Slo(tpot_s=0.0104))
    found = explain(small(), asked, draws=3, step=lambda done, of: steps.append((done, of)))
    assert (found.draws, steps) == (3, [(1, 4), (2, 4), (3, 4), (4, 4)])
    assert "80 % of 3 draws" in found.notes[-1]
    (point,) = found.points
    wide, ratio = point.ranges["full_batch_tokens_per_s"], point.ranges["server_ratio"]
    assert wide.low < point.full_batch_tokens_per_s < wide.high
    assert ratio.high / ratio.low < wide.high / wide.low
    assert "interactive_ratio" not in point.ranges  # some draw never keeps its limits


def test_without_draws_there_are_no_ranges_and_it_says_so(found):
    """Because none were asked, or because the model has none."""
    assert (found.draws, found.points[0].ranges) == (0, {})
    assert "no draws of the model were asked" in found.notes[-1]
    head, tail = document().split("[step_time.draws]")
    sure = decode_model(head + tail[tail.index("[overheads]") :])
    asked = msgspec.structs.replace(ASKED, set_size=100, interactive=None, scales=(1,))
    told = explain(sure, asked, draws=8)
    assert (told.draws, told.points[0].ranges) == (0, {})
    assert "does not say how sure it is" in told.notes[-1]


def test_scales_are_accelerators_where_the_model_says_how_many_a_replica_has():
    """Four a replica: 1 to 18 replicas are 4 to 72 accelerators. A measured step is of a server, whatever it has."""
    four = model_named("h100x8-llama3.1-70b")
    assert (accelerators_each(four), scales_of(four)) == (4, (1, 2, 4, 9, 18))
    assert (accelerators_each(small()), scales_of(small())) == (None, (1, 2, 4, 8, 18, 36, 72))
    tiny = msgspec.structs.replace(ASKED, set_size=50, interactive=None, scales=(2,))
    assert explain(four, tiny).points[0].accelerators == 8
    assert explain(small(), tiny).points[0].accelerators is None


def test_a_fleet_with_switches_is_not_scaled():
    """Its pools or its size would be another thing at each scale; how to leave them out is said."""
    scaled = changed(small(), {"fleet.autoscaling.target_outstanding": "8"})
    with pytest.raises(UsageError, match=r"found fleet\.autoscaling, expected alike replicas") as refused:
        explain(scaled, ASKED)
    assert refused.value.next == "--set fleet.autoscaling=none"
