"""What a prediction takes beside a plan: a scenario, a clock that ends a closed loop, a sink for the best guess."""

import numpy as np
import pytest

from caveat.measure import Kept, Slo, scenario_with, verdict, workload_of_scenario
from caveat.simulator import PREDICTABLE_TO, model_named, predict
from caveat.workload import Burst, Concurrency, Fixed, Limits, Poisson, Separate, Workload
from tests.simulator.models import small

LENGTHS = Separate(input=Fixed(value=100), output=Fixed(value=20))


def workload(rate, requests=150):
    return Workload(arrivals=Poisson(rate_qps=rate), lengths=LENGTHS, limits=Limits(requests=requests))


def predicted(offered, model=None, **options):
    rng = np.random.default_rng(0)
    return predict(model or small(), offered.plan(), rng, subject="simulated/1", draws=3, **options)


def test_the_best_guess_is_handed_over_and_every_simulation_counted():
    """One row a request, the sink closed; the best guess and three draws are four."""
    kept, steps = Kept(), []
    found = predicted(workload(10), best=kept, step=lambda done, of: steps.append((done, of)))
    assert kept.table().num_rows == 150
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert found.run.row("caveat-tpot-usage.p50").spread.method == "80 % of 3 draws of the model, each a simulation"


def test_stepping_gives_the_same_samples():
    """To the last nanosecond, also with noise of single requests."""
    tables = []
    for stepping in (False, True):
        kept = Kept()
        predicted(workload(10), best=kept, stepping=stepping)
        tables.append(kept.table())
    assert tables[0] == tables[1]


def test_a_closed_loop_ends_by_the_virtual_clock():
    """Nothing is sent after it, what is under way is served and counts."""
    kept = Kept()
    closed = Workload(arrivals=Concurrency(requests=4), lengths=LENGTHS, limits=Limits(requests=100_000))
    predicted(closed, best=kept, stop_after_s=2.0)
    sent = np.array(kept.table().column("sent_ns"))
    assert 10 < len(sent) < 100_000
    assert sent.max() <= 2_000_000_000
    assert set(kept.table().column("phase").to_pylist()) == {"measured"}


def test_a_scenario_is_judged_by_its_own_rules():
    """Its metrics stand in the run, its verdict follows from its validity."""
    scenario = scenario_with(
        "server", ttft_s=1.0, tpot_s=0.1, min_duration_s=1.0, min_queries=64, percentile=0.9, set_size=64
    )
    run = predicted(workload_of_scenario(scenario, LENGTHS, target_qps=10.0, seed=0), scenario=scenario).run
    assert run.row("loadgen-completed-tokens-rate") is not None
    assert run.conditions.words("scenario") == "server"
    assert verdict(run.validity) == "VALID"


def test_near_saturation_waiting_is_absent_and_limits_are_not_judged():
    """No TTFT, latency or goodput, no headroom of theirs; token times and rates stay."""
    found = predicted(workload(17.5, 400), small(seats="4"), slo=Slo(ttft_s=1.0, percentile="p90"))
    assert found.load.fraction.high > PREDICTABLE_TO
    keys = {row.metric for row in found.run.rows}
    assert not any(part in key for key in keys for part in ("ttft", "latency", "goodput"))
    assert {"caveat-tpot-usage.p50", "caveat-request-rate"} <= keys
    assert "headroom_ttft" not in found.run.conditions.known
    assert [c.outcome for c in found.run.validity if c.aspect == "latency limits"] == ["unknown"]


def test_a_model_of_one_possibility_keeps_the_scatter_of_one_run():
    """One draw is no interval; and grade C claims no first-token times."""
    found = predicted(workload(1), model_named("slots8-small"), extrapolate=True)
    spread = found.run.row("caveat-ttft.p50").spread
    assert spread is None or "draws" not in spread.method
    assert found.run.conditions.get("extrapolated") is True
    assert found.run.outcome("caveat-ttft.p50") == "unknown"


@pytest.mark.parametrize(
    "offered",
    [
        Workload(arrivals=Concurrency(requests=4), lengths=LENGTHS, limits=Limits(requests=60)),
        Workload(arrivals=Burst(), lengths=LENGTHS, limits=Limits(requests=60)),
    ],
    ids=["closed", "burst"],
)
def test_a_closed_loop_and_a_burst_have_no_load_fraction(offered):
    """Their rate is what comes of them."""
    found = predicted(offered, extrapolate=True)
    assert found.load is None
    assert found.run.conditions.state("load_fraction") == "undisclosed"
    assert found.run.row("caveat-output-tokens-rate-usage") is not None


def test_a_roofline_discloses_its_hardware():
    """As the fact tables have it."""
    c = predicted(workload(1, 40), model_named("h100x8-llama3.1-70b"), extrapolate=True).run.conditions
    assert (c.words("model"), c.words("accelerator"), c.get("accelerators")) == ("llama3.1-70b", "H100", 8)
    assert (c.words("weight_precision"), c.words("parallelism")) == ("fp8", "2 replicas of 4 accelerators")
    assert (c.words("review"), c.words("suite"), c.words("model_grade")) == ("simulated", "own simulation", "C")
