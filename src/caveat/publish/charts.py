"""Charts of one run as Vega-Lite: distributions of the latencies on the left, the run over time on the right.

A specification is plain data, the same for the same run, and needs no library to make: the pages of a dashboard draw
it in a browser, `charts_files.py` writes it as PNG, SVG or HTML. Text from outside stands in it as data, never as an
expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from caveat.figures import Figure
from caveat.measure import Cdf, OverTime, Series
from caveat.publish.charts_head import head_of
from caveat.publish.charts_style import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    INK,
    LIMIT,
    ORANGE,
    SKY,
    TIME_LABELS,
    Spec,
    colours,
    empty_panel,
    framed,
    panel,
    ticks,
    tidy,
    time_scale,
)
from caveat.units import format_seconds

Floats = npt.NDArray[np.float64]

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
    return framed(head_of(figure), {"concat": [one for pair in pairs for one in pair], **grid})


def _distributions(figure: Figure, series: Series) -> Iterable[Spec]:
    tpot = next((cdf.definition for cdf in series.cdfs if cdf.definition.startswith("caveat-tpot-")), "")
    for title, curves, limit in _LATENCIES:
        found = [(series.cdf(name.format(tpot=tpot)), words, colour) for name, words, colour in curves]
        drawn = [(cdf, words, colour) for cdf, words, colour in found if cdf is not None]
        limit_s = figure.conditions.number(f"{limit}_limit_s") if limit else None
        yield (
            _cdf_panel(title, drawn, figure, limit_s)
            if drawn
            else empty_panel(title, "no request has the times it needs")
        )


def _cdf_panel(title: str, curves: Sequence[tuple[Cdf, str, str]], figure: Figure, limit_s: float | None) -> Spec:
    """Share of the requests that had at most so long; the run's own percentiles stand on the first curve."""
    values = np.concatenate([cdf.values_s for cdf, *_ in curves])
    scale = time_scale([*values.tolist(), *([] if limit_s is None else [limit_s])])
    first = curves[0][0]
    x = {
        "field": "s",
        "type": "quantitative",
        "scale": scale,
        "axis": {"title": None, "labelExpr": TIME_LABELS, **ticks(scale)},
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
            "encoding": {"x": x, "y": y, "color": colours(names), "strokeDash": dash},
        },
        *_limit_layers(limit_s, x),
        *_percentile_layers(figure, first, x, y),
    ]
    return panel(title, layers, names)


def _of(cdf: Cdf) -> str:
    return f"of {cdf.of:,} requests" + (f" ({cdf.of - cdf.n:,} never)" if cdf.of > cdf.n else "")


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
    text = {"type": "text", "color": LIMIT, "align": "right", "dx": -5, "y": HEIGHT - 8, "fontSize": 10}
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
        {"at": tidy(at), "value": value, "curve": words}
        for words, values, _ in curves
        for at, value in _steps(over.edges_s, values)
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
        {"data": {"values": points}, "mark": line, "encoding": {"x": x, "y": y, "color": colours(names)}},
        *([] if limit_s is None else [_across(limit_s, y)]),
    ]
    return panel(title, layers, names)


def _steps(edges_s: Floats, values: Floats) -> Iterator[tuple[float, float | None]]:
    """Each value from its bin's begin; None, which breaks the line, where there is none, and not before a bin's end."""
    before: float | None = None
    for at, value in zip(edges_s, [*values, values[-1]], strict=True):
        known = tidy(value) if np.isfinite(value) else None
        if known is None and before is not None:
            yield float(at), before
        yield float(at), known
        before = known


def _outside_layers(measured: tuple[float, float], end_s: float, x: Spec) -> list[Spec]:
    """Shades of the time before and after the measured requests."""
    stretches = ((0.0, measured[0]), (measured[1], end_s))
    shades = [{"at": tidy(a), "to": tidy(b)} for a, b in stretches if b - a > 0.01 * end_s]
    encoding = {"x": x, "x2": {"field": "to"}}
    return [{"data": {"values": shades}, "mark": {"type": "rect", "color": "#f4f0e6"}, "encoding": encoding}]


def _across(limit_s: float, y: Spec) -> Spec:
    rule = {"type": "rule", "color": LIMIT, "strokeDash": [5, 3], "strokeWidth": 1.2}
    return {"data": {"values": [{"value": tidy(limit_s)}]}, "mark": rule, "encoding": {"y": y}}
