"""Counting: what the client of an official run notes beside its rows, so that what LoadGen cannot say is not lost."""

from __future__ import annotations


class Counting:
    """Samples by what became of them. Those of one answer token are apart: LoadGen has no time per token for them."""

    __slots__ = ("cancelled", "completed", "failed", "issued", "single_token", "timed_out", "without_usage")

    def __init__(self) -> None:
        self.issued = self.completed = self.failed = 0
        self.timed_out = self.cancelled = self.without_usage = self.single_token = 0

    def ended(self, error: str, tokens: int | None) -> None:
        """One sample is over; `tokens` by the server's usage record, None where it sent none."""
        if error:
            self.failed += 1
            self.timed_out += error in ("timeout", "stalled")
            self.cancelled += error == "cancelled"
            return
        self.completed += 1
        self.without_usage += tokens is None
        self.single_token += tokens is not None and tokens < 2

    def as_dict(self) -> dict[str, int]:
        """By the names of OfficialCounts."""
        return {name: getattr(self, name) for name in self.__slots__}


class StartSpread:
    """How well LoadGen's time 0 is known: the first issue came so much later after its time than the promptest one."""

    __slots__ = ("_first_ns", "_least_ns")

    def __init__(self) -> None:
        self._first_ns: int | None = None
        self._least_ns = 0

    def add(self, late_ns: int) -> None:
        """One issue, counted from its scheduled time under the assumption that the first was prompt."""
        if self._first_ns is None:
            self._first_ns = late_ns
        self._least_ns = min(self._least_ns, late_ns)

    def seconds(self) -> float | None:
        """None where there is no schedule."""
        return None if self._first_ns is None else -self._least_ns / 1e9
