"""The curve of a sweep: what the system gives against what each user sees, one point a run, with the limits.

Output tokens/s per accelerator (of the whole system where their number is not known) over tokens/s per user, which is
1 / median TPOT. Points of unlike systems or workloads are no curve and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caveat.errors import CannotSayError, RefusedError, UsageError
from caveat.figures import SHOWN, Figure, Outcome, Run, outcome
from caveat.publish.charts_head import head_of_many
from caveat.publish.charts_style import BLUE, GREY, INK, LIMIT, Spec, framed, tidy
from caveat.publish.text import cut, printable
from caveat.units import format_number, format_seconds

# What all points of a curve share. Unknown in all of them is shared too: it is said as undisclosed.
SAME = (
    "model",
    "engine",
    "weight_precision",
    "accelerator",
    "accelerators",
    "decoding",
    "token_source",
    "loop",
    "ttft_limit_s",
    "tpot_limit_s",
    "latency_limit_s",
    "limit_percentile",
    "prefix_caching",
    "speculative_decoding",
)
_LENGTHS = ("input_tokens_requested", "output_tokens_requested")
_LENGTH_SHARE = 0.1  # means of one random law differ between runs of a few requests; more is another workload
_COUNTERS = ("usage", "client")
_WIDTH, _HEIGHT = 820, 400
USER_ROOM = 1.3  # times the fastest: labels stand to the right of their points


@dataclass(frozen=True, slots=True)
class Point:
    """One run on the curve. `system` is output tokens/s, by accelerator or of the whole; `limits` whether it met them.

    Two values derived from the rows of one run; they stay with their figure.
    """

    figure: Figure
    user: float
    system: float
    asked: float
    words: str
    limits: Outcome

    @property
    def label(self) -> str:
        """`32 in flight, TTFT p99 322 ms, not valid`."""
        said = {"pass": "", "fail": ", not valid", "unknown": ", validity unknown", "not applicable": ""}
        return self.words + said[self.figure.outcome]


@dataclass(frozen=True, slots=True)
class Curve:
    """The points in order of what was asked, and by how many accelerators the rates were divided, if any.

    `left_out` are the runs that lack a rate or a median time per token and have no point.
    """

    points: tuple[Point, ...]
    accelerators: int | None
    tpot_limit_s: float | None
    left_out: tuple[str, ...] = ()

    @property
    def fastest(self) -> float:
        """The greatest tokens/s per user of a point or the limit."""
        limit = 1 / self.tpot_limit_s if self.tpot_limit_s else 0.0
        return max(limit, *(point.user for point in self.points))

    @property
    def of(self) -> str:
        """What the rate is a rate of."""
        return "per accelerator" if self.accelerators else "of the whole system (number of accelerators undisclosed)"


def curve_of(runs: Sequence[Run]) -> Curve:
    """The curve of two runs or more.

    UsageError for fewer, RefusedError for unlike ones, CannotSayError where fewer than two have a point.
    """
    if len({run.id for run in runs}) < 2:
        raise UsageError("a curve needs two runs or more", next="caveat measure URL --sweep concurrency=1,8,64")
    _check_alike(runs)
    c = runs[0].conditions
    count = c.number("accelerators") if "accelerators" not in c.conflicts() else None
    accelerators = int(count) if count else None
    found = [_point(run, accelerators) for run in {run.id: run for run in runs}.values()]
    points = sorted(filter(None, found), key=lambda point: (point.asked, point.figure.id))
    left_out = tuple(run.id[:SHOWN] for run in runs if all(run is not point.figure.run for point in points))
    if len(points) < 2:
        raise CannotSayError(
            f"no median time per output token or no output rate in {', '.join(left_out)}: two points make a curve",
            next="caveat show RUN says why they are absent: too few requests, or tokens that nobody counted",
        )
    return Curve(tuple(points), accelerators, c.number("tpot_limit_s"), left_out)


def _check_alike(runs: Sequence[Run]) -> None:
    for key in SAME:
        said = sorted({cut(printable(run.conditions.text(key)), 60) for run in runs})
        if len(said) > 1:
            raise _unlike(key, ", ".join(said))
    for key in _LENGTHS:
        found = mean_range(runs, key)
        if found is not None and found[1] - found[0] > _LENGTH_SHARE * found[1]:
            raise _unlike(key, f"means from {format_number(found[0])} to {format_number(found[1])}")


def mean_range(runs: Sequence[Run], key: str) -> tuple[float, float] | None:
    """The least and the greatest mean of a distribution of lengths; None where no run knows it."""
    means = [parts["mean"] for run in runs if "mean" in (parts := run.conditions.numbers(key))]
    return (min(means), max(means)) if means else None


def _unlike(key: str, found: str) -> RefusedError:
    return RefusedError(
        f"not one sweep: {key}: found {found}, expected the same in all runs",
        code="not-one-sweep",
        next="draw one curve for each; caveat compare says whether two runs may stand side by side",
    )


def _point(run: Run, accelerators: int | None) -> Point | None:
    """None where the run has not both values: one that it could not state is not drawn."""
    for source in _COUNTERS:
        rate, tpot = f"caveat-output-tokens-rate-{source}", run.row(f"caveat-tpot-{source}.p50")
        if (row := run.row(rate)) is not None and tpot is not None and tpot.value > 0:
            limits = outcome([entry for entry in run.validity if entry.aspect == "latency limits"], rate)
            asked, words = _asked(run)
            return Point(Figure(run, rate), 1 / tpot.value, row.value / (accelerators or 1), asked, words, limits)
    return None


def _asked(run: Run) -> tuple[float, str]:
    c = run.conditions
    rate, flying = c.number("target_qps"), c.number("concurrency")
    if flying is not None and c.words("loop") == "closed":
        return flying, f"{flying:,.0f} in flight"
    return (rate, f"{rate:,g} requests/s") if rate is not None else (0.0, cut(c.text("arrivals"), 30))


def curve_chart(curve: Curve) -> Spec:
    """The curve as Vega-Lite."""
    figures = [point.figure for point in curve.points]
    title = "Output tokens/s of the system against tokens/s per user"
    head = head_of_many(figures, title, hardware(figures[0]), curve_sentences(curve), width=150)
    x = _axis("user", "output tokens/s per user (1 / median time per output token)", USER_ROOM * curve.fastest)
    y = _axis("system", f"output tokens/s {curve.of}", 1.1 * max(point.system for point in curve.points))
    line = {"type": "line", "color": BLUE, "strokeWidth": 2, "opacity": 0.55}
    label = {"type": "text", "align": "left", "dx": 9, "dy": -8, "fontSize": 11, "color": INK}
    points = {"values": [_value(point, number) for number, point in enumerate(curve.points)]}
    order = {"field": "place", "type": "quantitative"}
    layers: list[Spec] = [
        *_limit(curve, x),
        {"data": points, "mark": line, "encoding": {"x": x, "y": y, "order": order}},
        {
            "data": points,
            "mark": {"type": "point", "size": 90, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, **_look(curve)},
        },
        {"data": points, "mark": label, "encoding": {"x": x, "y": y, "text": {"field": "label"}}},
    ]
    return framed(head, {"width": _WIDTH, "height": _HEIGHT, "layer": layers})


def curve_sentences(curve: Curve) -> tuple[str, ...]:
    """How the two axes were formed, and what the limits say."""
    figure = curve.points[0].figure
    rate, source = figure.metric.key, figure.metric.key.rpartition("-")[2]
    of = (
        f"{rate} / {curve.accelerators} accelerators (a claim)" if curve.accelerators else f"{rate} of the whole system"
    )
    basis = f"derived, no figures of the runs themselves: {of}, and 1 / caveat-tpot-{source}.p50 per user"
    met = sum(point.limits == "pass" for point in curve.points)
    missed = sum(point.limits == "fail" for point in curve.points)
    limits = f"latency limits: {met} met, {missed} missed, {len(curve.points) - met - missed} cannot be said"
    gone = f"left out, without a rate or a median time per token: {', '.join(curve.left_out)}" if curve.left_out else ""
    return tuple(filter(None, (basis, f"{limits}; {_mean_output(curve)}", gone)))


def _mean_output(curve: Curve) -> str:
    found = mean_range([point.figure.run for point in curve.points], "output_tokens")
    if found is None:
        return "mean output of a request undisclosed"
    low, high = map(format_number, found)
    return f"mean output of a request {low} tokens" if low == high else f"mean output {low} to {high} tokens"


def hardware(figure: Figure) -> str:
    """`2 x H100`, or that it is undisclosed."""
    c = figure.conditions
    return f"{c.text('accelerators')} x {c.text('accelerator')}".replace("undisclosed x undisclosed", "undisclosed")


def _axis(field: str, title: str, end: float) -> Spec:
    axis = {"title": title, "titleFontSize": 11, "titlePadding": 8, "tickCount": 8}
    scale = {"domain": [0, tidy(end)], "nice": False}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}


def _value(point: Point, place: int) -> Spec:
    return {
        "user": tidy(point.user),
        "system": tidy(point.system),
        "place": place,
        "label": printable(point.label),
        "limits": _LIMITS[point.limits][0],
        "valid": point.figure.outcome,
    }


# outcome of the latency limits, in words, shape, colour
_LIMITS: dict[Outcome, tuple[str, str, str]] = {
    "pass": ("limits met", "circle", BLUE),
    "fail": ("limits missed", "cross", LIMIT),
    "unknown": ("whether limits were met cannot be said", "diamond", GREY),
}
_LEGEND: Spec = {"orient": "bottom", "direction": "horizontal", "title": None, "symbolSize": 80, "labelLimit": 400}


def _look(curve: Curve) -> Spec:
    """Shape and colour of points by whether the limits were met, the legend names what there is."""
    found = [_LIMITS[limits] for limits in _LIMITS if any(point.limits == limits for point in curve.points)]
    words, shapes, colours = ([line[part] for line in found] for part in range(3))
    by = {"field": "limits", "type": "nominal"}
    return {
        "shape": {**by, "scale": {"domain": words, "range": shapes}, "legend": _LEGEND},
        "color": {**by, "scale": {"domain": words, "range": colours}, "legend": None},
    }


def _limit(curve: Curve, x: Spec) -> list[Spec]:
    """The limit on TPOT as what a user must at least see; left of it the limit is missed at the median."""
    if curve.tpot_limit_s is None:
        return []
    words = f"TPOT limit {format_seconds(curve.tpot_limit_s)}: {format_number(1 / curve.tpot_limit_s)} tokens/s"
    values = {"values": [{"user": tidy(1 / curve.tpot_limit_s), "words": words}]}
    rule = {"type": "rule", "color": LIMIT, "strokeDash": [5, 3], "strokeWidth": 1.5}
    text = {"type": "text", "color": LIMIT, "align": "right", "dx": -6, "y": _HEIGHT - 10, "fontSize": 11}
    return [
        {"data": values, "mark": rule, "encoding": {"x": x}},
        {"data": values, "mark": text, "encoding": {"x": x, "text": {"field": "words"}}},
    ]
