"""Which requests count, and over which stretch of time: the warm-up rule and the windows.

Requests are chosen by when they were due, never by when they ended: a choice by completion would prefer the quick.
The measured requests are those of phase `measured` after the warm-up rule, in the order in which they were due.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from caveat.errors import CannotSayError, UsageError
from caveat.measure.columns import Flags, Floats, SampleColumns
from caveat.units import NS_PER_S, format_seconds

Indices = npt.NDArray[np.int64]

_BATCH = 5  # of MSER-5
_FEWEST = 10 * _BATCH


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What is left out at the start: a time, a number of requests, or all before a steady state (one of the three).

    The steady state is found by MSER-5 (White, Cobb and Spratt 2000): of the latencies in batches of five, cut where
    the standard error of the mean of the rest is least. Latencies stand in the order in which requests were *due*:
    in order of completion the quick would come first, and be taken for a trend.
    """

    first_s: float | None = None
    first_requests: int | None = None
    until_steady: bool = False

    def __post_init__(self) -> None:
        if (self.first_s is not None) + (self.first_requests is not None) + self.until_steady != 1:
            raise UsageError("warm-up: expected one of first_s, first_requests and until_steady")
        amount = self.first_s if self.first_s is not None else self.first_requests or 0
        if not 0 <= amount < math.inf:
            raise UsageError(f"warm-up: found {amount}, expected seconds or requests, none of them negative")


@dataclass(frozen=True, slots=True)
class Window:
    """The measured requests of a run and its stretch of time, in nanoseconds from the start of the plan.

    `rows` are their places in the samples in order of `due_ns`; `ok` says which succeeded; `end_ns` is NaN where
    nothing ended. `warmup` is the rule in words; `steady` is None unless a steady state was looked for.
    """

    rows: Indices
    due_ns: Floats
    end_ns: Floats
    ok: Flags
    warmup: str
    steady: bool | None = None

    @property
    def start_ns(self) -> float:
        """First due."""
        return float(self.due_ns[0])

    @property
    def last_due_ns(self) -> float:
        """Last due: the steady window ends here."""
        return float(self.due_ns[-1])

    @property
    def is_burst(self) -> bool:
        """Whether all requests are due at one time: none can leave at it, and how late each is says nothing."""
        return len(self.due_ns) > 1 and self.last_due_ns == self.start_ns

    @property
    def last_end_ns(self) -> float:
        """Last end of a measured request."""
        return float(np.nanmax(self.end_ns, initial=self.start_ns))

    @property
    def length_ns(self) -> float:
        """First due to last end."""
        return self.last_end_ns - self.start_ns

    @property
    def steady_ns(self) -> float:
        """First due to last due."""
        return self.last_due_ns - self.start_ns


def window_of(columns: SampleColumns, warmup: WarmUp | None = None) -> Window:
    """The measured requests. Raises CannotSayError where the rule leaves none."""
    whole = _measured(columns)
    if warmup is None:
        return _cut(whole, 0, "none", marked=columns.rows - len(whole.rows))
    cut, words, steady = _warmup_end(whole, warmup)
    return _cut(whole, cut, words, marked=columns.rows - len(whole.rows), steady=steady)


def _measured(columns: SampleColumns) -> Window:
    """All requests of phase `measured`, in order of when they were due; of equals the earlier row first."""
    rows = np.flatnonzero(columns.equal("phase", "measured"))
    if not len(rows):
        raise CannotSayError("no request was measured", next="run longer, and beyond the warm-up")
    due = columns.numbers("ready_ns")[rows]
    if np.any(due[1:] < due[:-1]):
        order = np.argsort(due, kind="stable")
        rows, due = rows[order], due[order]
    failed = columns.present("error_class")[rows]
    end = columns.numbers("end_ns")[rows]
    return Window(rows=rows, due_ns=due, end_ns=end, ok=~failed & np.isfinite(end), warmup="")


def _cut(whole: Window, cut: int, words: str, *, marked: int, steady: bool | None = None) -> Window:
    if cut >= len(whole.rows):
        raise CannotSayError(
            f"no request is left: the warm-up rule ({words}) takes all {len(whole.rows)}", next="run longer"
        )
    if marked:
        words = f"{words}; {marked:,} requests that the run itself marked as not measured"
    return Window(
        rows=whole.rows[cut:],
        due_ns=whole.due_ns[cut:],
        end_ns=whole.end_ns[cut:],
        ok=whole.ok[cut:],
        warmup=words,
        steady=steady,
    )


def _warmup_end(whole: Window, rule: WarmUp) -> tuple[int, str, bool | None]:
    """(requests to leave out, the rule in words, whether a steady state was found)."""
    if rule.first_requests is not None:
        return rule.first_requests, f"the first {rule.first_requests:,} requests", None
    if rule.first_s is not None:
        cut = int(np.searchsorted(whole.due_ns, whole.start_ns + rule.first_s * NS_PER_S))
        return cut, f"requests due in the first {format_seconds(rule.first_s)}", None
    latency = (whole.end_ns - whole.due_ns)[whole.ok]
    found = steady_from(latency)
    if found is None:
        return 0, "MSER-5 found no steady state, nothing left out", False
    cut = int(np.flatnonzero(whole.ok)[found]) if found else 0
    until = format_seconds((whole.due_ns[cut] - whole.start_ns) / NS_PER_S)
    return cut, f"MSER-5 on latency in order of arrival: the first {cut:,} requests ({until})", True


def steady_from(series: Floats) -> int | None:
    """How many values to leave out so that the rest is steady (MSER-5); None where no steady state is in sight.

    None for fewer than 50 values, and where the least standard error lies in the second half: then the series is
    still moving, and what is left would be a choice of a calm moment.
    """
    if len(series) < _FEWEST:
        return None
    batches = series[: len(series) // _BATCH * _BATCH].reshape(-1, _BATCH).mean(axis=1)
    centred = (batches - batches.mean())[::-1]
    left = np.arange(1, len(batches) + 1)
    squares = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / left  # about the mean of the last `left` batches
    error = (np.maximum(squares, 0) / left.astype(np.float64) ** 2)[::-1]
    cut = int(np.argmin(error[:-_BATCH]))  # the last five batches are too few to have an error
    return cut * _BATCH if cut < len(batches) // 2 else None
