"""Certified percentiles: the bound below which a percentile lies with 99 % confidence, beside the empirical ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caveat.figures import METRICS
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.early_stopping import certified, fewest_to_certify
from caveat.measure.latencies import VALUES, tpot_ns
from caveat.measure.percentiles import SHARES
from caveat.measure.rows import Absent, Item, plain_row
from caveat.measure.tokens import Tokens
from caveat.measure.windows import Window
from caveat.units import NS_PER_S


def certified_rows(columns: SampleColumns, window: Window, tokens: Sequence[Tokens]) -> Iterator[Item]:
    """The certified percentiles of every latency that has them in the table of metrics. A failure counts as never."""
    yield from _rows("caveat-certified-ttft", _all("caveat-ttft", columns, window))
    yield from _rows("caveat-certified-latency", _all("caveat-latency", columns, window))
    for one in tokens:
        tpot = np.where(window.ok, tpot_ns(columns, window, one), np.inf)
        yield from _rows(f"caveat-certified-tpot-{one.source}", tpot)


def _all(definition: str, columns: SampleColumns, window: Window) -> Floats:
    return np.where(window.ok, VALUES[definition](columns, window), np.inf)


def _rows(definition: str, values: Floats) -> Iterator[Item]:
    known = values[~np.isnan(values)]
    for metric in (metric for metric in METRICS.values() if metric.definition == definition):
        share = SHARES[metric.statistic]
        found = certified(known, share)
        if found is None:
            reason = f"found {len(known):,} requests with a time, expected {fewest_to_certify(share):,} to certify it"
            yield Absent(metric.key, reason)
        elif np.isinf(found):
            yield Absent(metric.key, "too many requests failed to certify it")
        else:
            yield plain_row(metric.key, found / NS_PER_S, len(known))
