"""The truth that the peak search is tested against, itself tested: M/D/1 values, and a long simulation."""

import numpy as np
import pytest

from tests.measure.mdn import peak_load, wait_cdf, waits


@pytest.mark.parametrize(
    ("load", "wait", "share"), [(0.5, 2.0506, 0.95), (0.8, 1.2759, 0.5), (0.8, 6.6203, 0.95), (0.9, 3.0130, 0.5)]
)
def test_one_server_has_the_known_percentiles(load, wait, share):
    """The reference's values of M/D/1."""
    assert wait_cdf(wait, load, 1) == pytest.approx(share, abs=2e-5)


def test_nobody_waits_as_often_as_a_server_is_free():
    """P(no wait) of M/D/1 is one less the load."""
    assert wait_cdf(0.0, 0.8, 1) == pytest.approx(0.2)


@pytest.mark.parametrize(("servers", "limit"), [(4, 2.0), (16, 1.5)])
def test_a_long_simulation_at_the_peak_has_the_allowed_share_over(servers, limit):
    """Twenty blocks of 100,000 agree with 1 % within five standard errors."""
    load = peak_load(servers, limit)
    waited, _ = waits(load * servers, servers, 2_000_000, np.random.default_rng(7))
    blocks = (waited > limit - 1).reshape(20, -1).mean(axis=1)
    assert abs(blocks.mean() - 0.01) < 5 * blocks.std(ddof=1) / np.sqrt(20)
