"""MLPerf LoadGen's Poisson arrivals, bit for bit.

LoadGen fixes the whole schedule of a Server run before it sends anything (`loadgen.cc`, GenerateQueries). A 32-bit
Mersenne twister gives two draws a, b for each gap; u = (a + b·2³²)/2⁶⁴; the gap is -ln(1-u)/qps seconds, cut to
whole nanoseconds. Query 0 leaves at 0, query k after k gaps. Here: one schedule in full, or how far many reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from caveat.errors import InputError, UsageError
from caveat.units import NS_PER_S

Exponentials = npt.NDArray[np.float64]
Nanoseconds = npt.NDArray[np.int64]

BLOCK = 1 << 15
"""Gaps drawn at a time: three arrays of 8-byte values stay within a core's level-2 cache."""

MAX_QUERIES = 50_000_000
"""The longest schedule worth playing; the longest in MLPerf v4.1 to v6.0 has 7,692,288 queries."""

MAX_SPAN_NS = 10**17
"""About three years. No gap exceeds 37 times the mean, so no sum of gaps leaves 64 bits below this mean span."""

_SEEDS = 1 << 64
_TWISTER_SEEDS = 1 << 32
_BELOW_ONE = math.nextafter(1.0, 0.0)


class ScheduleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What fixes a Server schedule; the names are LoadGen's where it has one.

    `equal_issue_samples` is the size of the loaded set when LoadGen issues whole sets
    (`sample_concatenate_permutation`), 0 when it does not. `max_queries` ends the schedule early, 0 means never:
    LoadGen still generates and logs the rest, but issues none of it.
    """

    seed: int
    target_qps: float
    min_duration_ns: int
    min_queries: int
    equal_issue_samples: int = 0
    max_queries: int = 0

    def __post_init__(self) -> None:
        _check_integer("seed", self.seed, _SEEDS - 1)
        _check_integer("min_duration_ns", self.min_duration_ns, MAX_SPAN_NS)
        _check_integer("min_queries", self.min_queries, MAX_QUERIES)
        _check_integer("equal_issue_samples", self.equal_issue_samples, MAX_QUERIES)
        _check_integer("max_queries", self.max_queries, _SEEDS - 1)
        _check_rate(self.target_qps)
        _check_extent(self)


class Schedule(msgspec.Struct, frozen=True):
    """How far a schedule reaches.

    `generated_duration_ns` is the sum of all drawn gaps. LoadGen draws one more gap than it needs, so this is when
    the query after the last would have left, not when the last one leaves.
    """

    count: int
    generated_duration_ns: int


def padded_count(count: int, equal_issue_samples: int) -> int:
    """`count` rounded up to whole sets of samples; unchanged when equal issue is off (0)."""
    if equal_issue_samples == 0:
        return count
    return -(-count // equal_issue_samples) * equal_issue_samples


def exponentials(seed: int) -> Iterator[Exponentials]:
    """The unit exponentials -ln(1-u) that every schedule of `seed` divides by its rate, in blocks, without end.

    The logarithm is the C library's, one value at a time. NumPy's own differs from it in the last bit for one value
    in 300 or so, and a last bit can move a gap across a nanosecond. LoadGen's logs come from glibc; elsewhere
    the C library may differ in a last bit too, where about one gap in 10⁹ could then be a nanosecond off.
    """
    # RandomState is frozen by NumPy's policy (NEP 19), and for a plain integer it seeds as C++ std::mt19937 does.
    twister = np.random.RandomState(seed % _TWISTER_SEEDS)
    while True:
        draws = twister.randint(0, _TWISTER_SEEDS, 2 * BLOCK, dtype=np.uint32)
        # As libstdc++'s generate_canonical: one rounding in the sum, and never 1.
        u = np.minimum((draws[0::2] + draws[1::2] * 2.0**32) / 2.0**64, _BELOW_ONE)
        logarithms = np.fromiter(map(math.log, (1.0 - u).tolist()), np.float64, BLOCK)
        yield np.negative(logarithms, out=logarithms)


def loadgen_schedule(settings: ScheduleSettings) -> Nanoseconds:
    """When each query is scheduled, in nanoseconds from the start of the run."""
    clock = _Clock(settings.target_qps, [_Open(0, settings)])
    arrivals = [np.zeros(1, np.int64)]
    for block in exponentials(settings.seed):
        # The clock reuses its buffer for the next block.
        arrivals.append(clock.advance(block).copy())
        if ended := clock.take_ended():
            return np.concatenate(arrivals)[: ended[0].schedule().count]
    raise AssertionError("exponentials never end")


def schedule_extent(settings: ScheduleSettings) -> Schedule:
    """How far one schedule reaches, without holding it."""
    return extents(settings.seed, [settings])[0]


def extents(seed: int, requests: Sequence[ScheduleSettings]) -> list[Schedule]:
    """How far each of many schedules of one seed reaches, in the order asked.

    The exponentials are drawn once, and schedules of one rate share their arrivals. Memory does not grow with the
    length of the schedules.
    """
    found: dict[int, Schedule] = {}
    clocks = _clocks(seed, requests)
    blocks = exponentials(seed)
    while clocks:
        block = next(blocks)
        for clock in clocks:
            clock.advance(block)
            found.update((ended.position, ended.schedule()) for ended in clock.take_ended())
        clocks = [clock for clock in clocks if clock.open]
    return [found[position] for position in range(len(requests))]


class _Open:
    """A schedule whose end is still ahead: first its count is found, then the time at that count."""

    def __init__(self, position: int, settings: ScheduleSettings) -> None:
        self.position = position
        self._settings = settings
        self._count: int | None = None
        self._duration_ns: int | None = None
        if settings.min_duration_ns == 0:
            self._end_at(settings.min_queries)

    def advance(self, drawn: int, arrivals_ns: Nanoseconds) -> bool:
        """Look at the times after `drawn` + 1, `drawn` + 2, ... gaps; true when the schedule has ended."""
        reached = drawn + len(arrivals_ns)
        if self._count is None:
            self._look_for_the_end(drawn, reached, arrivals_ns)
        if self._count is not None and drawn < self._count <= reached:
            self._duration_ns = int(arrivals_ns[self._count - drawn - 1])
        return self._duration_ns is not None

    def schedule(self) -> Schedule:
        """What was found."""
        assert self._count is not None
        assert self._duration_ns is not None
        return Schedule(self._count, self._duration_ns)

    def _look_for_the_end(self, drawn: int, reached: int, arrivals_ns: Nanoseconds) -> None:
        """The last query must leave at or after the minimum duration; whole sets are tested at their last query."""
        if arrivals_ns[-1] >= self._settings.min_duration_ns:
            first_late = drawn + 1 + int(np.searchsorted(arrivals_ns, self._settings.min_duration_ns))
            self._end_at(max(self._settings.min_queries, first_late + 1))
        elif 0 < self._settings.max_queries <= reached:
            self._end_at(self._settings.max_queries)

    def _end_at(self, least: int) -> None:
        count = padded_count(least, self._settings.equal_issue_samples)
        self._count = min(count, self._settings.max_queries or count)
        if self._count == 0:
            self._duration_ns = 0


class _Clock:
    """The arrivals of one seed at one rate, and the schedules that still read them."""

    def __init__(self, target_qps: float) -> None:
        self.open: list[_Open] = []
        self.arrivals_ns = np.empty(0, np.int64)
        self._target_qps = target_qps
        self._drawn = 0
        self._now_ns = 0

    def advance(self, block: Exponentials) -> list[_Open]:
        """Read the next block into `arrivals_ns`, the time after each of its gaps; return what ended within it.

        The hot path: divide first, then scale, as libstdc++'s exponential_distribution and duration_cast do; the
        other order rounds differently. The cast to integers cuts toward zero.
        """
        gaps_s = block / self._target_qps
        gaps_s *= NS_PER_S
        arrivals_ns = gaps_s.astype(np.int64)
        arrivals_ns[0] += self._now_ns
        np.cumsum(arrivals_ns, out=arrivals_ns)
        ended = [schedule for schedule in self.open if schedule.advance(self._drawn, arrivals_ns)]
        self.open = [schedule for schedule in self.open if not schedule.ended]
        self._drawn += len(block)
        self._now_ns = int(arrivals_ns[-1])
        self.arrivals_ns = arrivals_ns
        return ended


def _clocks(seed: int, requests: Sequence[ScheduleSettings]) -> list[_Clock]:
    """One clock for each rate."""
    by_rate: dict[float, list[_Open]] = {}
    for position, settings in enumerate(requests):
        if settings.seed != seed:
            raise UsageError(f"seed is {settings.seed} in request {position}, {seed} asked for")
        by_rate.setdefault(float(settings.target_qps), []).append(_Open(position, settings))
    return [_Clock(target_qps, waiting) for target_qps, waiting in by_rate.items()]


def _check_integer(field: str, value: object, most: int) -> None:
    if type(value) is not int:
        raise _error(f"{field} is not an integer")
    if not 0 <= value <= most:
        raise _error(f"{field} {_short(value)} is not between 0 and {most:,}")


def _check_rate(target_qps: object) -> None:
    if type(target_qps) not in (int, float):
        raise _error("target_qps is not a number")
    assert isinstance(target_qps, int | float)
    # More than one query a nanosecond has no schedule in nanoseconds. NaN fails every comparison.
    if not 0 < target_qps <= NS_PER_S:
        raise _error(f"target_qps {_short(target_qps)} is not between 0 and {NS_PER_S:,}")


def _check_extent(settings: ScheduleSettings) -> None:
    """Refuse what would take too long to draw, or would leave 64 bits of nanoseconds."""
    by_duration = settings.min_duration_ns / NS_PER_S * settings.target_qps
    expected = max(settings.min_queries, by_duration) + settings.equal_issue_samples
    if expected > MAX_QUERIES:
        raise _error(f"the settings ask for about {expected:,.0f} queries, more than {MAX_QUERIES:,}")
    if (expected + BLOCK) / settings.target_qps > MAX_SPAN_NS / NS_PER_S:
        raise _error(f"target_qps {_short(settings.target_qps)} is too low: the schedule would last for years")


def _short(value: float) -> str:
    """A value of any size in a few characters; integers of thousands of digits are hostile, not rare."""
    if isinstance(value, int) and abs(value) >= _SEEDS:
        return f"of {value.bit_length()} bits"
    return str(value)


def _error(message: str) -> InputError:
    return InputError(message, code="schedule-settings", next="see ScheduleSettings for what each field means")
