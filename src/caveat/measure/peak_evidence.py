"""What a probe says: to the estimate of the crossing, to the answer, and of a system that is not one steady system."""

from __future__ import annotations

import itertools
import math

import numpy as np

from caveat.measure.early_stopping import queries_needed
from caveat.measure.peak_estimate import Crossing, Seen, dispersion_of
from caveat.measure.peak_records import PeakAsk, PeakGoal, PeakProbe, ProbeRow

_ODD = 3.0  # standard errors by which a share may fall as the rate rises


def seen_of(ask: PeakAsk, probe: PeakProbe) -> Seen:
    """A probe without its start: an empty system flatters. At most a quarter is left out."""
    queries, backlog = len(probe.over), ask.rate_qps * probe.wait_s
    start = max(0.05 * queries, 3 * ask.rate_qps * probe.latency_s, 0.5 * backlog**2)
    over = probe.over[int(min(queries / 4, start)) :]
    return Seen(
        log_rate=math.log(_offered(ask, probe)),
        queries=len(over),
        over=int(np.count_nonzero(over)),
        dispersion=dispersion_of(over),
        backlog=backlog,
        long=ask.purpose == "estimate",
    )


def _offered(ask: PeakAsk, probe: PeakProbe) -> float:
    """The rate that the arrivals really had, where it differs by chance alone: a free control variate.

    For Poisson arrivals the covariance of over count and number of arrivals is the derivative of the share, so that
    moving a probe along the line by its chance is the best linear correction. A trace has a shape, and is left alone.
    """
    queries = len(probe.over)
    if queries < 1_000 or not probe.span_s > 0:
        return ask.rate_qps
    rate = (queries - 1) / probe.span_s
    return rate if abs(rate / ask.rate_qps - 1) < 4 / math.sqrt(queries) else ask.rate_qps


def row_of(ask: PeakAsk, probe: PeakProbe, goal: PeakGoal) -> ProbeRow:
    """The probe as the answer keeps it, certified where its whole length passed early stopping."""
    over, queries = int(np.count_nonzero(probe.over)), len(probe.over)
    whole = queries >= ask.queries
    hopeful = over <= goal.share * queries  # a search for the budget of a hopeless count would be long
    return ProbeRow(
        number=ask.number,
        purpose=ask.purpose,
        rate_qps=ask.rate_qps,
        queries=queries,
        over=over,
        failures=probe.failures,
        seconds=probe.span_s,
        seed=ask.seed,
        certified=whole and hopeful and queries >= queries_needed(1 - goal.share, over),
        client_limited=probe.client_limited,
        run=probe.run,
    )


def oddities(seen: list[Seen], found: Crossing | None) -> list[str]:
    """What does not look like one steady system with more over at higher rates."""
    if found is None:
        return []
    said = []
    if found.misfit > 2:
        said.append(
            f"The probes differ {found.misfit:.1f} times more than queueing explains; the interval allows for it."
        )
    ordered = sorted((probe for probe in seen if probe.long), key=lambda probe: probe.log_rate)
    for slow, fast in itertools.pairwise(ordered):
        both = (slow.over + fast.over) / (slow.queries + fast.queries)
        error = math.sqrt(found.dispersion * both * (1 - both) * (1 / slow.queries + 1 / fast.queries))
        if slow.share - fast.share > _ODD * error > 0:
            said.append(
                f"Fewer were over at {math.exp(fast.log_rate):.4g} requests/s ({fast.share:.2%}) than at "
                f"{math.exp(slow.log_rate):.4g} ({slow.share:.2%}): the system may have changed between the probes."
            )
    return said
