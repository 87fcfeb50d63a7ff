"""Input and output length together: each from its own shape, tied by a correlation; or counted in pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property

import msgspec
import numpy as np

from caveat.workload.bounds import MAX_LISTED, MAX_TOKENS, at_most_listed, between, refuse
from caveat.workload.exact import Float64, normal_cdf, normal_quantile
from caveat.workload.lengths import AnyShape, check_counts
from caveat.workload.plan import Int64
from caveat.workload.streams import CHUNK, Stream

Cell = tuple[int, int, int, int, int]
"""input from, input to, output from, output to (both ends included), and how many requests were in it."""


class Separate(msgspec.Struct, frozen=True, tag="separate", tag_field="kind", forbid_unknown_fields=True):
    """A shape for each. `correlation` is that of the two normal variables behind them (a Gaussian copula).

    0 is independent, 1 means that the longest prompt has the longest answer. `input_max` and `output_cap` cut what
    is longer, as a context window and a limit on new tokens do.

    input        shape of the prompts
    output       shape of the answers
    correlation  -1 to 1
    input_max    tokens; longer prompts are cut there
    output_cap   tokens; longer answers are cut there
    """

    input: AnyShape
    output: AnyShape
    correlation: float = 0.0
    input_max: int | None = None
    output_cap: int | None = None

    def __post_init__(self) -> None:
        between("lengths.correlation", self.correlation, -1.0, 1.0)
        _check_cuts(self.input_max, self.output_cap)

    def words(self) -> str:
        """Both distributions, their dependence and what is cut, for people."""
        tie = f", correlation {self.correlation:g}" if self.correlation else ""
        cuts = _cut_words(self.input_max, self.output_cap)
        return f"input {self.input.words()}, output {self.output.words()}{tie}{cuts}"

    @property
    def numbers(self) -> int:
        """Uniform numbers for each request."""
        return 2

    def tokens(self, uniforms: Float64) -> tuple[Int64, Int64]:
        """Input and output lengths from a (2, requests) table of uniform numbers."""
        u_input, u_output = uniforms
        if self.correlation:
            u_output = _tied(u_input, u_output, self.correlation)
        return _cut(self.input.tokens(u_input), self.input_max), _cut(self.output.tokens(u_output), self.output_cap)


class Joint(msgspec.Struct, frozen=True, dict=True, tag="joint", tag_field="kind", forbid_unknown_fields=True):
    """Counted pairs of lengths: any dependence that was observed, as a list of cells.

    A cell of one input and one output length is an exact pair; in a wider one both lengths are evenly spread.

    cells       [input from, to, output from, to, count] each, both ends included, in tokens
    input_max   tokens; longer prompts are cut there
    output_cap  tokens; longer answers are cut there
    """

    cells: tuple[Cell, ...]
    input_max: int | None = None
    output_cap: int | None = None

    def __post_init__(self) -> None:
        at_most_listed("lengths.cells", self.cells)
        for place, (input_from, input_to, output_from, output_to, _) in enumerate(self.cells):
            if not (1 <= input_from <= input_to <= MAX_TOKENS and 1 <= output_from <= output_to <= MAX_TOKENS):
                raise refuse(
                    f"lengths.cells[{place}]",
                    list(self.cells[place]),
                    f"[input from, to, output from, to, count], lengths in order from 1 to {MAX_TOKENS:,}",
                )
        check_counts("lengths.cells: count", tuple(cell[4] for cell in self.cells))
        _check_cuts(self.input_max, self.output_cap)

    @classmethod
    def of_pairs(cls, input_tokens: Iterable[int], output_tokens: Iterable[int]) -> Joint:
        """The exact pairs of a trace, each counted."""
        pairs = np.array([list(input_tokens), list(output_tokens)], np.int64).T
        different, counts = np.unique(pairs, axis=0, return_counts=True)
        if len(different) > MAX_LISTED:
            raise refuse("lengths.cells", f"{len(different):,} different pairs", f"at most {MAX_LISTED:,}", "bin them")
        rows = zip(different.tolist(), counts.tolist(), strict=True)
        return cls(cells=tuple((i, i, o, o, count) for (i, o), count in rows))

    def words(self) -> str:
        """What was counted, for people."""
        total = sum(cell[4] for cell in self.cells)
        cuts = _cut_words(self.input_max, self.output_cap)
        return f"input and output from {total:,} pairs in {len(self.cells):,} cells{cuts}"

    @property
    def numbers(self) -> int:
        """Uniform numbers for each request: the cell, and the place in it both ways."""
        return 3

    def tokens(self, uniforms: Float64) -> tuple[Int64, Int64]:
        """Input and output lengths from a (3, requests) table of uniform numbers."""
        cells, sums = self._arrays
        u_cell, u_input, u_output = uniforms
        chosen = np.searchsorted(sums, u_cell * float(sums[-1]), side="right")
        return (
            _cut(_spread(cells[0][chosen], cells[1][chosen], u_input), self.input_max),
            _cut(_spread(cells[2][chosen], cells[3][chosen], u_output), self.output_cap),
        )

    @cached_property
    def _arrays(self) -> tuple[Int64, Int64]:
        cells = np.ascontiguousarray(np.array(self.cells, np.int64).T)
        return cells, np.cumsum(cells[4])


Lengths = Separate | Joint


def pieces(count: int) -> Iterator[int]:
    """`count` in pieces of at most CHUNK: many small draws are faster than one that leaves the cache."""
    for start in range(0, count, CHUNK):
        yield min(CHUNK, count - start)


def draw_lengths(lengths: Lengths, stream: Stream, count: int) -> tuple[Int64, Int64]:
    """Input and output lengths of the next `count` requests."""
    drawn = [lengths.tokens(stream.table(piece, lengths.numbers)) for piece in pieces(count)]
    if len(drawn) == 1:
        return drawn[0]
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *(d[0] for d in drawn)]), np.concatenate([empty, *(d[1] for d in drawn)])


def _tied(u_input: Float64, u_output: Float64, correlation: float) -> Float64:
    z = correlation * normal_quantile(u_input)
    z += math.sqrt(1.0 - correlation * correlation) * normal_quantile(u_output)
    return normal_cdf(z)


def _spread(low: Int64, high: Int64, u: Float64) -> Int64:
    return low + np.floor(u * (high - low + 1)).astype(np.int64)


def _cut(tokens: Int64, most: int | None) -> Int64:
    return tokens if most is None else np.minimum(tokens, most)


def _cut_words(input_max: int | None, output_cap: int | None) -> str:
    cuts = [f"input cut at {input_max:,}"] if input_max is not None else []
    cuts += [f"output cut at {output_cap:,}"] if output_cap is not None else []
    return "".join(f", {cut}" for cut in cuts)


def _check_cuts(input_max: int | None, output_cap: int | None) -> None:
    for field, value in (("lengths.input_max", input_max), ("lengths.output_cap", output_cap)):
        if value is not None:
            between(field, value, 1, MAX_TOKENS)
