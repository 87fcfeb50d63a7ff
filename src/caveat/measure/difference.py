"""Whether two runs differ in a metric: their ratio with an interval that knows how alike neighbours are.

It answers "is there a difference", never "may they be compared": that is for the rules of comparison. One question at
a time: who asks of twenty metrics at 95 % will be told of one difference that is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caveat.errors import UsageError
from caveat.figures import METRICS, Metric
from caveat.measure import intervals
from caveat.measure.blocks import FEWEST_EFFECTIVE, Dependence, dependence, resampled_means
from caveat.measure.columns import Floats, SampleColumns, Samples, columns_of
from caveat.measure.latencies import decode_ns, values_of
from caveat.measure.percentiles import SHARES
from caveat.measure.rates import steady_edges, steady_requests, steady_tokens
from caveat.measure.tokens import SOURCES, Tokens, token_counts
from caveat.measure.windows import WarmUp, Window, window_of

_NOT_ASKED = "expected a mean or percentile of a latency, or a rate of the steady window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`ratio` is the value of b over that of a; `different` whether its interval leaves out 1.

    Where samples cannot answer, `different` is None and `reason` says why; what is not known is None.
    """

    metric: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    different: bool | None = None
    method: str = ""
    n_effective: tuple[float, float] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Side:
    """One run, seen through one metric: its value is the sum of the first column over that of the second."""

    columns: Floats
    held: Dependence

    @property
    def value(self) -> float:
        above, below = self.columns.sum(axis=0)
        return float(above / below)


def difference(
    a: Samples,
    b: Samples,
    metric: str,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    warmup: WarmUp | None = None,
) -> Difference:
    """The ratio of b to a in a metric, with its interval.

    Means and rates by moving-block bootstrap of both runs, independently; percentiles by the order-statistic intervals
    of both, joined on the logarithm (MOVER, Zou and Donner 2008). UsageError for a metric that has no such ratio.
    """
    asked = METRICS.get(metric)
    if asked is None:
        raise UsageError(f"metric: found {metric!r}, expected the key of a defined metric", next="see docs/metrics.md")
    sides = []
    for samples in (a, b):
        columns = columns_of(samples)
        window = window_of(columns, warmup)
        sides.append(_series(asked, columns, window, token_counts(columns, window)))
    if any(not len(side) for side in sides):
        return Difference(metric=metric, reason="a run has no request with the times or counts that it needs")
    if asked.statistic in SHARES:
        return _of_percentiles(asked, sides[0][:, 0], sides[1][:, 0], confidence)
    return _of_means(metric, _side(sides[0]), _side(sides[1]), confidence, seed)


def _series(asked: Metric, columns: SampleColumns, window: Window, tokens: Sequence[Tokens]) -> Floats:
    """Shape (n, 2), in order of arrival: what is summed, and what it is divided by. Empty where nothing is known."""
    if asked.statistic == "rate":
        return _binned(asked, columns, window, tokens)
    if asked.definition.startswith("caveat-tpot-weighted-"):
        one = _counted_by(asked, tokens)
        return np.empty((0, 2)) if one is None else _known(decode_ns(columns, window), one.output - 1)
    values = values_of(asked.definition, columns, window, tokens)
    if asked.statistic not in ("mean", *SHARES) or (values is None and not _needs_tokens(asked)):
        raise UsageError(f"metric: found {asked.key}, {_NOT_ASKED}")
    return np.empty((0, 2)) if values is None else _known(values, np.ones(len(values)))


def _known(above: Floats, below: Floats) -> Floats:
    """Requests of which both are known and the divisor is not zero."""
    known = ~np.isnan(above) & ~np.isnan(below) & (below > 0)
    return np.column_stack((above[known], below[known]))


def _binned(asked: Metric, columns: SampleColumns, window: Window, tokens: Sequence[Tokens]) -> Floats:
    if "-steady" not in asked.definition:
        raise UsageError(
            f"metric: found {asked.key}, {_NOT_ASKED}: a rate over ramps has no interval",
            next="ask for caveat-request-rate-steady or caveat-output-tokens-rate-steady-usage",
        )
    edges, one = steady_edges(window), _counted_by(asked, tokens)
    if edges is None or (one is None and _needs_tokens(asked)):
        return np.empty((0, 2))
    bins = steady_requests(columns, edges) if one is None else steady_tokens(columns, edges, one.source)
    return np.column_stack((bins, np.ones(len(bins))))


def _needs_tokens(asked: Metric) -> bool:
    return asked.token_source in (words for *_, words in SOURCES)


def _counted_by(asked: Metric, tokens: Sequence[Tokens]) -> Tokens | None:
    return next((one for one in tokens if one.words == asked.token_source and one.counted.complete), None)


def _side(columns: Floats) -> _Side:
    above, below = columns[:, 0], columns[:, 1]
    return _Side(columns, dependence(above - above.sum() / below.sum() * below))


def _of_means(metric: str, a: _Side, b: _Side, confidence: float, seed: int) -> Difference:
    effective = (a.held.n_effective, b.held.n_effective)
    if not (a.value > 0 and b.value > 0):
        return Difference(metric=metric, n_effective=effective, reason="a value is zero: there is no ratio")
    ratio = b.value / a.value
    if min(effective) < FEWEST_EFFECTIVE:
        return Difference(metric=metric, ratio=ratio, n_effective=effective, reason=_too_few(effective))
    rngs = np.random.default_rng(seed).spawn(2)
    logs = [_resampled_logs(side, rng) for side, rng in zip((a, b), rngs, strict=True)]
    blocks = min(side.held.n // side.held.block for side in (a, b))
    low, high = intervals.bootstrap_ends(logs[1] - logs[0], math.log(ratio), confidence, blocks)
    method = (
        f"{100 * confidence:.4g} % of the ratio, moving-block bootstrap of both runs, "
        f"blocks of {a.held.block:,} and {b.held.block:,}"
    )
    return _answer(metric, ratio, math.exp(low), math.exp(high), method, effective)


def _resampled_logs(side: _Side, rng: np.random.Generator) -> Floats:
    means = resampled_means(side.columns, side.held.block, rng)
    with np.errstate(divide="ignore"):  # a resample that is zero throughout is minus infinity, and stays so
        return np.log(means[:, 0] / means[:, 1])


def _of_percentiles(asked: Metric, a: Floats, b: Floats, confidence: float) -> Difference:
    found = [intervals.quantile(x, np.sort(x), SHARES[asked.statistic], confidence) for x in (a, b)]
    for side in found:
        if isinstance(side, intervals.TooFew):
            return Difference(metric=asked.key, reason=side.reason)
    one, other = (side for side in found if isinstance(side, intervals.Estimate))
    effective = (one.n_effective, other.n_effective)
    if not (one.value > 0 and other.value > 0):
        return Difference(metric=asked.key, n_effective=effective, reason="a value is zero: there is no ratio")
    ratio = other.value / one.value
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Difference(metric=asked.key, ratio=ratio, n_effective=effective, reason=_too_few(effective))
    low = ratio * math.exp(-math.hypot(_log_ratio(other.value, other.low), _log_ratio(one.high, one.value)))
    high = ratio * math.exp(math.hypot(_log_ratio(other.high, other.value), _log_ratio(one.value, one.low)))
    method = f"{100 * confidence:.4g} % of the ratio, order statistics of both runs joined by MOVER"
    return _answer(asked.key, ratio, low, high, method, effective)


def _log_ratio(above: float, below: float) -> float:
    return math.log(above / below) if below > 0 else math.inf


def _answer(
    metric: str, ratio: float, low: float, high: float, method: str, effective: tuple[float, float]
) -> Difference:
    return Difference(
        metric=metric,
        ratio=ratio,
        low=low,
        high=high,
        different=not low <= 1 <= high,
        method=method,
        n_effective=effective,
    )


def _too_few(effective: tuple[float, float]) -> str:
    told = " and ".join(f"{n:,.0f}" for n in effective)
    return f"the runs tell as much as {told} independent requests, expected {FEWEST_EFFECTIVE:g} of each"
