"""Clients together: in order of time, each as it would be alone."""

import math

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import (
    Client,
    Constant,
    Diurnal,
    Fixed,
    Gamma,
    Limits,
    Mmpp,
    Points,
    Poisson,
    Separate,
    State,
    Superposition,
    Trace,
    Window,
    Windows,
    Workload,
)
from caveat.workload.streams import Stream
from tests.workload.cases import CHAT, CRITICAL, SECOND, SEEDS, kolmogorov, rows, times

MIXED = Superposition(
    (
        Client(Poisson(300.0)),
        Client(Constant(1.0)),
        Client(Trace((5, 5, 20 * SECOND))),
        Client(Windows((Window(3.0, 50.0),), end_s=8.0)),
        Client(Gamma(0.01, cv=3.0)),
        Client(Mmpp((State(0.0, 5.0), State(400.0, 1.0)))),
    )
)


def arrived(superposition: Superposition, until_s: float, seed: int = 0):
    """Times and clients before a time."""
    found_ns, found_client = [], []
    for at_ns, client in superposition.arrived(Stream(seed, (0,))):
        found_ns.append(at_ns)
        found_client.append(client)
        if at_ns[-1] >= until_s * SECOND:
            break
    at_ns, client = np.concatenate(found_ns), np.concatenate(found_client)
    return at_ns[at_ns < until_s * SECOND], client[at_ns < until_s * SECOND]


def test_clients_are_merged_in_order_and_each_is_as_alone():
    """Every client's times are those of its own child stream; ties go by the list."""
    at_ns, client = arrived(MIXED, 60.0)
    assert sorted(zip(at_ns.tolist(), client.tolist(), strict=True)) == list(
        zip(at_ns.tolist(), client.tolist(), strict=True)
    )
    for place, one in enumerate(MIXED.clients):
        alone = [t for chunk in _until(one.arrivals.times(Stream(0, (0,)).child(place)), 60.0) for t in chunk.tolist()]
        assert at_ns[client == place].tolist() == alone


def _until(chunks, until_s: float):
    for chunk in chunks:
        yield chunk[chunk < until_s * SECOND]
        if chunk[-1] >= until_s * SECOND:
            return


def test_a_client_at_the_end_of_the_list_changes_no_other():
    """Children are named by place."""
    more = Superposition((*MIXED.clients, Client(Poisson(100.0))))
    at_ns, client = arrived(more, 20.0)
    alone_ns, alone_client = arrived(MIXED, 20.0)
    assert at_ns[client < 6].tolist() == alone_ns.tolist()
    assert client[client < 6].tolist() == alone_client.tolist()


def test_poissons_together_are_poisson():
    """The rates add up: 100 seeds against a test of exponentiality; chance of a false alarm about 3e-7."""
    together = Superposition(tuple(Client(Poisson(rate)) for rate in (1.0, 2.0, 5.0, 12.0, 30.0)))
    assert together.rate() == 50.0
    for seed in SEEDS:
        gaps = np.diff(times(together, 40.0, seed), prepend=0) / SECOND * 50.0
        assert kolmogorov(gaps, -np.expm1(-gaps)) < CRITICAL


def test_bursty_clients_together_keep_their_dispersion():
    """Variances of counts add up: ten Gammas of cv 3 have the index of one, 9, over long windows.

    The estimate's own error is 6 %.
    """
    together = Superposition(tuple(Client(Gamma(10.0, cv=3.0)) for _ in range(10)))
    counts = np.concatenate(
        [np.histogram(times(together, 200.0, seed), np.arange(0, 201, 20) * SECOND)[0] for seed in SEEDS[:50]]
    )
    assert counts.mean() == pytest.approx(2000, abs=5 * math.sqrt(9 * 2000 / 500))
    assert counts.var() / counts.mean() == pytest.approx(9.0, rel=0.25)


def test_a_long_silence_is_crossed():
    """A year without anybody, then a crowd."""
    year_s = 365 * 86400
    crowd = Superposition(
        (Client(Trace((0, year_s * SECOND))), Client(Windows((Window(year_s, 1000.0),), year_s + 5.0)))
    )
    found = times(crowd, year_s + 10.0)
    assert found[0] == 0
    assert len(found) == pytest.approx(5002, abs=5 * math.sqrt(5000))


def test_clients_with_lengths_of_their_own_keep_them():
    """The second client asks for 7 and 9, the first for whatever the workload says."""
    own = Separate(input=Fixed(7), output=Fixed(9))
    clients = Superposition((Client(Poisson(20.0)), Client(Constant(1.0), lengths=own)))
    plan = Workload(arrivals=clients, lengths=CHAT, limits=Limits(duration_s=20.0)).plan()
    of_second = [row for row in rows(plan) if row[0] % SECOND == 0]
    assert [(row[1], row[2]) for row in of_second] == [(7, 9)] * 20
    words = f"synthetic: 1 of 2 clients with lengths of their own; the others {CHAT.words()}"
    assert plan.describe()["dataset"] == words


def test_no_clients_are_refused():
    """One at least."""
    with pytest.raises(InputError, match="found 0 clients, expected 1 to 10,000"):
        Superposition(())


def test_a_rate_is_known_only_where_each_client_has_one():
    """A curve has no one rate."""
    curve = Diurnal(Points(((0.0, 1.0), (1.0, 1.0))))
    assert Superposition((Client(Poisson(1.0)), Client(curve))).rate() is None
