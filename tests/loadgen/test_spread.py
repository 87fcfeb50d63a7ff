"""A spread holds quantiles to an eighth, in a fixed amount of memory."""

from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.spread import Spread

TIMES = st.lists(st.integers(0, 1 << 50), min_size=1, max_size=50)


@given(times=TIMES, share=st.floats(0.01, 1.0))
def test_a_quantile_is_never_too_low_and_at_most_an_eighth_too_high(times, share):
    """Compared with the value of that rank."""
    spread = Spread()
    for ns in times:
        spread.add(ns)
    exact = sorted(times)[max(0, -int(-share * len(times) // 1) - 1)]
    found = spread.quantile(share)
    assert found is not None and exact <= found <= exact * 1.125 + 1 and spread.count == len(times)


@given(first=TIMES, second=TIMES)
def test_merging_is_counting_together(first, second):
    """As processes do."""
    parts, both = [Spread(), Spread()], Spread()
    for part, times in zip(parts, (first, second), strict=True):
        for ns in times:
            part.add(ns)
            both.add(ns)
    parts[0].merge(parts[1].counts().items(), parts[1].largest_ns)
    assert (parts[0].counts(), parts[0].largest_ns, parts[0].count) == (both.counts(), both.largest_ns, both.count)


def test_of_nothing_there_is_no_quantile():
    """Unknown, not zero; and what is negative counts as zero."""
    spread = Spread()
    assert spread.quantile(0.5) is None
    spread.add(-5)
    assert (spread.quantile(0.5), spread.largest_ns) == (0, 0)
