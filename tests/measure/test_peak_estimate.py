"""The crossing from probes: what moves it, what widens it, what cannot break it."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.measure.peak_estimate import Seen, crossing, dispersion_of, over_share

SHARE = 0.01


def seen(rate, queries, over, dispersion=1.0, long=True):
    return Seen(log_rate=math.log(rate), queries=queries, over=over, dispersion=dispersion, backlog=0.0, long=long)


def on_line(slope, peak, rates, queries):
    """Probes that lie on the line exactly, with counts rounded."""
    shares = over_share(np.log(rates), np.array(math.log(peak)), np.array(slope), SHARE)
    return [seen(rate, queries, round(queries * share)) for rate, share in zip(rates, shares, strict=True)]


def test_probes_on_a_line_give_its_crossing_back():
    """And its slope, about."""
    found = crossing(on_line(12.0, 50.0, [42, 46, 50, 54, 58], 100_000), SHARE, 0.9, math.log(48))
    assert abs(found.middle - math.log(50)) < 0.003
    assert 10 < found.slope < 14
    assert found.low < math.log(50) < found.high


def test_clusters_widen_the_interval():
    """The same counts, each event in a cluster of thirty."""
    calm = on_line(12.0, 50.0, [42, 46, 50, 54, 58], 20_000)
    rough = [seen(math.exp(s.log_rate), s.queries, s.over, dispersion=30.0) for s in calm]
    around = math.log(50)
    assert crossing(rough, SHARE, 0.9, around).width > 1.5 * crossing(calm, SHARE, 0.9, around).width


def test_probes_that_disagree_widen_it_too():
    """Every second probe has three times as many over as the line says."""
    calm = on_line(8.0, 50.0, [44, 46, 48, 50, 52, 54, 56], 30_000)
    torn = [seen(math.exp(s.log_rate), s.queries, s.over * (3 if at % 2 else 1)) for at, s in enumerate(calm)]
    found = crossing(torn, SHARE, 0.9, math.log(50))
    assert found.misfit > 5
    assert found.width > 2 * crossing(calm, SHARE, 0.9, math.log(50)).width


def test_a_cliff_is_bracketed_by_its_two_sides():
    """None over below, nearly all above: no slope can be fitted, and the crossing lies between."""
    probes = [seen(90, 20_000, 0), seen(96, 20_000, 0), seen(104, 2_000, 1_900), seen(110, 2_000, 2_000)]
    found = crossing(probes, SHARE, 0.9, math.log(100))
    assert math.log(80) < found.low < math.log(96) < found.middle < math.log(104)
    assert found.high < math.log(106)


def test_far_above_only_the_side_counts():
    """How much too fast a hopeless probe was does not move the crossing."""
    near = on_line(12.0, 50.0, [46, 50, 54], 50_000)
    half, whole = (crossing([*near, seen(80, 1_000, over)], SHARE, 0.9, math.log(50)) for over in (500, 1_000))
    assert abs(half.middle - whole.middle) < 0.002


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(5, 20), st.integers(50, 50_000), st.floats(0, 1), st.floats(1, 500)), min_size=1, max_size=8
    )
)
def test_whatever_was_seen_the_interval_is_finite_and_in_order(probes):
    """Low, middle and high in order, inside the grid, none of them NaN; misfit and dispersion at least one."""
    seens = [seen(rate, queries, round(part * queries), spread) for rate, queries, part, spread in probes]
    found = crossing(seens, SHARE, 0.9, math.log(10))
    assert math.log(10) - 0.6 < found.low < found.middle < found.high < math.log(10) + 0.6
    assert found.misfit >= 1
    assert found.dispersion >= 1


def test_flags_without_an_event_have_no_clusters():
    """Nor have those without anything else."""
    assert dispersion_of(np.zeros(100, bool)) == dispersion_of(np.ones(100, bool)) == 1.0
    assert dispersion_of(np.repeat([False, True, False], [400, 30, 400])) > 10
