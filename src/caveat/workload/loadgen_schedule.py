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

    The logarithm is the C library's, one value at a time, as in LoadGen. NumPy's own differs from glibc's in the
    last bit of one value in 300; a last bit can move a gap across a nanosecond, though in 102 million gaps of
    MLPerf v4.1 to v6.0 it never does. Where the C library is not glibc, the same small risk remains.
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
    end = _End(settings)
    clock = _Clock(settings.target_qps, [end])
    blocks = exponentials(settings.seed)
    arrivals_ns = [np.zeros(1, np.int64)]
    while clock.open:
        arrivals_ns.append(clock.advance(next(blocks)))
    return np.concatenate(arrivals_ns)[: end.schedule().count]


def schedule_extent(settings: ScheduleSettings) -> Schedule:
    """How far one schedule reaches, without holding it."""
    return extents(settings.seed, [settings])[0]


def extents(seed: int, requests: Sequence[ScheduleSettings]) -> list[Schedule]:
    """How far each of many schedules of one seed reaches, in the order asked.

    The exponentials are drawn once, and schedules of one rate share their arrivals. Memory does not grow with the
    length of the schedules.
    """
    ends = [_End(settings) for settings in requests]
    clocks = _clocks(seed, ends)
    blocks = exponentials(seed)
    while clocks:
        block = next(blocks)
        for clock in clocks:
            clock.advance(block)
        clocks = [clock for clock in clocks if clock.open]
    return [end.schedule() for end in ends]


class _End:
    """Finds the end of one schedule in the passing arrivals: first its count, then the time at that count."""

    def __init__(self, settings: ScheduleSettings) -> None:
        self.settings = settings
        self._count: int | None = None
        self._duration_ns: int | None = None
        if settings.min_duration_ns == 0:
            self._end_at(settings.min_queries)

    def is_ahead(self) -> bool:
        """Whether more arrivals are needed."""
        return self._duration_ns is None

    def look(self, drawn: int, arrivals_ns: Nanoseconds) -> None:
        """Look at the times after `drawn` + 1, `drawn` + 2, ... gaps."""
        reached = drawn + len(arrivals_ns)
        if self._count is None:
            self._look_for_count(drawn, reached, arrivals_ns)
        if self._count is not None and drawn < self._count <= reached:
            self._duration_ns = int(arrivals_ns[self._count - drawn - 1])

    def schedule(self) -> Schedule:
        """What was found."""
        assert self._count is not None
        assert self._duration_ns is not None
        return Schedule(self._count, self._duration_ns)

    def _look_for_count(self, drawn: int, reached: int, arrivals_ns: Nanoseconds) -> None:
        """The last query leaves at or after the minimum duration; with equal issue, the last of a set does."""
        if arrivals_ns[-1] >= self.settings.min_duration_ns:
            gaps = drawn + 1 + int(np.searchsorted(arrivals_ns, self.settings.min_duration_ns))
            self._end_at(max(self.settings.min_queries, gaps + 1))
        elif 0 < self.settings.max_queries <= reached:
            self._end_at(self.settings.max_queries)

    def _end_at(self, least: int) -> None:
        count = padded_count(least, self.settings.equal_issue_samples)
        self._count = min(count, self.settings.max_queries or count)
        if self._count == 0:
            self._duration_ns = 0


class _Clock:
    """The arrivals of one seed at one rate, and the ends still looked for in them."""

    def __init__(self, target_qps: float, ends: list[_End]) -> None:
        self._target_qps = float(target_qps)
        self._drawn = 0
        self._now_ns = 0
        self.open = ends
        self._close()

    def advance(self, block: Exponentials) -> Nanoseconds:
        """The time after each gap of the next block.

        The hot path: divide first, then scale, as libstdc++'s exponential_distribution and duration_cast do; the
        other order changes one gap of the 102 million in MLPerf v4.1 to v6.0. The cast to integers cuts toward zero.
        """
        gaps_ns = block / self._target_qps
        gaps_ns *= NS_PER_S
        arrivals_ns = gaps_ns.astype(np.int64)
        arrivals_ns[0] += self._now_ns
        np.cumsum(arrivals_ns, out=arrivals_ns)
        for end in self.open:
            end.look(self._drawn, arrivals_ns)
        self._close()
        self._drawn += len(block)
        self._now_ns = int(arrivals_ns[-1])
        return arrivals_ns

    def _close(self) -> None:
        self.open = [end for end in self.open if end.is_ahead()]


def _clocks(seed: int, ends: Sequence[_End]) -> list[_Clock]:
    """One clock for each rate."""
    by_rate: dict[float, list[_End]] = {}
    for end in ends:
        if end.settings.seed != seed:
            raise UsageError(f"a request has seed {end.settings.seed}, but the schedules of seed {seed} were asked for")
        by_rate.setdefault(float(end.settings.target_qps), []).append(end)
    clocks = [_Clock(target_qps, waiting) for target_qps, waiting in by_rate.items()]
    return [clock for clock in clocks if clock.open]


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
