"""Charts of a trace: its traffic beside Poisson traffic, lengths, sharing, conversations, in Vega-Lite and in dots.

A trace has no figures: its head says the file, the number of requests, every change since, and what is wrong with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from caveat.errors import Problem
from caveat.publish.canvas import Axis, Canvas
from caveat.publish.canvas import framed as framed_text
from caveat.publish.charts_head import Head, packed
from caveat.publish.charts_style import (
    DASHED,
    GRID,
    SHARES_TO,
    SOLID,
    TIME_LABELS,
    Name,
    Spec,
    colours,
    framed,
    panel,
    ticks,
    tidy,
)
from caveat.publish.text import cut, printable, wrapped
from caveat.publish.trace_panels import XY, Curve, Panel, Scale, trace_panels
from caveat.units import format_number, format_seconds
from caveat.workload import TraceDescription

_ROWS, _GAP, _FEWEST_COLUMNS = 6, 3, 60  # of the terminal: of a panel, between two, and below which they stand alone
_SHOWN = 4  # kinds of findings
_BAND = "#e6e9ed"
_LINE_POINTS, _DASH_POINTS = 200, 14


@dataclass(frozen=True, slots=True)
class TraceChart:
    """A trace drawn: the Vega-Lite specification, and the lines for a screen: `text(width, plain)`."""

    spec: Spec
    text: Callable[[int, bool], list[str]]


def trace_chart(description: TraceDescription, problems: Sequence[Problem] = ()) -> TraceChart:
    """The chart of a described trace; `problems` are what reading it found."""
    panels = trace_panels(description)
    content = {"concat": [_drawn(one) for one in panels], **GRID}
    return TraceChart(
        framed(trace_head(description, problems), content),
        lambda width, plain: _text(trace_head(description, problems, width=width), panels, width, plain),
    )


def trace_head(d: TraceDescription, problems: Sequence[Problem] = (), *, width: int = 165) -> Head:
    """What stands above the chart: source, changes, numbers, notes, problems; in lines of at most `width`."""
    s = d.source
    where = [f"trace {s.name} ({s.format})", f"{s.lines:,} lines" if s.lines else "", _sha(s.sha256)]
    rate = f"{format_number(d.mean_qps)} requests/s" if d.mean_qps is not None else "rate unknown"
    cv = f"cv of gaps {d.gap_cv:.2f}" if d.gap_cv is not None else ""
    texts = (
        *packed([*filter(None, where), f"changes: {'; '.join(s.transformations) or 'none'}"], width),
        *packed([*filter(None, (rate, cv)), _mean("input", d.input_tokens), _mean("output", d.output_tokens)], width),
        *packed(d.notes, width),
        *_findings(problems),
    )
    kinds = len({problem.code for problem in problems})
    marks = (f"{kinds} KIND{'S' if kinds > 1 else ''} OF FINDINGS",) if problems else ()
    count = f"{d.requests:,} request{'' if d.requests == 1 else 's'} over {format_seconds(d.span_s)}"
    lines = (line for text in texts for line in wrapped(printable(text), width, hang=0).splitlines())
    return Head(marks, printable(f"{cut(s.name, 60)}: {count}"), tuple(lines), alarm=False)


def _findings(problems: Sequence[Problem]) -> list[str]:
    """What reading found, each kind once with how often."""
    kinds = Counter((problem.code, problem.message) for problem in problems)
    said = [f"finding {code}: {what}{f' ({n} times)' if n > 1 else ''}" for (code, what), n in kinds.most_common()]
    return said[:_SHOWN] + ([f"and {len(said) - _SHOWN} more kinds of findings"] if len(said) > _SHOWN else [])


def _sha(sha256: str) -> str:
    return f"sha256 {sha256[:12]}" if sha256 else ""


def _mean(what: str, tokens: dict[str, float]) -> str:
    said = (f"{name} {format_number(tokens[name])}" for name in ("mean", "p50", "p99") if name in tokens)
    return f"{what} tokens {', '.join(said)}"


def _drawn(one: Panel) -> Spec:
    """A panel as Vega-Lite: the band below, then the curves, then rules."""
    x = _axis(one.x, "x", "; ".join(filter(None, (one.x_words, "logarithmic" if one.x.log else "", one.more))))
    y = _axis(one.y, "y", one.y_words or None)
    layers = [*_band(one, x, y), *(_line(curve, one, x, y) for curve in one.curves)]
    return panel(one.title, layers, _names(one))


def _names(one: Panel) -> list[Name]:
    return [Name(curve.words, curve.colour, DASHED if curve.shape == "dashes" else SOLID) for curve in one.curves]


def _axis(scale: Scale, field: str, title: str | None) -> Spec:
    high = SHARES_TO if scale.unit == "share" and scale.high == 1 else scale.high
    limits: Spec = {"domain": [scale.low, high], "nice": False, "clamp": True}
    if scale.log:
        limits["type"] = "log"
    axis: Spec = {"title": title, "titlePadding": 3, **(ticks(limits) if field == "x" or scale.log else {})}
    if field == "y" and not scale.log:
        axis["tickCount"] = 4
    if scale.unit == "share":
        axis |= {"format": "%"}
    elif scale.unit == "s":
        axis |= {"labelExpr": TIME_LABELS}
    else:
        axis |= {"format": "~s" if scale.high >= 1000 else "~r"}
    return {"field": field, "type": "quantitative", "scale": limits, "axis": axis}


def _line(curve: Curve, one: Panel, x: Spec, y: Spec) -> Spec:
    values = [{"x": tidy(px), "y": tidy(py), "curve": curve.words} for px, py in _within(curve.points, one.x)]
    mark: Spec = {"type": "line", "strokeWidth": 2, "clip": True}
    if curve.shape == "steps":
        mark |= {"interpolate": "step-after"}
    if curve.shape == "dashes":
        mark |= {"strokeDash": list(DASHED), "strokeWidth": 1.5}
    if curve.shape == "line" and len(values) <= 30:
        mark |= {"point": {"filled": True, "size": 26}}
    return {"data": {"values": values}, "mark": mark, "encoding": {"x": x, "y": y, "color": colours(_names(one))}}


def _within(points: XY, scale: Scale) -> XY:
    """The last value of a distribution reaches the right edge: nothing is longer than the longest."""
    return [*points, (scale.high, points[-1][1])] if points and points[-1][1] == 1.0 else points


def _band(one: Panel, x: Spec, y: Spec) -> list[Spec]:
    if not one.band:
        return []
    floor = one.y.low
    values = [{"x": tidy(at), "y": tidy(max(low, floor)), "high": tidy(high)} for at, low, high in one.band]
    encoding = {"x": x, "y": y, "y2": {"field": "high"}}
    return [{"data": {"values": values}, "mark": {"type": "area", "color": _BAND}, "encoding": encoding}]


def _text(head: Head, panels: Sequence[Panel], width: int, plain: bool) -> list[str]:
    """The head, then panels in dots, two beside each other where there is room."""
    two = width >= _FEWEST_COLUMNS
    column = (width - _GAP) // 2 if two else width
    drawn = [_dots(one, column, plain) for one in panels]
    lines = [head.heading, *head.lines]
    if not two:
        return [*lines, *(line for one in drawn for line in ("", *one))]
    nothing: list[str] = []
    for left, right in zip_longest(drawn[::2], drawn[1::2], fillvalue=nothing):
        pairs = zip_longest(left, right, fillvalue="")
        lines += ["", *(f"{a[:column]:<{column}}{'':{_GAP}}{b[:column]}".rstrip() for a, b in pairs)]
    return lines


def _dots(one: Panel, width: int, plain: bool) -> list[str]:
    """A panel in dots; what the trace is held against is dashed."""
    high, low = one.y.words(one.y.high), one.y.words(one.y.low)
    label = max(len(high), len(low))
    canvas = Canvas(
        width - label - 2,
        _ROWS,
        Axis(one.x.low, one.x.high, log=one.x.log),
        Axis(one.y.low, one.y.high, log=one.y.log),
    )
    for curve in one.curves:
        _trace_out(canvas, curve, one)
    ends = (one.x.words(one.x.low), one.x.words(one.x.high))
    lines = framed_text(canvas.lines(plain=plain), [high, *[""] * (_ROWS - 2), low], ends, plain=plain)
    names = ", ".join(f"{'- ' if c.shape == 'dashes' else ''}{c.words}" for c in one.curves if len(one.curves) > 1)
    title = f"{one.title}: {names}" if names else one.title
    axes = f"right: {one.x_words}; up: {one.y_words}" if one.y_words else one.x_words
    return [title[:width], axes[:width], *lines]


def _trace_out(canvas: Canvas, curve: Curve, one: Panel) -> None:
    points = _within(curve.points, one.x)
    if curve.shape == "steps":
        canvas.steps([x for x, _ in points], [y for _, y in points])
        return
    xs, ys = _between(points, one, _DASH_POINTS if curve.shape == "dashes" else _LINE_POINTS)
    if curve.shape == "line":
        canvas.steps(xs, ys)
        return
    for x, y in zip(xs, ys, strict=True):
        canvas.mark(x, y, "-")


def _between(points: XY, one: Panel, count: int) -> tuple[list[float], list[float]]:
    """Points between the points, straight on the panel's axes."""
    px, py = (np.array(values, dtype=np.float64) for values in zip(*points, strict=True))
    ax, ay = (np.log(px) if one.x.log else px), (np.log(py) if one.y.log else py)
    at = np.linspace(ax[0], ax[-1], count)
    found: np.ndarray[Any, np.dtype[np.float64]] = np.interp(at, ax, ay)
    return (np.exp(at) if one.x.log else at).tolist(), (np.exp(found) if one.y.log else found).tolist()
