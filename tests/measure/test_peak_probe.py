"""What samples say to the search: who was over, and how long waiting may take."""

import numpy as np
import pytest

from caveat.errors import CannotSayError
from caveat.measure import Client, Slo, columns_of, probe_of_samples
from tests.measure.samples import samples

DUE_S = np.arange(20) * 0.5


def probe(slo, latency_s=1.0, **columns):
    client = columns.pop("client", None)
    return probe_of_samples(columns_of(samples(DUE_S, latency_s, **columns)), slo, client=client, run="measured/1")


def test_over_is_in_order_of_arrival_and_a_failure_is_over():
    """Rows stand in any order in the file; a failed request met no limit."""
    latency = np.where(np.arange(20) == 3, 2.0, 1.0)
    errors = ["timeout" if at == 7 else None for at in range(20)]
    found = probe(Slo(latency_s=1.5), latency, error_class=errors)
    assert np.flatnonzero(found.over).tolist() == [3, 7]
    assert (found.failures, found.run) == (1, "measured/1")
    turned = columns_of(samples(DUE_S, latency, error_class=errors).take(np.arange(20)[::-1]))
    assert np.array_equal(probe_of_samples(turned, Slo(latency_s=1.5)).over, found.over)


def test_times_are_those_of_arrivals_and_of_a_quiet_request():
    """First to last due; the median latency; from the tenth percentile to the nearer limit."""
    found = probe(Slo(ttft_s=2.0, latency_s=1.25))
    assert (found.span_s, found.latency_s) == (9.5, 1.0)
    assert found.wait_s == pytest.approx(0.25)  # latency 1 s of 1.25, TTFT 0.5 s of 2
    assert probe(Slo(tpot_s=0.1)).wait_s == 0.0


def test_a_client_that_was_the_limit_is_said_to_be():
    """By the verdict that the run itself has."""
    assert probe(Slo(latency_s=2.0), client=Client(cpu_share=0.99)).client_limited
    assert not probe(Slo(latency_s=2.0), client=Client(cpu_share=0.1)).client_limited


def test_a_limit_on_what_nobody_saw_is_refused():
    """Whole answers have no TTFT."""
    table = samples(DUE_S, 1.0, first_token_ns=[None] * 20, last_token_ns=[None] * 20)
    with pytest.raises(CannotSayError, match="cannot be said"):
        probe_of_samples(columns_of(table), Slo(ttft_s=1.0))
