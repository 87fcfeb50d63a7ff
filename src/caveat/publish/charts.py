"""Charts of one run as Vega-Lite: distributions of the latencies on the left, the run over time on the right.

A specification is plain data, the same for the same run, and needs no library to make: the pages of a dashboard draw
it in a browser, `charts_files.py` writes it as PNG, SVG or HTML. Text from outside stands in it as data, never as an
expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from caveat.figures import Figure
from caveat.measure import Cdf, OverTime, Series
from caveat.publish.charts_head import Head, head_of
from caveat.units import format_seconds

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
INK, GREY, LIMIT = "#1b1f24", "#6a737d", "#c2255c"
BLUE, ORANGE, GREEN, SKY = "#0b63b0", "#d9730d", "#1a8f6a", "#7fb4e0"  # told apart also by those who see no red
_WIDTH, _HEIGHT = 400, 132
_LOG_FROM = 8  # a range wider than this factor is drawn on a logarithmic axis
_LEAST_S = 1e-6  # where a logarithmic axis begins; what is shorter stands at its edge

# Each tick in the unit that suits it. The only expression of these charts, and none of it comes from outside.
TIME_LABELS = (
    "datum.value === 0 ? '0' : abs(datum.value) < 0.00099 ? format(datum.value * 1e6, '~r') + ' µs' : "
    "abs(datum.value) < 0.99 ? format(datum.value * 1e3, '~r') + ' ms' : format(datum.value, '~r') + ' s'"
)

# panel, (metric definition, words, colour) of its curves, limit of the conditions; {tpot}: by who counted the tokens
_LATENCIES = (
    ("Time to first token", (("caveat-ttft", "from due", BLUE), ("caveat-ttft-sent", "from sent", ORANGE)), "ttft"),
    ("Time per output token after the first", (("{tpot}", "per request", BLUE),), "tpot"),
    ("Whole request", (("caveat-latency", "from due", BLUE),), "latency"),
    ("Send lateness: the client's own delay", (("caveat-send-lateness", "due to sent", GREY),), ""),
)


def run_chart(figure: Figure, series: Series) -> Spec:
    """The chart of a run whose primary (or chosen) figure heads it."""
    pairs = zip(_distributions(figure, series), _curves(series, figure), strict=True)
    grid = {"columns": 2, "spacing": {"row": 66, "column": 66}, "bounds": "flush"}  # flush: the axes stand in lines
    return framed(head_of(figure), {"concat": [panel for pair in pairs for panel in pair], **grid})


def framed(head: Head, content: Spec) -> Spec:
    """Content under its head, in the one style."""
    return {
        "$schema": SCHEMA,
        "title": {
            "text": head.heading,
            "subtitle": list(head.lines),
            "anchor": "start",
            "color": LIMIT if head.alarm else INK,
            "subtitleColor": GREY,
            "fontSize": 17,
            "subtitleFontSize": 11,
            "subtitleLineHeight": 15,
            "subtitlePadding": 8,
            "offset": 18,
        },
        "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
        "background": "#ffffff",
        "padding": 18,
        "config": {
            "font": "Helvetica Neue, Arial, Liberation Sans, sans-serif",
            "view": {"stroke": None},
            "axis": {
                "gridColor": "#eceff2",
                "domainColor": "#c9ced4",
                "tickColor": "#c9ced4",
                "labelColor": GREY,
                "titleColor": GREY,
                "titleFontWeight": "normal",
                "titleFontSize": 10,
            },
        },
        **content,
    }


def _distributions(figure: Figure, series: Series) -> Iterable[Spec]:
    tpot = next((cdf.definition for cdf in series.cdfs if cdf.definition.startswith("caveat-tpot-")), "")
    for title, curves, limit in _LATENCIES:
        found = [(series.cdf(name.format(tpot=tpot)), words, colour) for name, words, colour in curves]
        drawn = [(cdf, words, colour) for cdf, words, colour in found if cdf is not None]
        limit_s = figure.conditions.number(f"{limit}_limit_s") if limit else None
        yield _cdf_panel(title, drawn, figure, limit_s) if drawn else _empty(title, "no request has the times it needs")


def _cdf_panel(title: str, curves: Sequence[tuple[Cdf, str, str]], figure: Figure, limit_s: float | None) -> Spec:
    """Share of the requests that had at most so long; the run's own percentiles stand on the first curve."""
    values = np.concatenate([cdf.values_s for cdf, *_ in curves])
    scale = time_scale([*values.tolist(), *([] if limit_s is None else [limit_s])])
    first = curves[0][0]
    x = {
        "field": "s",
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": None, "labelExpr": TIME_LABELS, **_ticks(scale)},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"title": _of(first), "format": "%", "values": [0, 0.25, 0.5, 0.75, 0.9, 1]},
    }
    names = [(words, colour) for _, words, colour in curves]
    dashes = {"domain": [words for words, _ in names], "range": [[1, 0], [3, 4]][: len(names)]}
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    dash = {"field": "curve", "type": "nominal", "scale": dashes, "legend": None}  # two curves that coincide both show
    layers = [
        {
            "data": {"values": _cdf_points(curves, scale)},
            "mark": line,
            "encoding": {"x": x, "y": y, "color": _colours(names), "strokeDash": dash},
        },
        *_limit_layers(limit_s, x),
        *_percentile_layers(figure, first, x, y),
    ]
    return _panel(title, layers, names)


def _of(cdf: Cdf) -> str:
    return f"of {cdf.of:,} requests" + (f" ({cdf.of - cdf.n:,} never)" if cdf.of > cdf.n else "")


def time_scale(values_s: Sequence[float]) -> Spec:
    """A linear axis from zero, or a logarithmic one where the values span more than a factor."""
    high = max(values_s)
    low = max(min(values_s), _LEAST_S)
    if high > _LOG_FROM * low:
        return {"type": "log", "domain": [tidy(low * 0.9), tidy(high * 1.1)], "nice": False, "clamp": True}
    return {"domain": [0, tidy(max(high, _LEAST_S) * 1.15)], "nice": False, "clamp": True}


def _ticks(scale: Spec) -> Spec:
    """At 1, 2 and 5 of each power of ten on a logarithmic axis, left to the library on a linear one."""
    if scale.get("type") != "log":
        return {"tickCount": 6}
    low, high = scale["domain"]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1e3 else (1,)
    return {"values": [tick for power in powers for step in steps if low <= (tick := tidy(step * 10.0**power)) <= high]}


def _cdf_points(curves: Sequence[tuple[Cdf, str, str]], scale: Spec) -> list[Spec]:
    edge = scale["domain"][0]
    return [
        {"s": tidy(max(float(value), edge)), "share": tidy(share), "curve": words}
        for cdf, words, _ in curves
        for value, share in [(cdf.values_s[0], 0.0), *zip(cdf.values_s, cdf.shares, strict=True)]
    ]


def _limit_layers(limit_s: float | None, x: Spec) -> list[Spec]:
    if limit_s is None:
        return []
    values = {"values": [{"s": tidy(limit_s), "words": f"limit {format_seconds(limit_s)}"}]}
    rule = {"type": "rule", "color": LIMIT, "strokeDash": [5, 3], "strokeWidth": 1.5}
    text = {"type": "text", "color": LIMIT, "align": "right", "dx": -5, "y": _HEIGHT - 8, "fontSize": 10}
    return [
        {"data": values, "mark": rule, "encoding": {"x": x}},
        {"data": values, "mark": text, "encoding": {"x": x, "text": {"field": "words"}}},
    ]


def _percentile_layers(figure: Figure, cdf: Cdf, x: Spec, y: Spec) -> list[Spec]:
    """The figures of the run that lie on a curve. A percentile that the run could not state is not drawn."""
    points = [
        {"s": tidy(row.value), "share": tidy(share * cdf.n / cdf.of), "words": f"{name} {format_seconds(row.value)}"}
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
        if (row := figure.run.row(f"{cdf.definition}.{name}")) is not None
    ]
    if not points:
        return []
    text = {"type": "text", "align": "left", "dx": 7, "dy": 6, "fontSize": 10, "color": INK}
    dot = {"type": "point", "filled": True, "color": INK, "size": 26, "opacity": 1}
    return [
        {"data": {"values": points}, "mark": dot, "encoding": {"x": x, "y": y}},
        {"data": {"values": points}, "mark": text, "encoding": {"x": x, "y": y, "text": {"field": "words"}}},
    ]


def _curves(series: Series, figure: Figure) -> Iterable[Spec]:
    """Four panels with one time axis."""
    over, measured = series.over_time, series.measured_s
    limit_s = figure.conditions.number("ttft_limit_s")
    ttft = (("median", over.ttft_p50_s, BLUE), ("p90", over.ttft_p90_s, SKY), ("max", over.ttft_max_s, GREY))
    rates = [("due", over.due_per_s, GREY), ("succeeded", over.ended_per_s, BLUE)]
    if over.failed_per_s.any():
        rates.append(("failed", over.failed_per_s, LIMIT))
    late = (("median", over.lateness_p50_s, BLUE), ("max", over.lateness_max_s, GREY))
    yield _time_panel("Time to first token, by when requests were due", ttft, over, measured, limit_s, seconds=True)
    yield _time_panel("Requests per second", rates, over, measured)
    yield _time_panel("Requests in flight, mean", (("in flight", over.in_flight, GREEN),), over, measured)
    yield _time_panel("Send lateness, by when requests were due", late, over, measured, seconds=True)


def _time_panel(
    title: str,
    curves: Sequence[tuple[str, Any, str]],
    over: OverTime,
    measured: tuple[float, float],
    limit_s: float | None = None,
    *,
    seconds: bool = False,
) -> Spec:
    """Curves over the seconds of the run; what is not of the measured window is shaded."""
    end_s = tidy(float(over.edges_s[-1]))
    points = [
        {"at": tidy(at), "value": tidy(value) if np.isfinite(value) else None, "curve": words}  # None breaks the line
        for words, values, _ in curves
        for at, value in zip(over.edges_s, [*values, values[-1]], strict=True)
    ]
    x = {
        "field": "at",
        "type": "quantitative",
        "scale": {"domain": [0, end_s], "nice": False},
        "axis": {
            "title": "seconds from the start; shaded: not measured",
            "titlePadding": 2,
            "grid": False,
            "tickCount": 8,
        },
    }
    axis: Spec = {"title": None, "tickCount": 4, **({"labelExpr": TIME_LABELS} if seconds else {})}
    y = {"field": "value", "type": "quantitative", "scale": {"zero": True}, "axis": axis}
    names = [(words, colour) for words, _, colour in curves]
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}
    layers = [
        *_outside_layers(measured, end_s, x),
        {"data": {"values": points}, "mark": line, "encoding": {"x": x, "y": y, "color": _colours(names)}},
        *([] if limit_s is None else [_across(limit_s, y)]),
    ]
    return _panel(title, layers, names)


def _outside_layers(measured: tuple[float, float], end_s: float, x: Spec) -> list[Spec]:
    """Shades of the time before and after the measured requests."""
    stretches = ((0.0, measured[0]), (measured[1], end_s))
    shades = [{"at": tidy(a), "to": tidy(b)} for a, b in stretches if b - a > 0.01 * end_s]
    encoding = {"x": x, "x2": {"field": "to"}}
    return [{"data": {"values": shades}, "mark": {"type": "rect", "color": "#f4f0e6"}, "encoding": encoding}]


def _across(limit_s: float, y: Spec) -> Spec:
    rule = {"type": "rule", "color": LIMIT, "strokeDash": [5, 3], "strokeWidth": 1.2}
    return {"data": {"values": [{"value": tidy(limit_s)}]}, "mark": rule, "encoding": {"y": y}}


def _colours(curves: Sequence[tuple[str, str]]) -> Spec:
    """Colours by curve. `_panel` names them: a legend of the library's would push the titles of panels about."""
    scale = {"domain": [words for words, _ in curves], "range": [colour for _, colour in curves]}
    return {"field": "curve", "type": "nominal", "scale": scale, "legend": None}


def _panel(title: str, layers: Sequence[Spec], names: Sequence[tuple[str, str]] = ()) -> Spec:
    """Layers under their title, with the names of the curves in their colours at the right of its line."""
    said = [_words(title, 0, "left", INK, fontWeight="bold", fontSize=12)]
    right = float(_WIDTH)
    for words, colour in reversed(names if len(names) > 1 else ()):
        said.append(_words(words, right, "right", colour, fontWeight="bold"))
        right -= 6.5 * len(words) + 12
    return {"width": _WIDTH, "height": _HEIGHT, "layer": [*layers, *said]}


def _words(words: str, x: float, align: str, colour: str, **style: Any) -> Spec:
    """A text at a place of the line above a panel."""
    mark = {"type": "text", "x": x, "y": -13, "align": align, "color": colour, **style}
    return {"data": {"values": [{"words": words}]}, "mark": mark, "encoding": {"text": {"field": "words"}}}


def _empty(title: str, why: str) -> Spec:
    text = {"type": "text", "color": GREY, "fontSize": 11}
    return _panel(title, [{"data": {"values": [{"why": why}]}, "mark": text, "encoding": {"text": {"field": "why"}}}])


def tidy(value: float) -> float:
    """Six significant digits: more than a screen shows, and the same on every machine."""
    return float(f"{value:.6g}")
