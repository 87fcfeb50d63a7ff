"""client: a generator that was the bottleneck says so."""

import numpy as np
import pytest

from caveat.measure import Client, summarize
from tests.measure.samples import samples

FINE = Client(planned=100, cpu_share=0.4, loop_lag_s=0.001, ceiling_per_s=1000.0)
DUE = np.arange(100)
MS = 1_000_000


def health(client=FINE, **columns):
    found = summarize(samples(DUE, 0.4, **columns), workload={}, client=client)
    return [(check.outcome, check.sentence) for check in found.validity if check.aspect == "client health"]


def sent_late(by_ms):
    return (np.round(DUE * 1e9) + by_ms * MS).astype(np.int64)


def test_a_client_that_kept_up_passes_in_every_respect():
    """Lateness, stall, processor, loop and ceiling, a sentence each."""
    found = health()
    assert [outcome for outcome, _ in found] == ["pass"] * 5
    assert found[0][1] == "99 % of requests left at most 0 s after they were due; 10 ms is allowed."
    assert found[4][1] == "1.006 requests/s are 0% of the 1,000 this client can send."


@pytest.mark.parametrize(
    ("client", "columns", "word"),
    [
        (
            FINE,
            {"sent_ns": sent_late(11)},
            "100 of 100 requests left more than 10 ms after they were due, at most 11 ms; 1% may.",
        ),
        (FINE, {"stall_ns": np.full(100, 20 * MS)}, "read them, at most 20 ms; 1% may. This reaches TTFT and TPOT."),
        (Client(cpu_share=0.97), {}, "97%"),
        (Client(loop_lag_s=0.05), {}, "50 ms late"),
        (Client(ceiling_per_s=1.1), {}, "91%"),
        (Client(limits=("It ran out of file descriptors at 1,024.",)), {}, "file descriptors"),
    ],
)
def test_each_sign_of_a_bottleneck_fails_the_run(client, columns, word):
    """And is named with its size."""
    failed = [sentence for outcome, sentence in health(client, **columns) if outcome == "fail"]
    assert len(failed) == 1
    assert word in failed[0]


def test_a_delay_is_judged_against_what_was_measured():
    """8 ms of lateness are nothing beside a TTFT of 200 ms and fail a run of 20 ms."""
    late = sent_late(8)
    assert health(FINE, sent_ns=late)[0][0] == "pass"
    quick = summarize(samples(DUE, 0.04, sent_ns=late), workload={}, client=FINE)
    assert "fail" in {check.outcome for check in quick.validity if check.aspect == "client health"}


def stalls(n, count, *, output=10, most_ms=20):
    """The checks on stalls of a run in which `count` of `n` first tokens, far from each other, waited 20 ms."""
    stall = np.zeros(n, dtype=np.int64)
    stall[np.linspace(3, n - 4, count).astype(int)] = most_ms * MS
    found = summarize(samples(np.arange(n), 0.4, stall_ns=stall, output=output), workload={}, client=FINE)
    (check,) = [one for one in found.validity if one.aspect == "client health" and "first tokens" in one.sentence]
    return check


@pytest.mark.parametrize(
    ("n", "count", "outcome"),
    [(64, 0, "pass"), (64, 1, "unknown"), (64, 4, "fail"), (368, 3, "pass"), (368, 4, "fail"), (367, 4, "unknown")],
)
def test_a_few_stalls_are_judged_by_what_so_few_requests_can_tell(n, count, outcome):
    """One of 64 is no p99: whether more than 1 % stall is open. From 368 requests on there is a p99."""
    assert stalls(n, count).outcome == outcome


def test_a_stall_names_how_many_and_what_it_reaches():
    """20 ms are much beside a TTFT of 200 ms and a tenth of the time to the last token: both are reached."""
    check = stalls(64, 1)
    assert check.sentence == (
        "1 of 64 first tokens waited more than 10 ms for the client's loop to read them, at most 20 ms; 1% may, and 64 "
        "requests cannot tell. This reaches TTFT and TPOT."
    )
    assert check.concerns("caveat-ttft.p99")
    assert check.concerns("caveat-tpot-usage.p50")
    assert not check.concerns("caveat-latency.p99")
    assert not check.concerns("caveat-request-rate")


def test_a_stall_that_is_short_beside_the_answer_spares_the_time_per_token():
    """The tokens of ten seconds tell their pace whatever the first one waited."""
    stall = np.full(100, 20 * MS)
    table = samples(DUE, 10.0, ttft_s=0.1, stall_ns=stall)
    found = summarize(table, workload={}, client=FINE)
    (check,) = [one for one in found.validity if "first tokens" in one.sentence]
    assert check.outcome == "fail"
    assert check.concerns("caveat-ttft.p50")
    assert not check.concerns("caveat-tpot-usage.p50")


def test_what_nobody_recorded_is_unknown():
    """Foreign samples without stall and client: unknown, never fine."""
    outcomes = [outcome for outcome, _ in health(None, stall_ns=None, sent_ns=None)]
    assert outcomes == ["unknown"] * 3


def test_virtual_time_has_no_client():
    """A modelled server is not late."""
    assert [outcome for outcome, _ in health(Client(virtual=True))] == ["not applicable"]
