"""The points of a sweep: what the system gives against what each user sees, one point a run, with the limits.

Output tokens/s per accelerator (of the whole system where their number is not known) over tokens/s per user, which is
1 / median TPOT. Points of unlike systems or workloads are no curve and are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caveat.errors import CannotSayError, RefusedError, UsageError
from caveat.figures import SHOWN, Figure, Outcome, Run, outcome
from caveat.publish.charts_style import Spec, linear_scale, on_axis
from caveat.publish.text import cut, printable
from caveat.units import format_number

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
_LIMIT_KEYS = ("ttft_limit_s", "tpot_limit_s", "latency_limit_s")
_COUNTERS = ("usage", "client")
_LEAST_SPAN = 0.2  # of an axis that does not begin at zero: points that differ by a percent stand close together


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
    def limit_user(self) -> float | None:
        """The tokens/s per user at the limit on TPOT; None without a limit."""
        return 1 / self.tpot_limit_s if self.tpot_limit_s else None

    @property
    def limit_drawn(self) -> float | None:
        """The same, where it is near enough to the points to stand on their axis."""
        users = [point.user for point in self.points]
        return self.limit_user if on_axis(self.limit_user, min(users), max(users)) else None

    @property
    def user_scale(self) -> Spec:
        """The axis of tokens/s per user, with the limit on it where it is near."""
        ends = [point.user for point in self.points] + ([self.limit_drawn] if self.limit_drawn else [])
        return linear_scale(min(ends), max(ends), least=_LEAST_SPAN)

    @property
    def system_scale(self) -> Spec:
        """The axis of the system's rate."""
        rates = [point.system for point in self.points]
        return linear_scale(min(rates), max(rates), least=_LEAST_SPAN)

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
            asked, words = _asked(run)
            rate_of_each = row.value / (accelerators or 1)
            return Point(Figure(run, rate), 1 / tpot.value, rate_of_each, asked, words, _limits(run, rate))
    return None


def _limits(run: Run, metric: str) -> Outcome:
    """Whether the run met its latency limits; not applicable where it has none."""
    entries = [entry for entry in run.validity if entry.aspect == "latency limits"]
    if all(run.conditions.number(key) is None for key in _LIMIT_KEYS):
        return "not applicable"
    return outcome(entries, metric)


def _asked(run: Run) -> tuple[float, str]:
    c = run.conditions
    rate, flying = c.number("target_qps"), c.number("concurrency")
    if flying is not None and c.words("loop") == "closed":
        return flying, f"{flying:,.0f} in flight"
    return (rate, f"{rate:,g} requests/s") if rate is not None else (0.0, cut(c.text("arrivals"), 30))


def curve_sentences(curve: Curve) -> tuple[str, ...]:
    """How the two axes were formed, and what the limits say."""
    figure = curve.points[0].figure
    rate, source = figure.metric.key, figure.metric.key.rpartition("-")[2]
    of = (
        f"{rate} / {curve.accelerators} accelerators (a claim)" if curve.accelerators else f"{rate} of the whole system"
    )
    basis = f"derived, no figures of the runs themselves: {of}, and 1 / caveat-tpot-{source}.p50 per user"
    limits = _limits_met(curve)
    gone = f"left out, without a rate or a median time per token: {', '.join(curve.left_out)}" if curve.left_out else ""
    return tuple(filter(None, (basis, f"{limits}; {_mean_output(curve)}", gone)))


def _limits_met(curve: Curve) -> str:
    if all(point.limits == "not applicable" for point in curve.points):
        return "no latency limits were set"
    met, missed = (sum(point.limits == said for point in curve.points) for said in ("pass", "fail"))
    return f"latency limits: {met} met, {missed} missed, {len(curve.points) - met - missed} cannot be said"


def _mean_output(curve: Curve) -> str:
    found = mean_range([point.figure.run for point in curve.points], "output_tokens")
    if found is None:
        return "mean output of a request undisclosed"
    low, high = map(format_number, found)
    return f"mean output of a request {low} tokens" if low == high else f"mean output {low} to {high} tokens"


def hardware(figure: Figure) -> str:
    """`2 x H100`, or that it is undisclosed."""
    c = figure.conditions
    said = f"{c.text('accelerators')} x {c.text('accelerator')}"
    return said.replace("undisclosed x undisclosed", "undisclosed hardware")
