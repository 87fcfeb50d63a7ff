"""Prometheus text is read as far as sums of series, and anything else is harmless."""

from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.prometheus import read_metrics

TEXT = rb"""# HELP vllm:num_requests_running Number
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b \"}\" c"} 2.0
vllm:num_requests_running{engine="1"} 3.0 1700000000000
plain 1e3
broken{a="b} 5
nothing NaN
most +Inf
two words here
"""


def test_series_of_a_name_are_added_up():
    """Labels may hold anything; what is not a finite number is left out."""
    assert read_metrics(TEXT) == {"vllm:num_requests_running": 5.0, "plain": 1000.0}


@given(st.binary(max_size=200))
def test_any_bytes_are_harmless(text):
    """A dictionary of numbers comes back."""
    assert all(isinstance(value, float) for value in read_metrics(text).values())
