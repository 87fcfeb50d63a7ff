"""The same charts for a terminal: the head whole, then each panel in dots. No library, no colour, no control codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from caveat.figures import Figure
from caveat.measure import Cdf, Series
from caveat.publish.canvas import Axis, Canvas, framed
from caveat.publish.charts_facts import Limit, facts, limit_of
from caveat.publish.charts_head import Head, head_of, head_of_many
from caveat.publish.charts_style import Spec, on_axis, time_scale
from caveat.publish.curve_points import Curve, curve_sentences, hardware
from caveat.publish.text import wrapped
from caveat.units import format_number, format_seconds

_HEIGHT = 6
_GAP = 3
_FEWEST_COLUMNS = 60  # below this panels stand one under the other
_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

Panel = list[str]
Floats = npt.NDArray[np.float64]


def run_text(figure: Figure, series: Series, *, width: int = 100, plain: bool = False) -> list[str]:
    """The lines of a run's chart on a screen of that width; `plain` keeps to ASCII."""
    two = width >= _FEWEST_COLUMNS
    column = (width - _GAP) // 2 if two else width
    left = list(_distributions(figure, series, column, plain))
    right = list(_curves(series, column, plain))
    lines = _head_lines(head_of(figure, width=width))
    for pair in zip(left, right, strict=True):
        lines += ["", *(_beside(*_levelled(*pair), column) if two else [*pair[0], "", *pair[1]])]
    return lines


def _head_lines(head: Head) -> list[str]:
    return [head.heading, *head.lines]


def _levelled(left: Panel, right: Panel) -> tuple[Panel, Panel]:
    """Both panels with as many lines of words above their canvases, which are equally high."""
    missing = len(left) - len(right)
    return [*left[:2], *[""] * -missing, *left[2:]], [*right[:2], *[""] * missing, *right[2:]]


def _beside(left: Panel, right: Panel, column: int) -> Panel:
    pairs = zip_longest(left, right, fillvalue="")
    return [f"{a[:column]:<{column}}{'':{_GAP}}{b[:column]}".rstrip() for a, b in pairs]


def _distributions(figure: Figure, series: Series, width: int, plain: bool) -> Iterator[Panel]:
    tpot = next((cdf.definition for cdf in series.cdfs if cdf.definition.startswith("caveat-tpot-")), "")
    for title, definition, limit in (
        ("TTFT from due", "caveat-ttft", "ttft"),
        ("TPOT", tpot, "tpot"),
        ("whole request from due", "caveat-latency", "latency"),
        ("send lateness", "caveat-send-lateness", ""),
    ):
        cdf = series.cdf(definition)
        yield (
            [title, "no request has the times"]
            if cdf is None
            else _cdf_panel(title, cdf, figure, limit_of(figure, limit), width, plain)
        )


def _cdf_panel(title: str, cdf: Cdf, figure: Figure, limit: Limit | None, width: int, plain: bool) -> Panel:
    near = limit is not None and on_axis(limit.seconds, float(cdf.values_s[0]), float(cdf.values_s[-1]))
    scale = time_scale([*cdf.values_s.tolist(), *([limit.seconds] if limit is not None and near else [])])
    canvas = Canvas(width - 6, _HEIGHT, _axis(scale), Axis(0, 1))
    canvas.steps(cdf.values_s, cdf.shares)
    said = ""
    if limit is not None:
        said = f", | {limit.words}" if near else f", {limit.words}, off the axis"
    if limit is not None and near:
        canvas.rule(limit.seconds)
    labels = ["100%", *[""] * (_HEIGHT - 2), "0%"]
    low, high = map(format_seconds, scale["domain"])
    return [
        f"{title}{said}"[:width],
        *(wrapped(facts(figure, cdf), width, hang=0).splitlines() or [""]),
        *framed(canvas.lines(plain=plain), labels, (_begin(low, scale), high), plain=plain),
    ]


def _axis(scale: Spec) -> Axis:
    low, high = scale["domain"]
    return Axis(low, high, log=scale.get("type") == "log")


def _begin(low: str, scale: Spec) -> str:
    """What stands where an axis begins: that it is logarithmic, or not from zero."""
    if scale.get("type") == "log":
        return f"{low} (logarithmic)"
    return f"{low} (not 0)" if scale["domain"][0] > 0 else low


def _curves(series: Series, width: int, plain: bool) -> Iterator[Panel]:
    over = series.over_time
    panels = (
        ("TTFT over time, median and max", "by when due", (over.ttft_p50_s, over.ttft_max_s), True),
        ("requests per second, succeeded", _failures(over.failed_per_s, over.edges_s), (over.ended_per_s,), False),
        ("requests in flight, mean", "", (over.in_flight,), False),
        ("send lateness over time, max", "by when due", (over.lateness_max_s,), True),
    )
    for title, note, curves, seconds in panels:
        high = float(np.nanmax(np.concatenate(curves), initial=0.0)) or 1.0
        canvas = Canvas(width - 10, _HEIGHT, Axis(0, float(over.edges_s[-1])), Axis(0, high))
        for values in curves:
            canvas.steps(over.edges_s, [*values, values[-1]])
        top = format_seconds(high) if seconds else format_number(high)
        labels = [f"{top:>8}", *[""] * (_HEIGHT - 2), "0"]
        ends = ("0 s", format_seconds(float(over.edges_s[-1])))
        yield [title, note, *framed(canvas.lines(plain=plain), labels, ends, plain=plain)]


def _failures(failed_per_s: Floats, edges_s: Floats) -> str:
    count = round(float((failed_per_s * np.diff(edges_s)).sum()))
    return f"{count:,} failed" if count else "none failed"


def curve_text(curve: Curve, *, width: int = 100, plain: bool = False) -> list[str]:
    """The curve of a sweep: letters for points, with what each is below."""
    figures = [point.figure for point in curve.points]
    title = "Output tokens/s of the system against tokens/s per user"
    head = head_of_many(figures, title, hardware(figures[0]), curve_sentences(curve), width=width)
    return [*_head_lines(head), "", *_curve_panel(curve, width, plain)]


def _curve_panel(curve: Curve, width: int, plain: bool) -> Panel:
    users, rates = curve.user_scale, curve.system_scale
    low, high = (f"{text:>6}" for text in map(format_number, rates["domain"]))
    canvas = Canvas(max(width - max(len(low), len(high)) - 2, 20), 12, _axis(users), _axis(rates))
    if curve.limit_drawn is not None:
        canvas.rule(curve.limit_drawn)
    for sign, point in zip(_signs(curve), curve.points, strict=True):
        canvas.mark(point.user, point.system, sign)
    begin, end = map(format_number, users["domain"])
    lines = framed(canvas.lines(plain=plain), [high, *[""] * 10, low], (_begin(begin, users), end), plain=plain)
    words = f"up: output tokens/s {curve.of}; right: output tokens/s per user"
    return [*wrapped(words, width, hang=0).splitlines(), *(line.rstrip() for line in lines), *_legend(curve)]


def _signs(curve: Curve) -> str:
    """A letter a point; an asterisk for each that no letter is left for."""
    return _SIGNS[: len(curve.points)].ljust(len(curve.points), "*")


def _legend(curve: Curve) -> Sequence[str]:
    said = [
        f"{sign}  {format_number(point.system)} tokens/s at {format_number(point.user)} per user: {point.label}"
        for sign, point in zip(_signs(curve), curve.points, strict=True)
    ]
    if curve.tpot_limit_s is not None:
        off = "" if curve.limit_drawn is not None else ", off the axis"
        said.append(f"|  TPOT limit {format_seconds(curve.tpot_limit_s)}{off}")
    return said
