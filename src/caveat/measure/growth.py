"""Whether the queue grew for as long as requests came: an open loop that offered more than the server can carry.

How many requests were under way must grow through the whole time of arrivals, by more than chance, while each takes
longer than those before it: a rising rate alone lifts the number, a change to longer answers alone the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.figures import METRICS, Check, Outcome
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.concurrency import over_time
from caveat.measure.intervals import student
from caveat.measure.latencies import tpot_ns
from caveat.measure.rows import metric_keys
from caveat.measure.tokens import Tokens
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_seconds

ASPECT = "steady state"

_MOST_PILED = 0.02  # of what was due may still be under way when the next is, quarter by quarter
_MUCH = 0.1  # so much is not passed over, even where few requests make it no more than chance
_QUARTERS = 4
_MOST_BLOCKS, _REQUESTS_A_BLOCK = 20, 5
_HALF = 0.2  # of the growth, at least, in either half: a burst and a start from empty have all of it in one
_SURE, _HINTED = 0.98, 0.8  # two-sided confidence, so one-sided 99 % and 90 %
_TURNOVERS = 10  # times that an early request lasts: a shorter run may still be filling the server
_FASTER = 1.5  # times the rate: a queue that grows with the rate may be carried, or not
_TPOT_GREW = 0.05

_UNTOUCHED = ("caveat-error-rate", "caveat-offered-rate", "caveat-send-lateness", "loadgen-scheduled")
_TPOT = (*metric_keys("caveat-tpot", "caveat-certified-tpot", "caveat-inter-chunk", "loadgen-tpot"),)
WAITING = tuple(
    key
    for key in metric_keys("caveat-", "loadgen-")
    if key not in _TPOT and not METRICS[key].definition.startswith(_UNTOUCHED)
)
"""What depends on how long a run lasts while its queue grows. Of the time per token that is asked each time."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A series cut into quarters: their means, and how sure it is that they grow.

    `t` is Student's t of the steps between the `blocks` blocks that the quarters are made of. In a steady state what
    goes up comes down, steps cancel, and t is smaller than chance would have it.
    """

    quarters: Floats
    t: float
    blocks: int

    @property
    def size(self) -> float:
        """From the first quarter to the last."""
        return float(self.quarters[-1] - self.quarters[0])

    @property
    def throughout(self) -> bool:
        """Whether it grew in both halves."""
        first, last = float(self.quarters[0]), float(self.quarters[-1])
        middle = float(self.quarters[1:-1].mean())
        return min(middle - first, last - middle) >= _HALF * self.size

    def is_sure(self, confidence: float) -> bool:
        """Whether chance makes such steps less often than this leaves open."""
        return self.t > student(confidence, self.blocks - 2)


def growth_of(blocks: Floats) -> Growth:
    """The growth of a series given as means of equal blocks, as many as make four quarters."""
    steps = np.diff(blocks)
    error = float(steps.std(ddof=1)) / math.sqrt(len(steps))
    mean = float(steps.mean())
    t = mean / error if error > 0 else math.copysign(math.inf, mean) if mean else 0.0
    return Growth(blocks.reshape(_QUARTERS, -1).mean(axis=1), t, len(blocks))


def growth_checks(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], *, by_rules: bool = False
) -> Iterator[Check]:
    """One sentence on whether the server kept up with what was due. `by_rules`: a scenario, whose rules do not ask."""
    open_loop = bool(np.isfinite(columns.numbers("scheduled_ns")[window.rows]).any())
    if not open_loop or window.is_burst:
        what = "A burst" if open_loop else "A closed loop"
        yield _check("not applicable", f"{what} has no arrivals with which a server could keep up.")
        return
    due, latency = window.due_ns[window.ok], (window.end_ns - window.due_ns)[window.ok]
    count = min(_MOST_BLOCKS, len(due) // _REQUESTS_A_BLOCK // _QUARTERS * _QUARTERS)
    if count < _QUARTERS or window.steady_ns <= 0:
        few = f"{len(due):,} requests ended well, expected {_QUARTERS * _REQUESTS_A_BLOCK} and a length"
        yield _check("unknown", f"Whether the queue grew cannot be said: {few}.")
        return
    held = growth_of(_under_way(columns, window, count))
    quarter = len(due) // _QUARTERS
    took = float(latency[:quarter].mean()), float(latency[-quarter:].mean())
    piled = held.size / (len(window.rows) * (1 - 1 / _QUARTERS))
    slower = (took[1] - took[0]) / (float(due[-quarter:].mean() - due[:quarter].mean()) or math.inf)
    outcome, why = _judged(held, min(piled, slower), window.steady_ns / _at_first(columns), _faster(window))
    if outcome == "fail" and by_rules:
        outcome, why = "unknown", f"{why}; the rules of the scenario do not ask for it"
    yield _check(outcome, _sentence(held, took, piled, why), (*WAITING, *_slowed(columns, window, tokens)))


def _judged(held: Growth, share: float, turnovers: float, faster: float) -> tuple[Outcome, str]:
    hinted = share >= _MUCH or held.is_sure(_HINTED)
    if share < _MOST_PILED or not hinted:
        return "pass", "the server kept up"
    if turnovers < _TURNOVERS:
        return "unknown", f"the run is too short to say more: a server takes {_TURNOVERS} times a request to fill"
    if not (held.throughout and held.is_sure(_SURE)):
        return "unknown", "it may have been a burst, a start from empty or chance"
    if faster > _FASTER:
        return "unknown", f"requests came {faster:.1f} times as fast in the last quarter as in the first"
    return "fail", "the queue grew all the while, so that waiting says how long the run was"


def _sentence(held: Growth, took_ns: tuple[float, float], piled: float, why: str) -> str:
    numbers = ", ".join(f"{mean:,.3g}" for mean in held.quarters)
    first, last = (format_seconds(mean / NS_PER_S) for mean in took_ns)
    return (
        f"{numbers} requests were under way in the quarters of the time of arrivals, and took {first} in the first and "
        f"{last} in the last: {max(0.0, piled):.1%} of what was due piled up, {_MOST_PILED:.0%} may; {why}."
    )


def _under_way(columns: SampleColumns, window: Window, count: int) -> Floats:
    """Mean number due and not ended, of all requests of the run, in equal stretches of the time of arrivals."""
    due, end = columns.numbers("ready_ns"), columns.numbers("end_ns")
    known = end >= due
    return over_time(due[known], end[known], np.linspace(window.start_ns, window.last_due_ns, count + 1))


def _faster(window: Window) -> float:
    """How many times as many requests were due in the last quarter of the time as in the first."""
    edges = np.linspace(window.start_ns, window.last_due_ns, _QUARTERS + 1)
    counts, _ = np.histogram(window.due_ns, edges)
    return float(counts[-1] / max(1, counts[0]))


def _at_first(columns: SampleColumns) -> float:
    """How long requests took at the start of the samples, warm-up or not: before anything had piled up."""
    due, end = columns.numbers("ready_ns"), columns.numbers("end_ns")
    ended = np.flatnonzero((end > due) & ~columns.present("error_class"))
    first = ended[np.argsort(due[ended], kind="stable")[: max(1, len(ended) // _MOST_BLOCKS)]]
    return float((end[first] - due[first]).mean()) if len(first) else math.inf


def _slowed(columns: SampleColumns, window: Window, tokens: Sequence[Tokens]) -> tuple[str, ...]:
    """The keys of the time per token, where it grew as well; answers behind a full server's door keep theirs."""
    for one in tokens[:1]:
        tpot = tpot_ns(columns, window, one)
        known = tpot[np.isfinite(tpot)]
        quarter = len(known) // _QUARTERS
        if quarter and known[-quarter:].mean() <= (1 + _TPOT_GREW) * known[:quarter].mean():
            return ()
    return _TPOT


def _check(outcome: Outcome, sentence: str, metrics: tuple[str, ...] = WAITING) -> Check:
    return Check(aspect=ASPECT, outcome=outcome, sentence=sentence, metrics=metrics)
