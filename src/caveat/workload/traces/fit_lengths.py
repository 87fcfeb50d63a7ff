"""Which lengths a trace could have: fixed, log-normal tied by a correlation, or counted pairs."""

from __future__ import annotations

import math

import numpy as np

from caveat.workload.bounds import MAX_TOKENS
from caveat.workload.lengths import Fixed, Lognormal
from caveat.workload.pairs import Joint, Lengths, Separate, draw_lengths
from caveat.workload.plan import Int64, Whole
from caveat.workload.streams import Stream
from caveat.workload.traces.axis import axis_of
from caveat.workload.traces.cells import boxes_of, by_logarithm
from caveat.workload.traces.describe import length_statistics
from caveat.workload.traces.fit_result import Candidate, FitTest, tail_test, threshold_test
from caveat.workload.traces.passes import rank_correlation

_DRAWN = 20_000
_DISTANCE = 0.03
_CORRELATION = 0.1
_MOST_CELLS = 1500


def fitted_lengths(input_tokens: Int64, output_tokens: Int64) -> list[tuple[Lengths, Candidate]]:
    """Candidates from the simplest on, up to and with the first that passes; lengths are at least 1."""
    tried = []
    for make in (_fixed, _lognormal, _joint):
        lengths = make(input_tokens, output_tokens)
        if lengths is None:
            continue
        tried.append((lengths, _tested(lengths, input_tokens, output_tokens)))
        if tried[-1][1].passed:
            break
    return tried


def _tested(lengths: Lengths, input_tokens: Int64, output_tokens: Int64) -> Candidate:
    drawn = draw_lengths(lengths, Stream(0, (1,)), _DRAWN)
    # Three hundredths, and what chance alone does to so many (Smirnov's two-sample bound at 1 %).
    most = _DISTANCE + 1.63 * math.sqrt(1 / _DRAWN + 1 / len(input_tokens))
    tests = [
        threshold_test(f"distance of the {name} distributions", _distance(trace, model), most)
        for name, trace, model in (("input", input_tokens, drawn[0]), ("output", output_tokens, drawn[1]))
    ]
    tests += [
        _tail_test(name, trace, model)
        for name, trace, model in (("input", input_tokens, drawn[0]), ("output", output_tokens, drawn[1]))
    ]
    tie = abs((rank_correlation(input_tokens, output_tokens) or 0.0) - (rank_correlation(*drawn) or 0.0))
    most_tie = _CORRELATION + 3.0 / math.sqrt(len(input_tokens))
    tests.append(threshold_test("difference of the rank correlations", tie, most_tie))
    kind = lengths.input.__struct_config__.tag if isinstance(lengths, Separate) else "joint"
    return Candidate(kind=str(kind), words=lengths.words(), tests=tuple(tests))


def _tail_test(name: str, trace: Whole, model: Whole) -> FitTest:
    """p99: the trace's own lies between two of its order statistics in 997 of 1,000 traces (binomial, 3 sd)."""
    by_rank = np.sort(trace)
    spread = 3.0 * math.sqrt(len(trace) * 0.99 * 0.01)
    low, middle, high = (
        float(by_rank[min(max(math.ceil(0.99 * len(trace) + off) - 1, 0), len(trace) - 1)])
        for off in (-spread, 0.0, spread)
    )
    return tail_test(f"p99 of {name} tokens", middle, low, high, length_statistics(model)["p99"])


def _distance(a: Int64, b: Int64) -> float:
    """Kolmogorov's distance of two samples."""
    values = np.union1d(a, b)
    shares = [np.searchsorted(np.sort(one), values, side="right") / len(one) for one in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def _fixed(input_tokens: Int64, output_tokens: Int64) -> Lengths | None:
    middles = [int(length_statistics(tokens)["p50"]) for tokens in (input_tokens, output_tokens)]
    return Separate(input=Fixed(middles[0]), output=Fixed(middles[1]))


def _lognormal(input_tokens: Int64, output_tokens: Int64) -> Lengths | None:
    rank = rank_correlation(input_tokens, output_tokens) or 0.0
    return Separate(
        input=_shape(input_tokens),
        output=_shape(output_tokens),
        correlation=float(f"{2.0 * math.sin(math.pi * rank / 6.0):.4g}"),  # of the normals behind the ranks
        input_max=min(MAX_TOKENS, int(input_tokens.max())),
        output_cap=min(MAX_TOKENS, int(output_tokens.max())),
    )


def _shape(tokens: Int64) -> Lognormal:
    statistics = length_statistics(tokens)
    return Lognormal(p50=statistics["p50"], p90=statistics["p90"])


def _joint(input_tokens: Int64, output_tokens: Int64) -> Lengths | None:
    """Boxes as in a profile, from as few as ten requests each."""
    fewest = min(10, len(input_tokens))
    (input_axis, input_bins), (output_axis, output_bins) = (
        axis_of(tokens, fewest) for tokens in (input_tokens, output_tokens)
    )
    enough = max(fewest, len(input_tokens) // _MOST_CELLS)
    boxes = boxes_of([input_bins, output_bins], [input_axis, output_axis], fewest, enough, by_logarithm)
    cells = [
        (
            max(1, input_axis.bins[box[0]][0]),
            min(MAX_TOKENS, input_axis.bins[box[1]][1]),
            max(1, output_axis.bins[box[2]][0]),
            min(MAX_TOKENS, output_axis.bins[box[3]][1]),
            box[4],
        )
        for box in boxes
    ]
    return Joint(cells=tuple(cells))
