"""What is checked while a trace is read: row by row, against the row before. Faulty rows are left out or repaired."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from caveat.units import format_seconds, seconds_from_ns
from caveat.workload.plan import Int64
from caveat.workload.traces.clock import Clock
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.gathered import RowLines
from caveat.workload.traces.raw import IMPOSSIBLE, UNKNOWN, Raw

Flags = npt.NDArray[np.bool_]


class Checks:
    """Checks of one file; remembers the last time."""

    def __init__(self, clock: Clock, block_tokens: int, findings: Findings) -> None:
        self._clock = clock
        self._block_tokens = block_tokens
        self._findings = findings
        self._last_ns: int | None = None
        self._last_turn: dict[int, int] = {}
        self.lines = RowLines()

    def kept(self, raw: Raw) -> dict[str, Int64] | None:
        """The columns of a recording without the rows that cannot be used; None if none can."""
        t_ns, timed = self._clock.ns(raw.time)
        unknown = (raw.input_tokens == UNKNOWN) | (raw.output_tokens == UNKNOWN)
        impossible = (raw.input_tokens == IMPOSSIBLE) | (raw.output_tokens == IMPOSSIBLE)
        self._report("time-missing", raw, ~timed)
        self._report_missing(raw, timed & unknown)
        self._report("length-impossible", raw, timed & impossible & ~unknown)
        keep = timed & ~unknown & ~impossible
        if not keep.any():
            return None
        self._report("input-zero", raw, keep & (raw.input_tokens == 0))
        self._report("output-zero", raw, keep & (raw.output_tokens == 0))
        places = np.flatnonzero(keep)
        self.lines.add(raw.line[places])
        self._compare_times(raw.line[places], t_ns[places])
        columns = {
            "t_ns": t_ns[places],
            "input_tokens": raw.input_tokens[places],
            "output_tokens": raw.output_tokens[places],
        }
        if raw.session is not None:
            columns |= {"session": raw.session[places], "turn": np.zeros(len(places), np.int64)}
            self._compare_turns(raw, places)
        if raw.ends is not None and raw.blocks is not None and self._block_tokens:
            columns["prefix_ends"], columns["prefix_blocks"] = self._blocks(raw, raw.ends, raw.blocks, places)
        return columns

    def _report_missing(self, raw: Raw, wrong: Flags) -> None:
        places = np.flatnonzero(wrong)
        neither = (raw.input_tokens == UNKNOWN) & (raw.output_tokens == UNKNOWN)
        words = (
            "no length at all" if neither[p] else f"no {'input' if raw.input_tokens[p] == UNKNOWN else 'output'} length"
            for p in places
        )
        self._findings.add_lines("length-missing", raw.line[places], words)

    def _report(self, code: str, raw: Raw, wrong: Flags) -> None:
        if wrong.any():
            self._findings.add_lines(code, raw.line[wrong])

    def _compare_times(self, lines: Int64, t_ns: Int64) -> None:
        before = np.append(t_ns[0] if self._last_ns is None else self._last_ns, t_ns[:-1])
        back_ns = before - t_ns
        wrong = np.flatnonzero(back_ns > 0)
        found = (f"{format_seconds(seconds_from_ns(int(back_ns[place])))} before it" for place in wrong)
        self._findings.add_lines("time-backwards", lines[wrong], found)
        self._last_ns = int(t_ns[-1])

    def _compare_turns(self, raw: Raw, places: Int64) -> None:
        """Turn numbers of a file rise in each session, where it has them."""
        if raw.turn is None or raw.session is None:
            return
        for place in places:
            session, turn = int(raw.session[place]), int(raw.turn[place])
            if turn >= 0:
                if session in self._last_turn and turn <= self._last_turn[session]:
                    self._findings.add("turn-order", int(raw.line[place]), f"turn {turn}")
                self._last_turn[session] = turn

    def _blocks(self, raw: Raw, ends: Int64, ids: Int64, places: Int64) -> tuple[Int64, Int64]:
        """Blocks of the kept rows, no more of them than their prompts have room for."""
        starts = np.append(0, ends[:-1])[places]
        counts = (ends[places] - starts).astype(np.int64)
        most = -(-raw.input_tokens[places] // self._block_tokens)
        lines = raw.line[places]
        tokens = raw.input_tokens[places]
        wrong = np.flatnonzero(counts > most)
        found = (f"{counts[place]} blocks for {tokens[place]} tokens" for place in wrong)
        self._findings.add_lines("blocks-impossible", lines[wrong], found)
        self._findings.add_lines("blocks-few", lines[(counts > 0) & (counts < most - 1)])
        if len(places) == len(ends) and not np.any(counts > most):
            return ends, ids
        cut = np.minimum(counts, most)
        new_ends = np.cumsum(cut)
        picks = np.arange(int(cut.sum()), dtype=np.int64) + np.repeat(starts - (new_ends - cut), cut)
        return new_ends, ids[picks]
