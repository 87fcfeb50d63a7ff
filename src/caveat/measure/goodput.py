"""Goodput: requests that met every limit, as a rate and as a share. A failure is a miss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.errors import UsageError
from caveat.figures import METRICS, Check, Outcome, Row
from caveat.measure import intervals
from caveat.measure.blocks import dependence
from caveat.measure.columns import Flags, Floats, SampleColumns
from caveat.measure.latencies import VALUES, tpot_ns, values_of
from caveat.measure.percentiles import SHARES
from caveat.measure.rates import rate_row
from caveat.measure.rows import Absent, Item, row_of
from caveat.measure.tokens import Tokens
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Limits in seconds, None where there is none: TTFT and latency from when a request was due, TPOT per request.

    `percentile` is that at which the run as a whole must keep them: p50, p90, p95, p99 or p99.9. UsageError else.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None
    percentile: str = "p99"

    def __post_init__(self) -> None:
        limits = {"ttft_s": self.ttft_s, "tpot_s": self.tpot_s, "latency_s": self.latency_s}
        if all(limit is None for limit in limits.values()):
            raise UsageError(f"limits: found none, expected at least one of {', '.join(limits)}")
        for name, limit in limits.items():
            if limit is not None and not 0 < limit < math.inf:
                raise UsageError(f"limits: {name}: found {limit}, expected seconds above zero")
        if self.percentile not in SHARES or f"caveat-ttft.{self.percentile}" not in METRICS:
            raise UsageError(f"limits: percentile: found {self.percentile!r}, expected p50, p90, p95, p99 or p99.9")


def met(columns: SampleColumns, window: Window, tokens: Sequence[Tokens], slo: Slo) -> Flags:
    """Which measured requests met every limit. A TPOT of one token, or of one piece, cannot be too long."""
    kept = window.ok.copy()
    for limit, definition in ((slo.ttft_s, "caveat-ttft"), (slo.latency_s, "caveat-latency")):
        if limit is not None:
            kept &= VALUES[definition](columns, window) <= limit * NS_PER_S
    if slo.tpot_s is not None and tokens:
        tpot = tpot_ns(columns, window, tokens[0])
        kept &= np.isfinite(tokens[0].output) & ~(tpot > slo.tpot_s * NS_PER_S)
    return kept


def goodput_rows(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], slo: Slo | None, confidence: float
) -> Iterator[Item]:
    """Requests that met the limits per second, and their share of all measured ones."""
    refused = why_no_goodput(columns, window, tokens, slo)
    if slo is None or refused:
        yield from (Absent(key, refused) for key in ("caveat-goodput", "caveat-goodput-share"))
        return
    kept = met(columns, window, tokens, slo)
    notes = _unjudged(tokens, slo)
    yield rate_row("caveat-goodput", float(kept.sum()), window.length_ns, len(kept), notes)
    yield row_of("caveat-goodput-share", intervals.share(kept, confidence), notes=notes)


def why_no_goodput(columns: SampleColumns, window: Window, tokens: Sequence[Tokens], slo: Slo | None) -> str:
    """Why nobody can say which requests met the limits; empty where one can."""
    if slo is None:
        return "no limits were given"
    limited = slo.ttft_s is not None or slo.tpot_s is not None
    if limited and window.ok.any() and not np.isfinite(VALUES["caveat-ttft"](columns, window)).any():
        return "TTFT or TPOT has a limit and no answer has the time of a token"
    if slo.tpot_s is not None and not (tokens and tokens[0].counted.complete):
        return "TPOT has a limit and the tokens of too many requests were not counted"
    return ""


def _unjudged(tokens: Sequence[Tokens], slo: Slo) -> tuple[str, ...]:
    if slo.tpot_s is None or not tokens[0].counted.missing:
        return ()
    counted = tokens[0].counted
    missing = f"{counted.missing:,} of {counted.successes:,} successes"
    return (f"{missing} have no count of tokens and are taken as misses: this is a floor",)


# limit, words, metric definition ("{source}": who counted), condition of the limit, condition of the headroom
_LIMITS = (
    ("ttft_s", "TTFT", "caveat-ttft-all", "caveat-ttft", "ttft_limit_s", "headroom_ttft"),
    ("tpot_s", "TPOT", "caveat-tpot-{source}", "caveat-tpot-{source}", "tpot_limit_s", "headroom_tpot"),
    ("latency_s", "latency", "caveat-latency-all", "caveat-latency", "latency_limit_s", "headroom_latency"),
)


# A latency beyond its limit is still that latency; a rate at which the limits were missed is none to plan with.
RATES = tuple(key for key, metric in METRICS.items() if metric.statistic == "rate" and key != "caveat-offered-rate")


def limit_checks(
    columns: SampleColumns,
    window: Window,
    tokens: Sequence[Tokens],
    slo: Slo | None,
    items: Iterable[Item],
    confidence: float,
) -> Iterator[Check]:
    """Whether the percentile of each limited latency kept its limit, failures counting as never. Speaks for rates.

    Decided by the share of requests that kept it, which has an interval where the percentile has none. Where that
    lies on both sides of what is asked, a percentile that could be had decides; without one it cannot be said.
    """
    found = {item.metric: item for item in items}
    for name, words, judged, *_ in _LIMITS if slo else ():
        limit = getattr(slo, name)
        if limit is None or slo is None:
            continue
        definition = judged.format(source=tokens[0].source if tokens else "usage")
        item = found.get(f"{definition}.{slo.percentile}", Absent(definition, "no tokens were counted"))
        values = values_of(definition, columns, window, tokens)
        known = np.empty(0) if values is None else values[~np.isnan(values)]
        outcome, how = _kept(known, limit, SHARES[slo.percentile], item, confidence)
        sentence = f"{slo.percentile} {words} {how}."
        yield Check(aspect="latency limits", outcome=outcome, sentence=sentence, metrics=RATES)


def _kept(values: Floats, limit_s: float, asked: float, item: Item, confidence: float) -> tuple[Outcome, str]:
    """Whether a limit was kept by the share asked for, and in words why. `item` is the percentile's row, if any.

    Values are nanoseconds in order of arrival, infinite where a request failed.
    """
    limit = format_seconds(limit_s)
    if not len(values):
        reason = item.reason if isinstance(item, Absent) else "no request has a time"
        return "unknown", f"against {limit} cannot be said: {reason}"
    met = intervals.share(values <= limit_s * NS_PER_S, confidence)
    assert met.low is not None
    assert met.high is not None
    low = min(met.low, _low_of_dependent(values, met, confidence))
    shown = low if met.low >= asked else met.low  # the end that decides
    share = f"{met.value:.1%} of {len(values):,} requests kept it ({shown:.1%} to {met.high:.1%})"
    counted = f"{share}, {100 * asked:g}% must"
    if isinstance(item, Row):
        outcome: Outcome = "pass" if item.value <= limit_s else "fail"
        return outcome, f"{format_seconds(item.value)}, limit {limit}: {counted}"
    if met.high < asked:
        return "fail", f"missed {limit}: {counted}"
    return ("pass", f"kept {limit}: {counted}") if low >= asked else ("unknown", f"against {limit} is open: {counted}")


def _low_of_dependent(values: Floats, met: intervals.Estimate, confidence: float) -> float:
    """The lower end, were the requests that kept the limit as alike as their latencies are.

    Where every request kept it, the series of yes and no is constant and says nothing of how alike neighbours are.
    """
    finite = values[np.isfinite(values)]
    alike = min(met.n_effective, dependence(finite).n_effective) if len(finite) else met.n_effective
    return intervals.wilson(met.value, alike, confidence)[0]


def limit_conditions(slo: Slo | None, tokens: Sequence[Tokens], items: Iterable[Item]) -> dict[str, float]:
    """The limits as conditions, and how near the percentile that they are for came to them.

    In a scenario that is LoadGen's percentile: it exists of any sample, and the verdict is made of it.
    """
    if slo is None:
        return {}
    values = {item.metric: item.value for item in items if isinstance(item, Row)}
    conditions: dict[str, float] = {"limit_percentile": SHARES[slo.percentile]}
    for name, words, _, definition, limit_key, headroom_key in _LIMITS:
        limit = getattr(slo, name)
        own = f"{definition.format(source=tokens[0].source if tokens else 'usage')}.{slo.percentile}"
        reached = values.get(f"loadgen-{words.lower()}.{slo.percentile}", values.get(own))
        if limit is not None:
            conditions[limit_key] = limit
            conditions |= {headroom_key: reached / limit} if reached is not None else {}
    return conditions
