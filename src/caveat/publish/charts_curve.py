"""The curve of a sweep as Vega-Lite: points whose marks say whether limits were met and whether the run is valid.

Labels stand beside the points and on nothing; the limit is named above the plot.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from caveat.figures import Outcome
from caveat.publish.charts_head import head_of_many
from caveat.publish.charts_style import (
    BLUE,
    DASHED,
    GREY,
    INK,
    LIMIT,
    ORANGE,
    Spec,
    axis_words,
    framed,
    tidy,
)
from caveat.publish.curve_points import Curve, Point, curve_sentences, hardware
from caveat.publish.label_places import Box, Line, Place, places
from caveat.publish.text import printable
from caveat.units import format_number, format_seconds

_WIDTH, _HEIGHT = 780, 400
_LETTER = 5.6  # pixels of a letter of a label
_PALE = "#fbf1f4"

_CROSS = "M-.6,-.6L.6,.6M-.6,.6L.6,-.6"
_CIRCLE = "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z"
_SQUARE = "M-.9,-.9L.9,-.9L.9,.9L-.9,.9L-.9,-.9Z"
_DIAMOND = "M0,-1.2L1.2,0L0,1.2L-1.2,0L0,-1.2Z"
# outcome of the latency limits, in words, outline, colour
_LIMITS: dict[Outcome, tuple[str, str, str]] = {
    "pass": ("limits met", _CIRCLE, BLUE),
    "fail": ("limits missed", _SQUARE, ORANGE),
    "unknown": ("whether limits were met cannot be said", _DIAMOND, GREY),
    "not applicable": ("no limits set", _CIRCLE, BLUE),
}
# outcome of the run: in words, whether filled, what is drawn over the outline
_VALID: dict[Outcome, tuple[str, bool, str]] = {
    "pass": ("", True, ""),
    "unknown": (", validity unknown", False, ""),
    "fail": (", not valid", False, _CROSS),
    "not applicable": ("", True, ""),
}


def curve_chart(curve: Curve) -> Spec:
    """The curve as Vega-Lite."""
    figures = [point.figure for point in curve.points]
    title = "Output tokens/s of the system against tokens/s per user"
    labels = _label_places(curve)
    head = head_of_many(figures, title, hardware(figures[0]), (*curve_sentences(curve), *_unnamed(labels)), width=150)
    x = _axis("user", ["output tokens/s per user (1 / median time per output token)"], curve.user_scale)
    y = _axis("system", [f"output tokens/s {curve.of}"], curve.system_scale)
    placed = sorted(enumerate(curve.points), key=lambda pair: pair[1].figure.outcome == "fail")  # crosses on top
    points = {"values": [_value(point, number) for number, point in placed]}
    line = {"type": "line", "color": BLUE, "strokeWidth": 2, "opacity": 0.45}
    order = {"field": "place", "type": "quantitative"}
    layers: list[Spec] = [
        *_limit_layers(curve, x),
        {"data": points, "mark": line, "encoding": {"x": x, "y": y, "order": order}},
        *_label_layers(curve, labels, x, y),
        {
            "data": points,
            "mark": {"type": "point", "size": 110, "strokeWidth": 1.8, "opacity": 1},
            "encoding": {"x": x, "y": y, **_look(curve)},
        },
    ]
    return framed(head, {"width": _WIDTH, "height": _HEIGHT, "layer": layers})


def _axis(field: str, title: Sequence[str], scale: Spec) -> Spec:
    words = [*title, *filter(None, [axis_words(scale, format_number)])]
    axis = {"title": words, "titleFontSize": 11, "titlePadding": 8, "tickCount": 8}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def _value(point: Point, place: int) -> Spec:
    return {"user": tidy(point.user), "system": tidy(point.system), "place": place, "look": _look_words(point)}


def _look_words(point: Point) -> str:
    return _LIMITS[point.limits][0] + _VALID[point.figure.outcome][0]


def _look(curve: Curve) -> Spec:
    """Outline and colour of points by whether the limits were met, filled where the run is valid; the legend names
    what there is."""
    kinds = [
        (_LIMITS[limits][0] + _VALID[valid][0], _LIMITS[limits][1] + _VALID[valid][2], _LIMITS[limits][2], valid)
        for limits in _LIMITS
        for valid in _VALID
        if any((point.limits, point.figure.outcome) == (limits, valid) for point in curve.points)
    ]
    words = [kind[0] for kind in kinds]
    ranges = {
        "shape": [kind[1] for kind in kinds],
        "stroke": [kind[2] for kind in kinds],
        "fill": [kind[2] if _VALID[kind[3]][1] else "#ffffff" for kind in kinds],
    }
    legend = {"orient": "bottom", "direction": "horizontal", "title": None, "symbolSize": 110, "labelLimit": 500}
    return {
        channel: {
            "field": "look",
            "type": "nominal",
            "scale": {"domain": words, "range": values},
            "legend": {**legend, "symbolStrokeWidth": 1.8, "columns": 2},
        }
        for channel, values in ranges.items()
    }


def _limit_layers(curve: Curve, x: Spec) -> list[Spec]:
    """The limit on TPOT as what a user must at least see: a line, named above the plot, shaded where it is missed."""
    if curve.limit_user is None or curve.tpot_limit_s is None:
        return []
    words = f"TPOT limit {format_seconds(curve.tpot_limit_s)}, {format_number(curve.limit_user)} tokens/s per user"
    if curve.limit_drawn is None:
        side = "right" if curve.limit_user > curve.points[0].user else "left"
        return [_above(f"{words}: off the axis, to the {side}", 0.0, "left")]
    user = tidy(curve.limit_drawn)
    at = _pixel(user, curve.user_scale, _WIDTH)
    align = "left" if at < 0.4 * _WIDTH else "right" if at > 0.6 * _WIDTH else "center"
    rule = {"type": "rule", "color": LIMIT, "strokeDash": list(DASHED), "strokeWidth": 1.5}
    missed = {"data": {"values": [{"user": curve.user_scale["domain"][0], "to": user}]}}
    return [
        {**missed, "mark": {"type": "rect", "color": _PALE}, "encoding": {"x": x, "x2": {"field": "to"}}},
        {"data": {"values": [{"user": user}]}, "mark": rule, "encoding": {"x": x}},
        _above(f"{words}; shaded: the median misses it", at, align),
    ]


def _above(words: str, at: float, align: str) -> Spec:
    mark = {"type": "text", "x": tidy(at), "y": -8, "align": align, "color": LIMIT, "fontSize": 11}
    return {"data": {"values": [{"words": words}]}, "mark": mark, "encoding": {"text": {"field": "words"}}}


def _pixel(value: float, scale: Spec, length: float) -> float:
    low, high = scale["domain"]
    return float((value - low) / (high - low) * length)


def _at(value: float, scale: Spec, length: float) -> float:
    """The value at a pixel."""
    low, high = scale["domain"]
    return tidy(low + value / length * (high - low))


def _label_places(curve: Curve) -> list[Place | None]:
    users, rates = curve.user_scale, curve.system_scale
    points = [(_pixel(p.user, users, _WIDTH), _HEIGHT - _pixel(p.system, rates, _HEIGHT)) for p in curve.points]
    lines: list[Line] = list(itertools.pairwise(points))
    if curve.limit_drawn is not None:
        at = _pixel(curve.limit_drawn, users, _WIDTH)
        lines.append(((at, 0.0), (at, float(_HEIGHT))))
    widths = [_LETTER * len(point.words) for point in curve.points]
    return places(points, widths, lines, Box(4, 4, _WIDTH - 4, _HEIGHT - 4))


def _unnamed(labels: Sequence[Place | None]) -> tuple[str, ...]:
    count = sum(label is None for label in labels)
    return (f"{count} of {len(labels)} points have no label for want of room",) if count else ()


def _label_layers(curve: Curve, labels: Sequence[Place | None], x: Spec, y: Spec) -> list[Spec]:
    """What was asked of each point, and thin lines to labels that stand further off."""
    users, rates = curve.user_scale, curve.system_scale

    def where(px: float, py: float, names: tuple[str, str]) -> Spec:
        return {names[0]: _at(px, users, _WIDTH), names[1]: _at(_HEIGHT - py, rates, _HEIGHT)}

    pairs = [(point, label) for point, label in zip(curve.points, labels, strict=True) if label is not None]
    texts = [{"words": printable(p.words), **where(at.x, at.y, ("user", "system"))} for p, at in pairs]
    leads = [
        {**where(*at.lead[0], ("user", "system")), **where(*at.lead[1], ("to", "up"))}
        for _, at in pairs
        if at.lead is not None
    ]
    text = {"type": "text", "fontSize": 11, "color": INK, "baseline": "middle"}
    rule = {"type": "rule", "color": GREY, "strokeWidth": 0.7}
    ends = {"x2": {"field": "to"}, "y2": {"field": "up"}}
    drawn = [{"data": {"values": leads}, "mark": rule, "encoding": {"x": x, "y": y, **ends}}] if leads else []
    return [*drawn, {"data": {"values": texts}, "mark": text, "encoding": {"x": x, "y": y, "text": {"field": "words"}}}]
