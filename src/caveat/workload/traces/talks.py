"""Conversations of a replay: each later turn finds one whose last turn came about the right time ago."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from caveat.workload.plan import Int64

_NEARBY = 12
_SLACK_NS = 100_000_000
_LENGTH_WEIGHT = 1.0
"""How much it counts that a conversation is shorter or longer than the next prompt, against an age that is off."""
_FEWEST_HELD = 64
_TURNS_TRIED = 4


@dataclass(slots=True)
class Talk:
    """A conversation as its last turn left it; not open once that turn is followed by another."""

    at_ns: int
    number: int
    session: int
    turn: int
    trunk: int
    said: int
    blocks: Int64
    open: bool = True


class Talks:
    """Open conversations by the number of their last turn, in order of time; old ones are forgotten."""

    def __init__(self, horizon_ns: int) -> None:
        self._horizon_ns = horizon_ns
        self._by_turn: dict[int, tuple[list[int], list[Talk]]] = {}
        self._limits: dict[int, int] = {}

    def put(self, talk: Talk) -> None:
        """A conversation after one more turn; times never go back."""
        times, held = self._by_turn.setdefault(talk.turn, ([], []))
        if len(held) >= self._limits.get(talk.turn, _FEWEST_HELD):
            held[:] = [one for one in held if one.open and one.at_ns >= talk.at_ns - self._horizon_ns]
            times[:] = [one.at_ns for one in held]
            self._limits[talk.turn] = max(_FEWEST_HELD, 2 * len(held))
        times.append(talk.at_ns)
        held.append(talk)

    def continued(self, turn: int, age_ns: int, now_ns: int, input_tokens: int) -> Talk | None:
        """The open conversation that this turn goes on with, closed for others; None if there is none at all.

        The number of its last turn is the one before `turn`, or near to it where no such conversation is open.
        """
        for last in sorted(self._by_turn, key=lambda one: (abs(one - turn + 1), one))[:_TURNS_TRIED]:
            found = self._nearest(last, age_ns, now_ns, input_tokens)
            if found is not None:
                found.open = False
                return found
        return None

    def _nearest(self, last: int, age_ns: int, now_ns: int, input_tokens: int) -> Talk | None:
        times, held = self._by_turn[last]
        middle = bisect_left(times, now_ns - age_ns)
        some = [talk for talk in held[max(0, middle - _NEARBY) : middle + _NEARBY] if talk.open]
        wanted_ns = age_ns + _SLACK_NS

        def off(talk: Talk) -> float:
            found_ns = now_ns - talk.at_ns + _SLACK_NS
            length = max(talk.said / input_tokens, input_tokens / talk.said)
            return max(found_ns / wanted_ns, wanted_ns / found_ns) + _LENGTH_WEIGHT * length

        return min(some, key=off, default=None)
