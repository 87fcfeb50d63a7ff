"""A chart of figures in every form: one run's latencies and its course, or the curve of a sweep of several.

The modules that draw are loaded on first use: they read samples, and a verb that draws nothing does not wait for numpy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caveat.errors import InputError, UsageError
from caveat.figures import SHOWN, Figure, Run
from caveat.publish.charts_head import untold

if TYPE_CHECKING:
    from caveat.errors import Problem
    from caveat.measure import Series
    from caveat.publish.charts_trace import TraceChart
    from caveat.workload import TraceDescription


@dataclass(frozen=True, slots=True)
class Chart:
    """The figures that are drawn, the Vega-Lite specification, and the lines for a screen: `text(width, plain)`.

    Each form has the conditions, the validity and the caveats of the figures above it.
    """

    figures: tuple[Figure, ...]
    spec: dict[str, Any]
    text: Callable[[int, bool], list[str]]


def plot_run(figure: Figure, folder: Path) -> Chart:
    """The chart of a run whose samples the ledger in `folder` keeps.

    UsageError where it has none, InputError where they are not those of its figures.
    """
    from caveat.publish.charts import run_chart
    from caveat.publish.charts_text import run_text

    series = series_of_run(figure.run, folder)
    return Chart(
        (figure,), run_chart(figure, series), lambda width, plain: run_text(figure, series, width=width, plain=plain)
    )


def plot_sweep(runs: Sequence[Run]) -> Chart:
    """The curve of a sweep: output tokens/s per accelerator over tokens/s per user, a point a run.

    UsageError for a single run, RefusedError for runs of unlike systems or workloads, CannotSayError where fewer
    than two have a rate and a median time per token.
    """
    from caveat.publish.charts_curve import curve_chart
    from caveat.publish.charts_text import curve_text
    from caveat.publish.curve_points import curve_of

    curve = curve_of(runs)
    figures = tuple(point.figure for point in curve.points)
    return Chart(figures, curve_chart(curve), lambda width, plain: curve_text(curve, width=width, plain=plain))


def plot_trace(description: TraceDescription, problems: Sequence[Problem] = ()) -> TraceChart:
    """The chart of a trace, with its source, its changes and what reading it found above."""
    from caveat.publish.charts_trace import trace_chart

    return trace_chart(description, problems)


def series_of_run(run: Run, folder: Path) -> Series:
    """The curves of a run of the ledger in `folder`, from the samples that its figures were made of; of a simulated run
    near saturation those that hold no waiting.

    UsageError for a run without samples, InputError where the file is no longer the one that the figures came from.
    """
    from caveat.measure import series_of

    if run.samples is None:
        raise UsageError(
            f"run {run.id[:SHOWN]} has no samples: a few published numbers make no curve",
            next="give a run that was measured here",
        )
    path = folder / run.samples
    kept = next((source.sha256 for source in run.provenance.sources if source.kind == "samples"), "")
    if kept and path.is_file() and kept != _hash(path):
        raise InputError(f"{path}: found other samples than the figures were made of", next="caveat record FOLDER")
    queries = run.conditions.number("queries")
    found = series_of(path, queries=int(queries) if queries else None)
    return found if untold(run) is None else _without_waiting(found)


def _without_waiting(series: Series) -> Series:
    """As the figures of such a run are told: no first tokens, no whole requests, no requests under way."""
    import numpy as np

    over = series.over_time
    unknown = np.full_like(over.in_flight, np.nan)
    names = ("in_flight", "ttft_p50_s", "ttft_p90_s", "ttft_max_s")
    return replace(
        series,
        cdfs=tuple(cdf for cdf in series.cdfs if not cdf.definition.startswith(_WAITING)),
        over_time=replace(over, **dict.fromkeys(names, unknown)),
    )


_WAITING = ("caveat-ttft", "caveat-latency")


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
