"""The one style of all charts: colours, the frame with the head above, panels with their titles, axes of time.

Everything is plain Vega-Lite data. Text from outside stands in it as data, never as an expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from caveat.publish.charts_head import Head
from caveat.publish.text import cut
from caveat.units import format_seconds

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
INK, GREY, LIMIT = "#1b1f24", "#6a737d", "#c2255c"
BLUE, ORANGE, GREEN, SKY = "#0b63b0", "#d9730d", "#1a8f6a", "#7fb4e0"  # told apart also by those who see no red
WIDTH, HEIGHT = 420, 132
GRID: Spec = {"columns": 2, "spacing": {"row": 84, "column": 64}, "bounds": "flush"}  # flush: the axes stand in lines
_LOG_FROM = 8  # a range wider than this factor is drawn on a logarithmic axis
_LEAST_S = 1e-6  # where a logarithmic axis begins; what is shorter stands at its edge
_ZERO_UNTIL = 0.4  # least / greatest value: above it a linear axis from zero would be mostly empty
_LEAST_SPAN = 0.04  # of an axis of times that does not begin at zero, as a share of the greatest
_LIMIT_WITHIN = 3.0  # times the greatest value, or under the least: a limit further off is said and not drawn
_TITLE_Y, _FACTS_Y = -28, -11  # above a panel
_FACTS_LONGEST = 97  # characters that fit above a panel, with the room between two
_SAMPLE, _LETTER = 16, 5.2  # pixels of a piece of curve in a legend, and of a letter of its name

SHARES_TO = 1.04  # where an axis of shares ends: a curve at 100 % does not lie on the edge
SOLID, DOTTED, DASHED = (1, 0), (2, 3), (5, 3)

# Each tick in the unit that suits it. The only expression of these charts, and none of it comes from outside.
TIME_LABELS = (
    "datum.value === 0 ? '0' : abs(datum.value) < 0.00099 ? format(datum.value * 1e6, '~r') + ' µs' : "
    "abs(datum.value) < 0.99 ? format(datum.value * 1e3, '~r') + ' ms' : format(datum.value, '~r') + ' s'"
)


class Name(NamedTuple):
    """What a curve is called, and how it looks. `always`: named also where it stands alone."""

    words: str
    colour: str
    dash: tuple[int, int] = SOLID
    always: bool = False


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
    """The axis of values in seconds: logarithmic where they span more than a factor, `linear_scale` elsewhere."""
    high = max(values_s)
    low = max(min(values_s), _LEAST_S)
    if high > _LOG_FROM * low:
        return {"type": "log", "domain": [tidy(low * 0.9), tidy(high * 1.1)], "nice": False, "clamp": True}
    return {**linear_scale(min(values_s), max(high, _LEAST_S), least=_LEAST_SPAN), "clamp": True}


def linear_scale(low: float, high: float, *, least: float) -> Spec:
    """A linear axis for values from `low` to `high`: from zero, or only around them where most of it would be empty.

    An axis around the values is at least the share `least` of the greatest wide, so that noise does not fill a panel.
    """
    if low <= _ZERO_UNTIL * high:
        return {"domain": [0, tidy(high * 1.08)], "nice": False}
    half = 0.58 * max(high - low, least * high)
    middle = (low + high) / 2
    return {"domain": [tidy(middle - half), tidy(middle + half)], "nice": False}


def axis_words(scale: Spec, said: Callable[[float], str] = format_seconds, *, axis: str = "the axis") -> str:
    """What must be known of an axis before a curve on it is read; empty for a linear one from zero."""
    if scale.get("type") == "log":
        return "logarithmic axis"
    begin = scale["domain"][0]
    return f"{axis} begins at {said(begin)}, not at 0" if begin > 0 else ""


def on_axis(limit: float | None, low: float, high: float) -> bool:
    """Whether a limit is near enough to the values to stand on their axis. One far off would squeeze them together."""
    return limit is not None and low / _LIMIT_WITHIN <= limit <= _LIMIT_WITHIN * high


def ticks(scale: Spec) -> Spec:
    """At 1, 2 and 5 of each power of ten on a logarithmic axis, left to the library on a linear one."""
    if scale.get("type") != "log":
        return {"tickCount": 6}
    low, high = scale["domain"]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 1e3 else (1,)
    return {"values": [tick for power in powers for step in steps if low <= (tick := tidy(step * 10.0**power)) <= high]}


def colours(names: Sequence[Name]) -> Spec:
    """Colours by curve. `panel` names them: a legend of the library's would push the titles of panels about."""
    scale = {"domain": [name.words for name in names], "range": [name.colour for name in names]}
    return {"field": "curve", "type": "nominal", "scale": scale, "legend": None}


def dashes(names: Sequence[Name]) -> Spec:
    """How the curves are dashed: two that coincide both show, also in grey print."""
    scale = {"domain": [name.words for name in names], "range": [list(name.dash) for name in names]}
    return {"field": "curve", "type": "nominal", "scale": scale, "legend": None}


def panel(title: str, layers: Sequence[Spec], names: Sequence[Name] = (), facts: str = "") -> Spec:
    """Layers under a title. Everything in words stands above them, so that no word lies on a curve.

    `names` are the curves, said where there are two or more, and a limit: at the right of the title where `facts`
    take the line below it, else on that line.
    """
    said = [_words(title, 0, _TITLE_Y, INK, fontWeight="bold", fontSize=12)]
    if facts:
        said.append(_words(cut(facts, _FACTS_LONGEST), 0, _FACTS_Y, INK, fontSize=10))
    shown = names if sum(not name.always for name in names) > 1 else [name for name in names if name.always]
    widths = [_SAMPLE + 6 + _LETTER * len(name.words) + 12 for name in shown]
    x, y = (WIDTH - sum(widths) + 12, _TITLE_Y) if facts else (0.0, _FACTS_Y)
    for name, width in zip(shown, widths, strict=True):
        said += [_sample(name, x, y), _words(name.words, x + _SAMPLE + 6, y, name.colour, fontSize=10)]
        x += width
    return {"width": WIDTH, "height": HEIGHT, "layer": [*layers, *said]}


def _sample(name: Name, x: float, y: float) -> Spec:
    """A short piece of the curve before its name."""
    mark = {"type": "rule", "color": name.colour, "strokeDash": list(name.dash), "strokeWidth": 2}
    ends = {"x": tidy(x), "x2": tidy(x + _SAMPLE), "y": y}
    return {"data": {"values": [{}]}, "mark": mark, "encoding": {key: {"value": at} for key, at in ends.items()}}


def _words(words: str, x: float, y: float, colour: str, **style: Any) -> Spec:
    """A text at a place above a panel."""
    mark = {"type": "text", "x": tidy(x), "y": y, "align": "left", "baseline": "middle", "color": colour, **style}
    return {"data": {"values": [{"words": words}]}, "mark": mark, "encoding": {"text": {"field": "words"}}}


def empty_panel(title: str, why: str) -> Spec:
    """A panel that says why nothing can be drawn in it."""
    text = {"type": "text", "color": GREY, "fontSize": 11}
    return panel(title, [{"data": {"values": [{"why": why}]}, "mark": text, "encoding": {"text": {"field": "why"}}}])


def tidy(value: float) -> float:
    """Six significant digits: more than a screen shows, and the same on every machine."""
    return float(f"{value:.6g}")
