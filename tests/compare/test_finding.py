"""Severities have one order."""

from hypothesis import given
from hypothesis import strategies as st

from caveat.compare import RATIO_ALLOWED, SEVERITIES, Finding, worst


def finding(severity):
    return Finding(rule="scenario", severity=severity, message="m", left="l", right="r", remedy="n")


def test_the_order_of_severities():
    """not-comparable > unknown > comparable-with-caveats > comparable."""
    assert SEVERITIES == ("comparable", "comparable-with-caveats", "unknown", "not-comparable")
    assert SEVERITIES[:2] == RATIO_ALLOWED
    assert worst(()) == "comparable"


@given(st.lists(st.sampled_from(SEVERITIES), min_size=1))
def test_the_worst_wins_in_any_order(severities):
    """However many milder ones stand beside it."""
    assert worst(map(finding, severities)) == max(severities, key=SEVERITIES.index)
