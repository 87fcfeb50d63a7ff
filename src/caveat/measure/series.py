"""Series: what a chart of one run draws, with as few points as the eye can tell apart, however long the run was.

Distributions are of the measured requests, curves over time of the whole run, warm-up included. Nothing is smoothed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from caveat.measure.columns import Floats, SampleColumns, Samples, columns_of
from caveat.measure.concurrency import in_flight, over_time
from caveat.measure.latencies import values_of
from caveat.measure.percentiles import nearest_rank, percentile
from caveat.measure.tokens import token_counts
from caveat.measure.windows import WarmUp, Window, window_of
from caveat.units import NS_PER_S

_BINS = 60  # at most, and fewer where a bin would hold few requests
_IN_A_BIN = 8
# Shares at which a distribution is drawn: every percent, and finer towards the end, where the tail is.
_GRID = np.unique(np.concatenate([np.linspace(0, 1, 101), 1 - np.geomspace(0.01, 1e-5, 60)]))
_OF_ALL = ("caveat-ttft", "caveat-ttft-sent", "caveat-latency", "caveat-send-lateness")


@dataclass(frozen=True, slots=True)
class Cdf:
    """How many requests had at most this value: `shares` of the `of` requests had at most `values_s`, ascending.

    A request that failed never had the value: it counts in `of` and keeps the curve below one.
    """

    definition: str
    values_s: Floats
    shares: Floats
    n: int
    of: int


@dataclass(frozen=True, slots=True)
class OverTime:
    """One value a bin, NaN where the bin has no request. `edges_s` are one more than the bins, from the plan's start.

    Due and sent requests, latencies and lateness stand in the bin in which the request was due, ends and failures in
    that in which they happened.
    """

    edges_s: Floats
    due_per_s: Floats
    ended_per_s: Floats
    failed_per_s: Floats
    in_flight: Floats
    ttft_p50_s: Floats
    ttft_p90_s: Floats
    ttft_max_s: Floats
    lateness_p50_s: Floats
    lateness_max_s: Floats


@dataclass(frozen=True, slots=True)
class Series:
    """The curves of one run. The measured requests were due from `measured_s[0]` and had ended by `measured_s[1]`."""

    cdfs: tuple[Cdf, ...]
    over_time: OverTime
    measured_s: tuple[float, float]

    def cdf(self, definition: str) -> Cdf | None:
        """The distribution of one latency; None where no request has it."""
        return next((cdf for cdf in self.cdfs if cdf.definition == definition), None)


def series_of(samples: Samples, *, queries: int | None = None) -> Series:
    """The curves of samples. `queries` is how many requests the figures were made of (a condition of the run).

    A warm-up rule cuts at the start and nowhere else, so that the last `queries` that were due are those of the
    figures. Raises CannotSayError where nothing was measured, InputError or NotFoundError as `columns_of` does.
    """
    columns = columns_of(samples)
    window = window_of(columns)
    if queries is not None and 0 < queries < len(window.rows):
        window = window_of(columns, WarmUp(first_requests=len(window.rows) - queries))
    return Series(
        cdfs=tuple(_cdfs(columns, window)),
        over_time=_over_time(columns),
        measured_s=(window.start_ns / NS_PER_S, window.last_end_ns / NS_PER_S),
    )


def _cdfs(columns: SampleColumns, window: Window) -> list[Cdf]:
    tokens = token_counts(columns, window)
    names = [*_OF_ALL, *(f"caveat-tpot-{one.source}" for one in tokens)]
    found = []
    for name in names:
        values = values_of(name, columns, window, tokens)
        if values is not None and np.isfinite(values).any():
            known = np.sort(values[np.isfinite(values)]) / NS_PER_S
            found.append(cdf_of(name, known, len(values) if name in _OF_ALL else len(known)))
    return found


def cdf_of(definition: str, ascending_s: Floats, of: int) -> Cdf:
    """The distribution of sorted values, not empty, among `of` requests; about 160 points at most."""
    n = len(ascending_s)
    ranks = np.unique([nearest_rank(n, float(share)) for share in _GRID])
    return Cdf(definition, ascending_s[ranks], (ranks + 1) / of, n, of)


def bin_width_s(length_s: float, bins: int) -> float:
    """The least of 1, 2, 5, 10, ... seconds (and their tenths, hundredths, ...) that needs no more bins."""
    least = max(length_s, 1e-6) / bins
    power = 10.0 ** math.floor(math.log10(least))
    return float(next(power * step for step in (1, 2, 5, 10, 20) if power * step >= least * (1 - 1e-9)))


def _over_time(columns: SampleColumns) -> OverTime:
    due, end = columns.numbers("ready_ns"), columns.numbers("end_ns")
    failed = columns.present("error_class")
    last_s = float(np.nanmax(np.concatenate([due, end]))) / NS_PER_S
    width_s = bin_width_s(last_s, min(_BINS, max(10, columns.rows // _IN_A_BIN)))
    edges_s: Floats = np.arange(math.floor(last_s / width_s) + 2, dtype=np.float64) * width_s
    edges_ns: Floats = edges_s * NS_PER_S
    ttft = np.where(failed, np.nan, columns.numbers("first_token_ns") - due)
    late = columns.numbers("sent_ns") - due

    def per_s(times_ns: Floats) -> Floats:
        return np.histogram(times_ns[np.isfinite(times_ns)], edges_ns)[0] / width_s

    return OverTime(
        edges_s=edges_s,
        due_per_s=per_s(due),
        ended_per_s=per_s(end[~failed]),
        failed_per_s=per_s(end[failed]),
        in_flight=over_time(*in_flight(columns), edges_ns),
        ttft_p50_s=_of_bins(due, ttft, edges_ns, 0.5),
        ttft_p90_s=_of_bins(due, ttft, edges_ns, 0.9),
        ttft_max_s=_of_bins(due, ttft, edges_ns, 1.0),
        lateness_p50_s=_of_bins(due, late, edges_ns, 0.5),
        lateness_max_s=_of_bins(due, late, edges_ns, 1.0),
    )


def _of_bins(at_ns: Floats, values_ns: Floats, edges_ns: Floats, share: float) -> Floats:
    """The percentile of the values of each bin, in seconds."""
    known = np.isfinite(values_ns)
    order = np.lexsort((values_ns[known], at_ns[known]))
    at, values = at_ns[known][order], values_ns[known][order]
    places = np.searchsorted(at, edges_ns)
    found = np.full(len(edges_ns) - 1, np.nan)
    for place, (begin, end) in enumerate(itertools.pairwise(places)):
        if end > begin:
            found[place] = percentile(np.sort(values[begin:end]), share) / NS_PER_S
    return found
