"""Charts of one run as Vega-Lite: distributions of the latencies on the left, the run over time on the right.

A specification is plain data, the same for the same run, and needs no library to make: the pages of a dashboard draw
it in a browser, `charts_files.py` writes it as PNG, SVG or HTML. Text from outside stands in it as data, never as an
expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from caveat.figures import Figure
from caveat.measure import Cdf, Series
from caveat.publish.charts_facts import Limit, facts, limit_of, percentiles
from caveat.publish.charts_head import head_of
from caveat.publish.charts_style import (
    BLUE,
    DASHED,
    DOTTED,
    GREEN,
    GREY,
    GRID,
    INK,
    LIMIT,
    ORANGE,
    SHARES_TO,
    SKY,
    TIME_LABELS,
    Name,
    Spec,
    axis_words,
    colours,
    dashes,
    empty_panel,
    framed,
    linear_scale,
    on_axis,
    panel,
    ticks,
    tidy,
    time_scale,
)

Floats = npt.NDArray[np.float64]

_DUE, _SENT = Name("from due", BLUE), Name("from sent", ORANGE, DOTTED)
# panel, (metric definition, look) of its curves, limit of the conditions; {tpot}: by who counted the tokens
_LATENCIES = (
    ("Time to first token", (("caveat-ttft", _DUE), ("caveat-ttft-sent", _SENT)), "ttft"),
    ("Time per output token after the first", (("{tpot}", Name("per request", BLUE)),), "tpot"),
    ("Whole request, from due", (("caveat-latency", _DUE),), "latency"),
    ("Send lateness: the client's own delay", (("caveat-send-lateness", Name("due to sent", GREY)),), ""),
)
_SHADED = 0.01  # of the run's length: a shorter stretch is not seen


def run_chart(figure: Figure, series: Series) -> Spec:
    """The chart of a run whose primary (or chosen) figure heads it."""
    pairs = zip(_distributions(figure, series), _curves(series, figure), strict=True)
    return framed(head_of(figure), {"concat": [one for pair in pairs for one in pair], **GRID})


def _distributions(figure: Figure, series: Series) -> Iterable[Spec]:
    tpot = next((cdf.definition for cdf in series.cdfs if cdf.definition.startswith("caveat-tpot-")), "")
    for title, curves, limit in _LATENCIES:
        found = [(series.cdf(name.format(tpot=tpot)), look) for name, look in curves]
        drawn = [(cdf, look) for cdf, look in found if cdf is not None]
        yield (
            _cdf_panel(title, drawn, figure, limit_of(figure, limit))
            if drawn
            else empty_panel(title, "no request has the times it needs")
        )


def _cdf_panel(title: str, curves: Sequence[tuple[Cdf, Name]], figure: Figure, limit: Limit | None) -> Spec:
    """Share of the requests that had at most so long, with the run's own percentiles as dots and their intervals."""
    first = curves[0][0]
    scale, drawn = _latency_scale([cdf for cdf, _ in curves], limit)
    axis = {"title": axis_words(scale) or None, "titlePadding": 2, "labelExpr": TIME_LABELS, **ticks(scale)}
    x = {"field": "s", "type": "quantitative", "scale": scale, "axis": axis}
    y = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, SHARES_TO]},
        "axis": {"title": _of(first), "format": "%", "values": [0, 0.25, 0.5, 0.75, 0.9, 1]},
    }
    names = [look for _, look in curves]
    layers = [
        *(_rule({"s": tidy(limit.seconds)}, {"x": x}) for limit in [drawn] if limit is not None),
        {
            "data": {"values": _cdf_points(curves, scale)},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": colours(names), "strokeDash": dashes(names)},
        },
        *_percentile_layers(figure, first, x, y),
    ]
    return panel(title, layers, [*names, *_limit_name(limit, drawn)], facts(figure, first) or "no percentile")


def _latency_scale(cdfs: Sequence[Cdf], limit: Limit | None) -> tuple[Spec, Limit | None]:
    """The axis, and the limit where it stands on it."""
    values = np.concatenate([cdf.values_s for cdf in cdfs]).tolist()
    drawn = limit if limit is not None and on_axis(limit.seconds, min(values), max(values)) else None
    return time_scale(values + ([drawn.seconds] if drawn else [])), drawn


def _limit_name(limit: Limit | None, drawn: Limit | None) -> list[Name]:
    if limit is None:
        return []
    return [Name(limit.words if drawn else f"{limit.words}, off the axis", LIMIT, DASHED, always=True)]


def _of(cdf: Cdf) -> str:
    return f"share of {cdf.of:,} requests" + (f" ({cdf.of - cdf.n:,} never)" if cdf.of > cdf.n else "")


def _cdf_points(curves: Sequence[tuple[Cdf, Name]], scale: Spec) -> list[Spec]:
    edge = scale["domain"][0]
    return [
        {"s": tidy(max(float(value), edge)), "share": tidy(share), "curve": look.words}
        for cdf, look in curves
        for value, share in [(cdf.values_s[0], 0.0), *zip(cdf.values_s, cdf.shares, strict=True)]
    ]


def _rule(value: Spec, encoding: Spec) -> Spec:
    mark = {"type": "rule", "color": LIMIT, "strokeDash": list(DASHED), "strokeWidth": 1.5}
    return {"data": {"values": [value]}, "mark": mark, "encoding": encoding}


def _percentile_layers(figure: Figure, cdf: Cdf, x: Spec, y: Spec) -> list[Spec]:
    """The figures of the run that lie on a curve: filled with their intervals, hollow where they have none."""
    found = percentiles(figure, cdf)
    points = [
        {"s": tidy(one.row.value), "share": tidy(one.share), "certain": one.row.spread is not None} for one in found
    ]
    bars = [
        {"s": tidy(spread.low), "to": tidy(spread.high), "share": tidy(one.share)}
        for one in found
        if (spread := one.row.spread) is not None
    ]
    look = {"domain": [True, False], "range": [INK, "#ffffff"]}
    fill = {"field": "certain", "type": "nominal", "scale": look, "legend": None}
    dot = {"type": "point", "stroke": INK, "strokeWidth": 1.2, "size": 24, "opacity": 1}
    bar = {"type": "rule", "color": INK, "strokeWidth": 1.2}
    return [
        {"data": {"values": bars}, "mark": bar, "encoding": {"x": x, "x2": {"field": "to"}, "y": y}},
        {"data": {"values": points}, "mark": dot, "encoding": {"x": x, "y": y, "fill": fill}},
    ]


def _curves(series: Series, figure: Figure) -> Iterable[Spec]:
    """Four panels with one time axis."""
    over = series.over_time
    ttft = (
        (Name("median", BLUE), over.ttft_p50_s),
        (Name("p90", SKY), over.ttft_p90_s),
        (Name("max", GREY), over.ttft_max_s),
    )
    rates = [(Name("due", GREY), over.due_per_s), (Name("succeeded", BLUE), over.ended_per_s)]
    if over.failed_per_s.any():
        rates.append((Name("failed", LIMIT), over.failed_per_s))
    late = ((Name("median", BLUE), over.lateness_p50_s), (Name("max", GREY), over.lateness_max_s))
    in_flight = ((Name("in flight", GREEN), over.in_flight),)
    yield _time_panel("Time to first token, by when requests were due", ttft, series, limit_of(figure, "ttft"), "s")
    yield _time_panel("Requests per second", rates, series)
    yield _time_panel("Requests in flight, mean", in_flight, series)
    yield _time_panel("Send lateness, by when requests were due", late, series, unit="s")


def _time_panel(
    title: str, curves: Sequence[tuple[Name, Floats]], series: Series, limit: Limit | None = None, unit: str = ""
) -> Spec:
    """Curves over the seconds of the run; what is not of the measured window is shaded."""
    edges_s = series.over_time.edges_s
    points = [
        {"at": tidy(at), "value": value, "curve": name.words}
        for name, values in curves
        for at, value in _steps(edges_s, values)
    ]
    shades = _shades(series)
    known = [value for _, values in curves for value in values[np.isfinite(values)].tolist()]
    scale, drawn = _value_scale(known, limit, times=bool(unit))
    words = (
        "seconds from the start",
        "shaded: not measured" if shades else "",
        axis_words(scale, axis="the vertical axis"),
    )
    x = {
        "field": "at",
        "type": "quantitative",
        "scale": {"domain": [0, tidy(float(edges_s[-1]))], "nice": False},
        "axis": {"title": "; ".join(filter(None, words)), "titlePadding": 2, "grid": False, "tickCount": 8},
    }
    axis: Spec = {"title": None, "tickCount": 4, **({"labelExpr": TIME_LABELS} if unit else {})}
    y = {"field": "value", "type": "quantitative", "scale": scale, "axis": axis}
    names = [name for name, _ in curves]
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}
    shade = {"type": "rect", "color": "#f4f0e6"}
    layers = [
        *([{"data": {"values": shades}, "mark": shade, "encoding": {"x": x, "x2": {"field": "to"}}}] if shades else []),
        *(_rule({"value": tidy(one.seconds)}, {"y": y}) for one in [drawn] if one is not None),
        {"data": {"values": points}, "mark": line, "encoding": {"x": x, "y": y, "color": colours(names)}},
    ]
    return panel(title, layers, [*names, *_limit_name(limit, drawn)])


def _value_scale(known: Sequence[float], limit: Limit | None, *, times: bool) -> tuple[Spec, Limit | None]:
    """Counts and rates from zero; times as near as they are. And the limit where it stands on the axis."""
    values = known or [0.0]
    drawn = limit if limit is not None and known and on_axis(limit.seconds, min(values), max(values)) else None
    ends = [*values, *([drawn.seconds] if drawn else [])]
    least = min(ends) if times else 0.0
    return linear_scale(least, max(*ends, 1e-6), least=0.2), drawn


def _steps(edges_s: Floats, values: Floats) -> Iterator[tuple[float, float | None]]:
    """Each value from its bin's begin; None, which breaks the line, where there is none, and not before a bin's end."""
    before: float | None = None
    for at, value in zip(edges_s, [*values, values[-1]], strict=True):
        known = tidy(value) if np.isfinite(value) else None
        if known is None and before is not None:
            yield float(at), before
        yield float(at), known
        before = known


def _shades(series: Series) -> list[Spec]:
    """The time before and after the measured requests, where there is enough of it to be seen."""
    end_s = float(series.over_time.edges_s[-1])
    stretches = ((0.0, series.measured_s[0]), (series.measured_s[1], end_s))
    return [{"at": tidy(a), "to": tidy(b)} for a, b in stretches if b - a > _SHADED * end_s]
