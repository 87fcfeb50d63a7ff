"""Predictions: intervals that hold what is seen, what comes first, and what is refused."""

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError, UsageError
from caveat.figures import Figure, dump, load
from caveat.measure import Slo, summarize
from caveat.simulator.model_file import Range, Residual, Validated
from caveat.simulator.predict import predict
from caveat.simulator.predict_draws import noisy
from caveat.workload import Burst, Concurrency
from tests.simulator.engines import calibrated, plan_of, samples_of

KEYS = ("caveat-ttft.p50", "caveat-ttft.mean", "caveat-tpot-usage.p50", "caveat-tpot-usage.mean", "caveat-latency.mean")


def asked(plan, **options):
    """With few draws and a generator of its own."""
    options = {"draws": 24, "subject": "simulated/1", **options}
    return predict(options.pop("model", calibrated().model), plan, np.random.default_rng(5), **options)


@pytest.mark.full
def test_intervals_hold_what_the_engine_does_at_loads_and_lengths_that_were_not_seen():
    """Of 25 figures of five held-out plans at least 60 %; medians are within 12 % nearly always."""
    inside, errors = [], []
    for seed, (rate, tokens) in enumerate([(0.5, 100), (0.9, 100), (0.5, 180), (1.0, 60), (0.7, 130)]):
        plan = plan_of(rate, 80, 20 + seed, tokens=tokens)
        seen = summarize(samples_of(plan), workload=plan.describe())
        found = asked(plan, extrapolate=True)
        for key in KEYS:
            value, interval = seen.row(key).value, found.intervals[key]
            inside.append(interval.low <= value <= interval.high)
            errors.append(abs(interval.median / value - 1))
    assert np.mean(inside) >= 0.6
    assert np.percentile(errors, 90) < 0.12


def test_a_prediction_is_a_run_that_says_that_it_was_simulated():
    """Origin, review, grade, range and load fraction are in it; each row has its interval; it reads back."""
    found = asked(plan_of(0.6, 60, 30))
    run = found.run
    assert load(dump(run)) == run
    assert run.provenance.origin == "simulated"
    assert {key: run.conditions.get(key) for key in ("review", "model_grade", "modelled_server")} == {
        "review": "simulated",
        "model_grade": "A",
        "modelled_server": "bent",
    }
    fraction = run.conditions.get("load_fraction")
    assert fraction["low"] < fraction["median"] < fraction["high"] < 0.9
    assert "rate_per_s" in run.conditions.words("validated_range")
    assert all(row.spread is not None and row.spread.low <= row.value <= row.spread.high for row in run.rows)
    assert not any(row.metric.startswith(("caveat-certified", "caveat-send")) for row in run.rows)
    aspects = {check.aspect: check.outcome for check in run.validity}
    assert (aspects["model range"], aspects["load fraction"]) == ("pass", "pass")
    assert "client health" not in aspects
    assert any(note.startswith(found.load.words) for note in run.notes)
    assert Figure(run, "caveat-ttft.p50").text


def test_outside_the_validated_range_there_is_no_answer_unless_asked_for():
    """Exit 3 with the reason; asked for all the same, it is marked."""
    plan = plan_of(0.6, 60, 30, tokens=300)
    with pytest.raises(CannotSayError, match=r"outside the range.*input_tokens") as caught:
        asked(plan)
    assert caught.value.exit_code == 3
    found = asked(plan, extrapolate=True)
    assert found.outside
    check = next(check for check in found.run.validity if check.aspect == "model range")
    assert (check.outcome, check.sentence[:12]) == ("unknown", "Extrapolated")


def test_near_saturation_nothing_that_holds_waiting_is_told():
    """The reason is in the run; the time per token is still told."""
    found = asked(plan_of(1.4, 60, 31), extrapolate=True, slo=Slo(ttft_s=1.0))
    assert "TTFT is not predictable" in found.unpredictable
    assert not any(key.startswith(("caveat-ttft", "caveat-latency")) for key in found.intervals)
    assert "caveat-tpot-usage.p50" in found.intervals
    assert found.slo_probability is None
    assert any("not predictable" in note for note in found.run.notes)
    check = next(check for check in found.run.validity if check.aspect == "load fraction")
    assert (check.outcome, "caveat-ttft.p50" in check.metrics) == ("fail", True)


def test_the_probability_of_an_objective_goes_from_one_to_none():
    """A limit far above, one in the middle of the interval, one far below; the run says which."""
    plan = plan_of(0.6, 60, 30)
    middle = asked(plan).intervals["caveat-tpot-usage.p90"].median
    shares, outcomes = [], []
    for limit in (10 * middle, middle, middle / 10):
        found = asked(plan, slo=Slo(tpot_s=limit, percentile="p90"))
        shares.append(found.slo_probability)
        outcomes += [check.outcome for check in found.run.validity if check.aspect == "latency limits"]
    assert (shares[0], shares[2]) == (1.0, 0.0)
    assert 0.2 < shares[1] < 0.8
    assert outcomes == ["pass", "unknown", "fail"]


def test_loops_and_bursts_have_no_load_fraction_and_are_predicted():
    """Completions hold arrivals back, or all come at once."""
    for arrivals in (Concurrency(requests=3), Burst()):
        found = asked(plan_of(1.0, 30, 32, arrivals=arrivals), extrapolate=True)
        assert found.load is None
        assert found.intervals["caveat-ttft.mean"].median > 0
        assert found.run.conditions.get("load_fraction") is None


def test_several_plans_of_a_workload_widen_what_chance_decides():
    """Other seeds are other arrivals."""
    plans = [plan_of(0.7, 40, seed) for seed in range(40, 52)]
    one, many = (asked(plan, extrapolate=True).intervals["caveat-ttft.max"] for plan in (plans[0], plans))
    assert many.high / many.low > one.high / one.low


def test_an_unknown_prefix_hit_is_refused_and_a_range_is_gone_through():
    """A value given goes before; cached prompts are quicker."""
    plan = plan_of(0.6, 40, 30)
    unknown = msgspec.structs.replace(calibrated().model, prefix_hit="unknown")
    with pytest.raises(CannotSayError, match="prefix_hit is unknown"):
        asked(plan, model=unknown)
    none, much = (asked(plan, model=unknown, prefix_hit=hit, extrapolate=True) for hit in (0.0, 0.6))
    assert much.intervals["caveat-ttft.p50"].median < 0.8 * none.intervals["caveat-ttft.p50"].median
    ranged = msgspec.structs.replace(calibrated().model, prefix_hit=Range(low=0.0, high=0.6))
    found = asked(plan, model=ranged, extrapolate=True).intervals["caveat-ttft.p50"]
    assert found.high / found.low > 1.5


def test_the_noise_of_requests_keeps_medians_and_spreads_the_rest():
    """First tokens by 20 %, token times by 10 %; what did not happen stays unknown, and no time runs backwards."""
    samples = samples_of(plan_of(0.3, 400, 33))
    changed = noisy(samples, Residual(ttft_sd=0.2, token_sd=0.1), np.random.default_rng(1))
    first = [table["first_token_ns"].to_numpy() - table["ready_ns"].to_numpy() for table in (samples, changed)]
    ratios = np.log(first[1] / first[0])
    assert np.median(ratios) == pytest.approx(0.0, abs=0.04)
    assert ratios.std() == pytest.approx(0.2, rel=0.15)
    assert np.all(changed["last_token_ns"].to_numpy() >= changed["first_token_ns"].to_numpy())
    assert changed.schema == samples.schema
    assert noisy(samples, Residual(), np.random.default_rng(1)) is samples


def test_draws_and_plans_that_make_no_sense_are_refused():
    """No draw; no request."""
    with pytest.raises(UsageError, match="draws: found 0"):
        asked(plan_of(0.6, 5, 30), draws=0)
    bare = msgspec.structs.replace(calibrated().model, validated=Validated())
    with pytest.raises(CannotSayError, match="nothing was validated"):
        asked(plan_of(0.6, 20, 30), model=bare)
