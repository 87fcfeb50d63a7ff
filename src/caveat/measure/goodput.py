"""Goodput: requests that met every limit, as a rate and as a share. A failure is a miss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.errors import UsageError
from caveat.figures import METRICS, Check, Outcome, Row
from caveat.measure import intervals
from caveat.measure.columns import Flags, SampleColumns
from caveat.measure.latencies import VALUES, tpot_ns
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


def limit_checks(slo: Slo | None, tokens: Sequence[Tokens], items: Iterable[Item]) -> Iterator[Check]:
    """Whether the percentile of each limited latency kept its limit, failures counting as never. Speaks for rates."""
    found = {item.metric: item for item in items}
    for name, words, judged, *_ in _LIMITS if slo else ():
        limit = getattr(slo, name)
        if limit is None or slo is None:
            continue
        key = f"{judged.format(source=tokens[0].source if tokens else 'usage')}.{slo.percentile}"
        item = found.get(key, Absent(key, "no tokens were counted"))
        if isinstance(item, Absent):
            sentence = f"{slo.percentile} {words} against {format_seconds(limit)} cannot be said: {item.reason}."
            yield Check(aspect="latency limits", outcome="unknown", sentence=sentence, metrics=RATES)
        else:
            reached = f"{slo.percentile} {words} {format_seconds(item.value)}, limit {format_seconds(limit)}."
            outcome: Outcome = "pass" if item.value <= limit else "fail"
            yield Check(aspect="latency limits", outcome=outcome, sentence=reached, metrics=RATES)


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
