"""The one style of all charts: colours, the frame with the head above, panels with their titles, axes of time.

Everything is plain Vega-Lite data. Text from outside stands in it as data, never as an expression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from caveat.publish.charts_head import Head

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
INK, GREY, LIMIT = "#1b1f24", "#6a737d", "#c2255c"
BLUE, ORANGE, GREEN, SKY = "#0b63b0", "#d9730d", "#1a8f6a", "#7fb4e0"  # told apart also by those who see no red
WIDTH, HEIGHT = 400, 132
_LOG_FROM = 8  # a range wider than this factor is drawn on a logarithmic axis
_LEAST_S = 1e-6  # where a logarithmic axis begins; what is shorter stands at its edge

# Each tick in the unit that suits it. The only expression of these charts, and none of it comes from outside.
TIME_LABELS = (
    "datum.value === 0 ? '0' : abs(datum.value) < 0.00099 ? format(datum.value * 1e6, '~r') + ' µs' : "
    "abs(datum.value) < 0.99 ? format(datum.value * 1e3, '~r') + ' ms' : format(datum.value, '~r') + ' s'"
)


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


def time_scale(values_s: Sequence[float]) -> Spec:
    """A linear axis from zero, or a logarithmic one where the values span more than a factor."""
    high = max(values_s)
    low = max(min(values_s), _LEAST_S)
    if high > _LOG_FROM * low:
        return {"type": "log", "domain": [tidy(low * 0.9), tidy(high * 1.1)], "nice": False, "clamp": True}
    return {"domain": [0, tidy(max(high, _LEAST_S) * 1.15)], "nice": False, "clamp": True}


def ticks(scale: Spec) -> Spec:
    """At 1, 2 and 5 of each power of ten on a logarithmic axis, left to the library on a linear one."""
    if scale.get("type") != "log":
        return {"tickCount": 6}
    low, high = scale["domain"]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1e3 else (1,)
    return {"values": [tick for power in powers for step in steps if low <= (tick := tidy(step * 10.0**power)) <= high]}


def colours(curves: Sequence[tuple[str, str]]) -> Spec:
    """Colours by curve. `panel` names them: a legend of the library's would push the titles of panels about."""
    scale = {"domain": [words for words, _ in curves], "range": [colour for _, colour in curves]}
    return {"field": "curve", "type": "nominal", "scale": scale, "legend": None}


def panel(title: str, layers: Sequence[Spec], names: Sequence[tuple[str, str]] = ()) -> Spec:
    """Layers under a title; `names` are curves and their colours, said where there are two or more."""
    said = [_words(title, 0, "left", INK, fontWeight="bold", fontSize=12)]
    right = float(WIDTH)
    for words, colour in reversed(names if len(names) > 1 else ()):
        said.append(_words(words, right, "right", colour, fontWeight="bold"))
        right -= 6.5 * len(words) + 12
    return {"width": WIDTH, "height": HEIGHT, "layer": [*layers, *said]}


def _words(words: str, x: float, align: str, colour: str, **style: Any) -> Spec:
    """A text at a place of the line above a panel."""
    mark = {"type": "text", "x": x, "y": -13, "align": align, "color": colour, **style}
    return {"data": {"values": [{"words": words}]}, "mark": mark, "encoding": {"text": {"field": "words"}}}


def empty_panel(title: str, why: str) -> Spec:
    """A panel that says why nothing can be drawn in it."""
    text = {"type": "text", "color": GREY, "fontSize": 11}
    return panel(title, [{"data": {"values": [{"why": why}]}, "mark": text, "encoding": {"text": {"field": "why"}}}])


def tidy(value: float) -> float:
    """Six significant digits: more than a screen shows, and the same on every machine."""
    return float(f"{value:.6g}")
