"""An ablation near saturation: each side has a load, and first-token times are told only where both are far from it."""

import numpy as np
import pytest

from caveat.measure import Slo
from caveat.simulator import ablate
from caveat.simulator.capacity import PREDICTABLE_TO
from caveat.simulator.standing import standing_of
from caveat.workload import Fixed, Gamma, Limits, Lognormal, Poisson, Separate, Workload
from tests.simulator.models import small

LENGTHS = Separate(input=Fixed(value=100), output=Lognormal(mean=20, cv=1))
SLO = Slo(ttft_s=2.0)


def plan(arrivals, requests=400):
    return Workload(arrivals=arrivals, lengths=LENGTHS, limits=Limits(requests=requests)).plan()


def worth(model, offered, technique, **options):
    return ablate(model, offered, techniques=(technique,), **options).worth[0]


def test_the_load_of_a_side_is_that_of_its_own_model():
    """Without techniques it is the model's as it stands; with cheap drafts the same requests are less load."""
    offered = plan(Poisson(rate_qps=40))
    found = worth(small(), offered, "speculative decoding")
    assert found.off.load == standing_of(small(), offered, extrapolate=True).load.fraction
    assert found.on.load.median < 0.7 * found.off.load.median
    assert found.untold == "" and found.ratios.ttft_p95 is not None


def test_past_the_limit_no_side_tells_first_tokens_and_none_is_judged():
    """The reason has both loads; token times and rates are told, draws of first tokens are not."""
    found = worth(small(seats="4"), plan(Poisson(rate_qps=60)), "mixed lengths", slo=SLO, draws=2, peak_draws=0)
    assert min(found.off.load.high, found.on.load.high) > PREDICTABLE_TO
    assert found.untold.startswith("TTFT is not predictable: the load fraction is 3.")
    assert (found.ratios.ttft_p50, found.ratios.ttft_p95, found.ratios.ttft_p99) == (None, None, None)
    assert [name for name in found.ratios.ranges if name.startswith("ttft")] == []
    assert found.ratios.tpot_p50 is not None
    for side in (found.off, found.on):
        assert (side.outcome.ttft_s.p50, side.outcome.latency_s.p99, side.keeps) == (None, None, None)
        assert side.outcome.tpot_s.p50 > 0


@pytest.mark.parametrize(("cv", "low", "high"), [(6.0, 1.3, 100.0), (1.0, 0.8, 1.25)])
def test_arrivals_as_they_came_are_held_against_independent_ones(cv, low, high):
    """Bursty ones wait longer than as many that come independently; independent ones about as long."""
    found = worth(small(seats="16"), plan(Gamma(rate_qps=40, cv=cv), 1500), "arrivals as they came")
    assert found.untold == ""
    assert low < found.ratios.ttft_p95 < high
    assert np.isfinite(found.ratios.ttft_p99)
