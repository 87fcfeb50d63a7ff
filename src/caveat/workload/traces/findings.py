"""What is wrong with a trace: a visible table of stable codes, and the collector that readers report to.

Nothing of a line's content is ever quoted: a line may hold a prompt or a key. Where and what was expected is enough.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from caveat.errors import Problem

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
    "not-utf8": Code(
        "the line is not UTF-8", "UTF-8", "convert the file; only text that is dropped anyway may be hurt"
    ),
    "time-missing": Code(
        "no time can be read; the request is left out", "a number or an ISO 8601 time", "check the column map"
    ),
    "length-missing": Code(
        "a length is missing; the request is left out",
        "whole numbers of tokens for input and output",
        "check the column map",
    ),
    "length-impossible": Code(
        "a length is negative or beyond 16 million tokens; the request is left out",
        "whole numbers of tokens",
        "check the column map",
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
    "time-grid": Code(
        "all times are multiples of a coarse step",
        "times as fine as the gaps between requests",
        "rates at scales below the step are the recorder's; spread requests within the step before judging tails",
    ),
    "time-zero": Code("every request has the same time", "times that differ", "only lengths can be used"),
    "rows-twice": Code(
        "rows that repeat an earlier row in every field",
        "requests that differ in something",
        "find out whether they were sent twice",
    ),
    "blocks-impossible": Code(
        "more prompt blocks than the prompt is long; the surplus is cut",
        "at most input length / block size, rounded up",
        "check the block size",
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
    "time-from-delay": Code(
        "a turn has a delay and no time: it is set to the turn before it and the delay",
        "a time for every request",
        "the time of the answer in between is unknown, so these times are early",
    ),
    "tokens-estimated": Code(
        "no token counts: lengths are estimated from the text, 4 bytes a token",
        "usage with prompt and completion tokens",
        "log the usage that the server reports",
    ),
    "text-dropped": Code("the lines hold text: it was measured and dropped", "numbers only", "nothing of it is kept"),
}


class Findings:
    """Counts faults by code and remembers where the first few are."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[tuple[int | None, str | None]]] = {}

    def add(self, code: str, line: int | None = None, found: str | None = None, *, count: int = 1) -> None:
        """Report one fault, or `count` of which this is the first."""
        if count <= 0:
            return
        self._counts[code] = self._counts.get(code, 0) + count
        places = self._places.setdefault(code, [])
        if len(places) < SHOWN:
            places.append((line, found))

    def add_lines(self, code: str, lines: Iterable[int], found: str | None = None) -> None:
        """Report one fault in each line."""
        for line in lines:
            self.add(code, int(line), found)

    def count(self, code: str) -> int:
        """How often a fault was found."""
        return self._counts.get(code, 0)

    def problems(self) -> tuple[Problem, ...]:
        """One record for each place that is named, and one for the rest of a code."""
        return tuple(problem for code in CODES if code in self._counts for problem in self._of(code))

    def _of(self, code: str) -> Iterable[Problem]:
        places = self._places[code]
        for line, found in places:
            yield self._problem(code, CODES[code].meaning, line, found)
        more = self._counts[code] - len(places)
        if more:
            yield self._problem(code, f"{CODES[code].meaning} ({more:,} more)", None, None)

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
