"""Conversations: a request that follows another, after the answer was read, with all that was said before it.

A session starts where the arrival process says and has some turns. Each turn waits for the one before it and a think
time, and its prompt is the whole conversation so far and some new tokens. turns.py puts the turns of many sessions
in one order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import msgspec
import numpy as np

from caveat.units import NS_PER_S
from caveat.workload.bounds import MAX_TOKENS, between
from caveat.workload.exact import Float64
from caveat.workload.gaps import ExponentialGaps, Gaps
from caveat.workload.lengths import AnyShape
from caveat.workload.pairs import pieces
from caveat.workload.plan import Int64
from caveat.workload.streams import Stream

MAX_TURNS = 1000
_TURNS, _THINK = range(2)
_MAX_THINK_S = 1e5


class Think(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Time between the end of an answer and the next turn.

    mean_s  in the mean
    gaps    family of the times
    """

    mean_s: float
    gaps: Gaps = ExponentialGaps()

    def __post_init__(self) -> None:
        between("sessions.think.mean_s", self.mean_s, 0.0, _MAX_THINK_S)

    def words(self) -> str:
        """The think time for people."""
        family = "exponential" if isinstance(self.gaps, ExponentialGaps) else self.gaps.words()
        return f"think time {family}, mean {self.mean_s:g} s"


class Sessions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long conversations are and how they grow.

    `turns` is a shape over 1, 2, 3, ... With `grows`, a turn's input is the last one's input and output and as many
    new tokens as were drawn for it; without, only the new ones. A session ends before a turn whose input would pass
    `context_max`; a first turn is cut there.

    turns        requests of one conversation
    think        time between an answer and the next turn
    grows        whether a turn repeats the conversation so far
    context_max  tokens of the longest prompt; left out, no limit
    """

    turns: AnyShape
    think: Think = Think(10.0)
    grows: bool = True
    context_max: int | None = None

    def __post_init__(self) -> None:
        if self.context_max is not None:
            between("sessions.context_max", self.context_max, 1, MAX_TOKENS)

    def words(self) -> str:
        """The conversations for people."""
        context = "the context grows" if self.grows else "each turn stands alone"
        end = f" to at most {self.context_max:,} tokens" if self.grows and self.context_max is not None else ""
        return f"turns {self.turns.words()}, {self.think.words()}, {context}{end}"


class SessionDraws:
    """Numbers of turns and think times of the sessions of one plan, in the order of their starts."""

    def __init__(self, sessions: Sessions, stream: Stream) -> None:
        self._sessions = sessions
        self._turns = stream.child(_TURNS)
        self._think = _Held(sessions.think.gaps.draw(stream.child(_THINK)))

    def turns(self, count: int) -> Int64:
        """How many turns each of the next sessions has, at most MAX_TURNS."""
        drawn = [self._sessions.turns.tokens(self._turns.uniforms(piece)) for piece in pieces(count)]
        counts: Int64 = np.minimum(np.concatenate([np.empty(0, np.int64), *drawn]), MAX_TURNS)
        return counts

    def think_ns(self, count: int) -> Int64:
        """The next think times."""
        think_s = self._think.take(count) * self._sessions.think.mean_s
        think_ns: Int64 = np.rint(np.minimum(think_s, 10 * _MAX_THINK_S) * NS_PER_S).astype(np.int64)
        return think_ns


class _Held:
    """Values that come in chunks, handed out any number at a time."""

    def __init__(self, chunks: Iterator[Float64]) -> None:
        self._chunks = chunks
        self._held = np.empty(0)

    def take(self, count: int) -> Float64:
        """The next values."""
        parts, have = [self._held], len(self._held)
        while have < count:
            parts.append(next(self._chunks))
            have += len(parts[-1])
        joined = np.concatenate(parts)
        self._held = joined[count:]
        return joined[:count]


def by_users(turns: Int64, users: list[tuple[int, int]]) -> Int64:
    """When sessions start in a closed loop, in rounds of one turn each: whoever is free first takes the next.

    `users` is a heap of (round in which free, user) and is moved on.
    """
    starts = []
    for count in turns.tolist():
        free, user = users[0]
        starts.append(free)
        heapq.heapreplace(users, (free + count, user))
    return np.array(starts, np.int64)
