"""What is wrong with a trace: a visible table of stable codes, and the collector that readers report to.

Nothing of a line's content is ever quoted: a line may hold a prompt or a key. Where and what was expected is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from caveat.errors import Problem
from caveat.workload.plan import Int64

SHOWN = 5
"""Lines named for one code; the rest are counted."""


class Code(msgspec.Struct, frozen=True):
    """One kind of fault: what it means, what was expected, and what to do about it."""

    meaning: str
    expected: str
    next: str


CODES: dict[str, Code] = {
    "line-malformed": Code(
        "the line cannot be read and is left out",
        "one JSON object, or as many cells as the header has",
        "repair the line",
    ),
    "line-too-long": Code(
        "the line is too long and is left out", "a line of at most 16 MiB", "split the file into requests"
    ),
    "time-missing": Code(
        "no time can be read; the request is left out", "a number or an ISO 8601 time", "check the column map"
    ),
    "length-missing": Code(
        "a length is missing; the request is left out",
        "whole numbers of tokens for input and output",
        "log the usage that the server reports, or map the columns that hold the lengths",
    ),
    "length-impossible": Code(
        "a length is negative or beyond 16 million tokens; the request is left out",
        "whole numbers of tokens",
        "check the column map",
    ),
    "blocks-impossible": Code(
        "more prompt blocks than the prompt is long; the surplus is cut",
        "at most input length / block size, rounded up",
        "check the block size",
    ),
    "not-utf8": Code(
        "the line is not UTF-8", "UTF-8", "convert the file; only text that is dropped anyway may be hurt"
    ),
    "text-dropped": Code("the lines hold text: it was measured and dropped", "numbers only", "nothing of it is kept"),
    "tokens-estimated": Code(
        "no token counts: lengths are estimated from the text, 4 bytes a token",
        "usage with prompt and completion tokens",
        "log the usage that the server reports",
    ),
    "time-from-delay": Code(
        "a turn has a delay and no time: it is set to the turn before it and the delay",
        "a time for every request",
        "the time of the answer in between is unknown, so these times are early",
    ),
    "input-zero": Code("prompts of no tokens", "at least one token", "they are kept, and replayed with one token"),
    "output-zero": Code(
        "answers of no tokens: failed or cut off, or not recorded",
        "at least one token",
        "they are kept, and replayed with one token; leave them out if they were never served",
    ),
    "time-backwards": Code(
        "a request is earlier than the one before it", "rows in order of their times", "rows are sorted by time"
    ),
    "time-none": Code(
        "the file has no times: only lengths can be used",
        "a time for every request",
        "map the column that holds them; without any, say yourself when requests come: a rate or a concurrency",
    ),
    "time-zero": Code("every request has the same time", "times that differ", "only lengths can be used"),
    "time-grid": Code(
        "all times are multiples of a coarse step",
        "times as fine as the gaps between requests",
        "rates at scales below the step are the recorder's; spread requests within the step before judging tails",
    ),
    "rows-twice": Code(
        "rows that repeat an earlier row in every field",
        "requests that differ in something",
        "find out whether they were sent twice",
    ),
    "blocks-few": Code(
        "fewer prompt blocks than the prompt is long: the rest counts as not shared",
        "input length / block size, rounded up or down",
        "check the block size",
    ),
    "blocks-not-a-prefix": Code(
        "known blocks after an unknown one: ids that do not stand for whole prefixes",
        "once a block is new, all that follow are",
        "reuse counts leading known blocks only",
    ),
    "parent-unknown": Code(
        "the turn before is not in the file: the conversation starts here",
        "every parent above its child",
        "the file begins in mid-traffic, or is cut",
    ),
    "turn-order": Code(
        "turns of a session are not numbered in order of time", "turn numbers that rise", "turns are numbered by time"
    ),
}
"""In the order in which they are said: what is left out or cut, what was estimated, what to know."""


class Findings:
    """Counts faults by code and remembers where the first few are."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[tuple[int | None, str | None]]] = {}

    def add(self, code: str, line: int | None = None, found: str | None = None, *, count: int = 1) -> None:
        """Report one fault, or `count` of which this is the first; those without place and words are only counted."""
        if count <= 0:
            return
        self._counts[code] = self._counts.get(code, 0) + count
        places = self._places.setdefault(code, [])
        if len(places) < SHOWN and (line is not None or found is not None):
            places.append((line, found))

    def add_lines(self, code: str, lines: Sequence[int] | Int64, found: Iterable[str] = (), *, count: int = 0) -> None:
        """Report one fault in each line, with what was found there, or `count` of which these are the first.

        Only as many lines as are shown are looked at.
        """
        said = iter(found)
        for line in lines[:SHOWN]:
            self.add(code, int(line), next(said, None))
        self.add(code, count=max(count, len(lines)) - min(SHOWN, len(lines)))

    def count(self, code: str) -> int:
        """How often a fault was found."""
        return self._counts.get(code, 0)

    def why_nothing(self) -> tuple[str, str]:
        """For a file of which nothing could be read: each kind of fault once with its first place; and what to do."""
        codes = [code for code in CODES if self._counts.get(code, 0)]
        why = "; ".join(f"{code}, {self._times(code)}: {CODES[code].meaning}" for code in codes)
        return why, "; ".join(dict.fromkeys(CODES[code].next for code in codes[:2]))

    def _times(self, code: str) -> str:
        count = self._counts[code]
        places = [(line, found) for line, found in self._places[code] if line is not None]
        line, found = min(places, default=(None, None), key=lambda place: place[0])
        times = "once" if count == 1 else f"{count:,} times"
        return f"{times}, first in line {line}{f' ({found})' if found else ''}" if line else times

    def problems(self) -> tuple[Problem, ...]:
        """One record for each place that is named, and one for the rest of a code; in the order of CODES, by line."""
        return tuple(problem for code in CODES if code in self._counts for problem in self._of(code))

    def _of(self, code: str) -> Iterator[Problem]:
        places = sorted(self._places[code], key=lambda place: place[0] or 0)
        for line, found in places:
            yield self._problem(code, CODES[code].meaning, line, found)
        more = self._counts[code] - len(places)
        if more and places:
            yield self._problem(code, f"{CODES[code].meaning} ({more:,} more)", None, f"{more:,} more")
        elif more:
            yield self._problem(code, CODES[code].meaning, None, f"{more:,} of them" if more > 1 else None)

    def _problem(self, code: str, message: str, line: int | None, found: str | None) -> Problem:
        return Problem(
            code=code,
            path=self._path,
            message=message,
            line=line,
            found=found,
            expected=CODES[code].expected,
            next=CODES[code].next,
        )
