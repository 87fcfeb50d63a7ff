"""What a chart of a trace shows: panels of curves as plain values, drawn by `charts_trace.py` for files and screens.

Each panel sets the trace beside what a simple load generator would send: Poisson arrivals of the same rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from caveat.publish.charts_style import BLUE, GREY, INK, ORANGE, SKY, tidy
from caveat.units import NS_PER_S, format_number, format_seconds
from caveat.workload import TraceDescription

Shape = Literal["steps", "line", "dashes"]
XY = Sequence[tuple[float, float]]

_COARSER = 10  # the second curve of the rate is over so many steps of the first
_FEWEST = 6  # steps that a curve over time has at least
_LOWEST = 0.01  # where an axis of dispersion begins: even arrivals have 0, which no logarithmic axis has
_BAND = 1.959964  # normal quantile of 97.5 %
# Spans from so many seconds on are drawn in this unit: (from, seconds, words).
_TIMES = ((345_600.0, 86_400.0, "days"), (14_400.0, 3_600.0, "hours"), (600.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis. `unit` says how its numbers are written: s (each in the unit that suits it), share, or plain."""

    low: float
    high: float
    log: bool = False
    unit: Literal["s", "share", ""] = ""

    def words(self, value: float) -> str:
        """A number of the axis for people."""
        if self.unit == "share":
            return f"{100 * value:.3g}%"
        return format_seconds(value) if self.unit == "s" else format_number(value)


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in order of x. Steps keep each value until the next one; dashes are what the trace is held against."""

    words: str
    colour: str
    points: XY
    shape: Shape = "steps"


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves on two axes. `more` is said where there is room; `band` is (x, low, high) of what chance would do."""

    title: str
    x: Scale
    x_words: str
    y: Scale
    curves: tuple[Curve, ...]
    y_words: str = ""
    more: str = ""
    band: tuple[tuple[float, float, float], ...] = ()


def trace_panels(d: TraceDescription) -> tuple[Panel, ...]:
    """The panels that a trace has data for: lengths always, sharing and conversations where they were recorded."""
    return tuple(_panels(d))


def _panels(d: TraceDescription) -> Iterator[Panel]:
    plots = d.plots
    if len(plots.rate_qps) >= _FEWEST:
        yield _rate(d)
    if plots.dispersion:
        yield _dispersion(d)
    if len(plots.gaps_s) > 1 and d.mean_qps:
        yield _gaps(d, d.mean_qps)
    yield _lengths(d)
    if plots.reuse_by_s:
        yield _reuse(plots.reuse_by_s, "Prefix reuse, by time since last use", "time since last use", "s")
    if plots.reuse_by_blocks:
        of = d.prefixes.block_tokens if d.prefixes else 0
        words = f"blocks of {of} tokens since last use"
        yield _reuse(plots.reuse_by_blocks, "Prefix reuse, by size of the cache", words, "")
    if plots.turns:
        yield _turns(plots.turns)
    if len(plots.between_s) > 1:
        yield _between(plots.between_s)


def _rate(d: TraceDescription) -> Panel:
    """Over two bins: the finest that the eye can tell apart, and ten times that."""
    step_s, rates = d.plots.rate_step_s, d.plots.rate_qps
    unit_s, unit = next((seconds, words) for least, seconds, words in _TIMES if d.span_s >= least)
    whole = len(rates) // _COARSER
    coarse = [sum(rates[_COARSER * k : _COARSER * (k + 1)]) / _COARSER for k in range(whole)]
    fine = Curve(f"each {_plain(step_s)}", SKY, _over_time(rates, step_s / unit_s))
    slow = Curve(f"each {_plain(_COARSER * step_s)}", BLUE, _over_time(coarse, _COARSER * step_s / unit_s))
    return Panel(
        title="Requests per second",
        x=Scale(0.0, tidy(d.span_s / unit_s)),
        x_words=f"{unit} from the first request",
        y=Scale(0.0, tidy(1.08 * max(*rates, 1e-9))),
        curves=(fine, slow) if whole >= _FEWEST else (fine,),
    )


def _plain(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 1000 else format_seconds(seconds)


def _over_time(values: Sequence[float], step: float) -> XY:
    return [(step * k, value) for k, value in enumerate([*values, values[-1]])] if values else []


def _dispersion(d: TraceDescription) -> Panel:
    """Variance over mean of the counts, by length of the bins. Poisson arrivals have 1 at every length."""
    found = d.plots.dispersion
    low, high = found[0][0] / 1.2, found[-1][0] * 1.2
    band = tuple((scale_s, *poisson_band(bins)) for scale_s, _, bins in found)
    values = [*(index for _, index, _ in found), *(edge for _, *edges in band for edge in edges), 1.0]
    return Panel(
        title="Index of dispersion of counts",
        x=Scale(tidy(low), tidy(high), log=True, unit="s"),
        x_words="length of the bins",
        y_words="variance / mean",
        more="shaded: 95 % of Poisson traces of this length",
        y=Scale(tidy(max(_LOWEST, min(values)) / 1.3), tidy(max(values) * 1.3), log=True),
        curves=(
            Curve("trace", BLUE, [(scale_s, max(_LOWEST, index)) for scale_s, index, _ in found], "line"),
            Curve("Poisson", GREY, ((low, 1.0), (high, 1.0)), "dashes"),
        ),
        band=band,
    )


def poisson_band(bins: int) -> tuple[float, float]:
    """Where variance / mean of so many Poisson counts lies in 95 % of cases: chi-square / freedom.

    Its quantiles by the cube-root normal approximation (Wilson and Hilferty, 1931), good to a percent from 9 on.
    """
    spread = 2 / (9 * max(1, bins - 1))
    return tuple(max(0.0, 1 - spread + z * math.sqrt(spread)) ** 3 for z in (-_BAND, _BAND))  # type: ignore[return-value]


def _gaps(d: TraceDescription, mean_qps: float) -> Panel:
    """Against the exponential law of the same rate. Gaps of zero stand at the left edge."""
    gaps, grid_s = d.plots.gaps_s, d.source.grid_ns / NS_PER_S
    low = 0.003 / mean_qps  # three exponential gaps of a thousand are shorter
    high = max(1.3 * gaps[-1][0], 8 / mean_qps)
    at = [low * (high / low) ** (k / 60) for k in range(61)]
    return Panel(
        title="Gaps between requests",
        x=Scale(tidy(low), tidy(high), log=True, unit="s"),
        x_words="gap, at most",
        y_words="share of gaps",
        y=Scale(0.0, 1.0, unit="share"),
        curves=(
            Curve("trace", BLUE, _from_edge(gaps, low)),
            Curve("exponential", INK, [(x, -math.expm1(-mean_qps * x)) for x in at], "dashes"),
        ),
        more=f"the clock steps by {grid_s:g} s: gaps within a step are zero" if grid_s else "",
    )


def _from_edge(points: XY, low: float) -> XY:
    """A distribution from the left edge of a logarithmic axis on: what is shorter has its share there."""
    below = [share for value, share in points if value <= low]
    return [(low, below[-1] if below else 0.0), *((value, share) for value, share in points if value > low)]


def _lengths(d: TraceDescription) -> Panel:
    both = (("input", BLUE, d.plots.input_tokens), ("output", ORANGE, d.plots.output_tokens))
    most = max(points[-1][0] for _, _, points in both)
    least = max(1.0, min((value for _, _, points in both for value, _ in points if value > 0), default=1.0))
    return Panel(
        title="Tokens of a request",
        x=Scale(tidy(least), tidy(max(most * 1.1, 2 * least)), log=True),
        x_words="tokens, at most",
        y_words="share of requests",
        y=Scale(0.0, 1.0, unit="share"),
        curves=tuple(Curve(words, colour, _from_edge(points, least)) for words, colour, points in both),
    )


def _reuse(points: XY, title: str, words: str, unit: Literal["s", ""]) -> Panel:
    most = max(share for _, share in points)
    return Panel(
        title=title,
        x=Scale(tidy(points[0][0]), tidy(points[-1][0]), log=True, unit=unit),
        x_words=words,
        y_words="share of all blocks",
        more="reused: a cache would have found them",
        y=Scale(0.0, tidy(max(0.05, min(1.0, 1.15 * most))), unit="share"),
        curves=(Curve("reused", BLUE, points, "line"),),
    )


def _turns(points: XY) -> Panel:
    return Panel(
        title="Turns of a conversation",
        x=Scale(1.0, tidy(max(2.0, 1.1 * points[-1][0])), log=True),
        x_words="turns, at most",
        y_words="share of conversations",
        y=Scale(0.0, 1.0, unit="share"),
        curves=(Curve("conversations", BLUE, _from_edge(points, 1.0)),),
    )


def _between(points: XY) -> Panel:
    known = [value for value, _ in points if value > 0]
    low = max(1e-3, min(known, default=1e-3))
    return Panel(
        title="From one turn to the next",
        x=Scale(tidy(low), tidy(max(points[-1][0] * 1.1, 10 * low)), log=True, unit="s"),
        x_words="time from the turn before, at most",
        y_words="share of turns",
        more="the answer's own time is in it",
        y=Scale(0.0, 1.0, unit="share"),
        curves=(Curve("turns", BLUE, _from_edge(points, low)),),
    )
