"""Fit: the simplest workload of our vocabulary that a trace could have come from, and what it does not reproduce."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from caveat.errors import CannotSayError
from caveat.units import format_seconds
from caveat.workload.gaps import ExponentialGaps, LognormalGaps
from caveat.workload.lengths import Histogram
from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.prefixes import Prefixes
from caveat.workload.sessions import Sessions, Think
from caveat.workload.traces.describe import TraceDescription, describe_trace, session_statistics
from caveat.workload.traces.fit_arrivals import fitted_arrivals, rounded, words_of
from caveat.workload.traces.fit_lengths import fitted_lengths
from caveat.workload.traces.fit_result import Candidate, FitResult, chosen
from caveat.workload.traces.recording import Recording, previous_in_session, recording_of
from caveat.workload.traces.reuse import whole_blocks
from caveat.workload.traces.transform import spread_within_steps
from caveat.workload.traces.trunks import NO_TRUNK, depth_of, trunks_of
from caveat.workload.workload import Limits, Workload

FEWEST = 20
_MISS = 0.1
_MISS_POINTS = 0.02
_DOUBT = 0.1
_GROWS = 0.9
_MOST_TURNS = 1000


def fit_trace(recording: Recording, *, name: str = "", seed: int = 0) -> FitResult:
    """The simplest workload that passes the tests, and sentences on what it misses; at least 20 requests.

    Conversations are fitted as such: their starts give the arrivals, and new tokens the lengths. CannotSayError for
    fewer requests or for a trace in which no time passes.
    """
    if len(recording) < FEWEST or recording.t_ns[-1] == recording.t_ns[0]:
        raise CannotSayError(
            f"{len(recording):,} requests in {recording.span_s:g} s: a fit needs {FEWEST} and some time",
            code="fit-too-few",
            next="record for longer",
        )
    spread = spread_within_steps(recording, seed)
    parts = _parts(spread)
    arrivals = fitted_arrivals(parts.start_ns, spread.span_ns, recording.source.grid_ns)
    lengths = fitted_lengths(parts.input_tokens, parts.output_tokens)
    tried_arrivals = [candidate for _, candidate in arrivals]
    tried_lengths = [candidate for _, candidate in lengths]
    workload = Workload(
        arrivals=rounded(arrivals[chosen(tried_arrivals)][0]),
        lengths=lengths[chosen(tried_lengths)][0],
        sessions=parts.sessions,
        prefixes=parts.prefixes,
        name=name,
        seed=seed,
        limits=Limits(duration_s=float(f"{spread.span_s:.9g}")),
    )
    return FitResult(
        workload=workload,
        arrivals=tuple(tried_arrivals),
        lengths=tuple(tried_lengths),
        misses=tuple(_misses(recording, spread, workload, tried_arrivals, tried_lengths)),
        doubtful=tuple(_doubtful(tried_arrivals[chosen(tried_arrivals)])),
        not_tested=tuple(_not_tested(recording)),
        notes=tuple(_notes(recording, parts)),
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is fitted: times of starts, new lengths, conversations, shared beginnings."""

    start_ns: Int64
    input_tokens: Int64
    output_tokens: Int64
    sessions: Sessions | None
    prefixes: Prefixes | None
    shared_tokens: float | None = None
    """Mean length of the shared beginnings that are not in `input_tokens`; None if nothing was taken off."""


def _parts(recording: Recording) -> _Parts:
    sessions = _sessions(recording)
    prefixes, shared = _prefixes(recording)
    before = previous_in_session(recording)
    new = recording.input_tokens - shared
    if sessions is not None and sessions.grows:
        later = before != NO_REQUEST
        said = recording.input_tokens[before[later]] + recording.output_tokens[before[later]]
        new[later] = recording.input_tokens[later] - said
    starts = before == NO_REQUEST if sessions is not None else np.ones(len(recording), np.bool_)
    start_ns = recording.t_ns[starts]
    mean_shared = float(shared[shared > 0].mean()) if shared.any() else None
    output_tokens = np.maximum(recording.output_tokens, 1)
    return _Parts(start_ns, np.maximum(new, 1), output_tokens, sessions, prefixes, mean_shared)


def _sessions(recording: Recording) -> Sessions | None:
    """Turns as counted; think times by mean and spread, from arrival to arrival, since answers' ends are unknown."""
    statistics = session_statistics(recording) if recording.has_sessions else None
    if statistics is None or not statistics.between_s:
        return None
    known = recording.session[recording.session != NO_REQUEST]
    counts = np.minimum(np.unique(known, return_counts=True)[1], _MOST_TURNS)
    alone = int(np.count_nonzero(recording.session == NO_REQUEST))
    numbers = np.bincount(counts)
    numbers[1] += alone
    before = previous_in_session(recording)
    later = np.flatnonzero(before != NO_REQUEST)
    between_s = (recording.t_ns[later] - recording.t_ns[before[later]]) / 1e9
    mean_s = float(between_s.mean())
    cv = float(between_s.std() / mean_s) if mean_s > 0 else 0.0
    gaps = LognormalGaps(float(f"{min(max(cv, 0.01), 100.0):.4g}")) if abs(cv - 1.0) > _MISS else ExponentialGaps()
    return Sessions(
        turns=Histogram(tuple(range(1, len(numbers) + 1)), tuple(int(one) for one in numbers[1:])),
        think=Think(float(f"{min(mean_s, 1e5):.6g}"), gaps),
        grows=statistics.growing is not None and statistics.growing >= _GROWS,
    )


def _prefixes(recording: Recording) -> tuple[Prefixes | None, Int64]:
    """System prompts from the trunks, and each request's tokens in its own."""
    nothing = np.zeros(len(recording), np.int64)
    if not recording.has_blocks:
        return None, nothing
    trunks, trunk = trunks_of(*whole_blocks(recording), FEWEST)
    places, counts = np.unique(trunk[trunk != NO_TRUNK], return_counts=True)
    if not len(places):
        return Prefixes(block_tokens=recording.block_tokens), nothing
    tokens = depth_of(trunks, places) * recording.block_tokens
    ranked = np.sort(counts)[::-1]
    slope = 0.0
    if len(ranked) > 1:
        slope = -float(np.polyfit(np.log(np.arange(1, len(ranked) + 1)), np.log(ranked), 1)[0])
    prefixes = Prefixes(
        block_tokens=recording.block_tokens,
        prompts=len(places),
        tokens=_counted_lengths(tokens, counts),
        zipf=float(f"{min(max(slope, 0.0), 10.0):.4g}"),
        share=float(f"{counts.sum() / len(recording):.6g}"),
    )
    return prefixes, depth_of(trunks, trunk) * recording.block_tokens


def _counted_lengths(tokens: Int64, counts: Int64) -> Histogram:
    """Exact lengths with their requests, as bins of one token and empty ones between."""
    lengths, inverse = np.unique(tokens, return_inverse=True)
    sums = np.bincount(inverse, weights=counts).astype(np.int64)
    edges: list[int] = []
    numbers: list[int] = []
    for length, number in zip(lengths.tolist(), sums.tolist(), strict=True):
        if edges and edges[-1] != length:
            edges.append(length)
            numbers.append(0)
        elif not edges:
            edges.append(length)
        edges.append(length + 1)
        numbers.append(number)
    return Histogram(tuple(edges), tuple(numbers))


def _misses(
    recording: Recording, spread: Recording, workload: Workload, arrivals: list[Candidate], lengths: list[Candidate]
) -> Iterator[str]:
    for what, candidates in (("arrivals", arrivals), ("lengths", lengths)):
        best = candidates[chosen(candidates)]
        if not best.passed:
            kinds = ", ".join(dict.fromkeys(one.kind for one in candidates))
            yield f"{what}: none of {kinds} passes; {best.kind} fails the fewest tests"
            yield from (f"{best.kind}: {words_of(test)}" for test in best.tests if not test.passed)
    trace, plan = describe_trace(spread), describe_trace(recording_of(workload.plan()))
    yield from _differences(trace, plan, recording.source.grid_ns / 1e9)


def _differences(trace: TraceDescription, plan: TraceDescription, grid_s: float) -> Iterator[str]:
    """What a plan of the workload has otherwise than the trace, by more than 10 % or 2 points.

    Dispersion has tests of its own, unless conversations stand between the starts that were tested and the requests.
    """
    for there, here in zip(trace.rates, plan.rates, strict=False):
        both = there.dispersion and here.dispersion and there.scale_s > grid_s and trace.sessions
        if both and _far(there.dispersion or 0.0, here.dispersion or 0.0):
            yield f"dispersion at {there.scale_s:g} s is {here.dispersion:.3g}, {there.dispersion:.3g} in the trace"
    for what in ("input_tokens", "output_tokens"):
        for statistic in ("mean", "p50", "p90", "p99"):
            theirs, ours = getattr(trace, what)[statistic], getattr(plan, what)[statistic]
            if _far(theirs, ours):
                yield f"{statistic} of {what} is {ours:,.0f}, {theirs:,.0f} in the trace"
    reused = trace.prefixes.share_of_tokens if trace.prefixes else None
    ours = plan.prefixes.share_of_tokens if plan.prefixes else 0.0
    if reused is not None and abs(reused - ours) > _MISS_POINTS:
        yield f"{ours:.1%} of input tokens are in blocks seen before, {reused:.1%} in the trace"
    if trace.sessions and plan.sessions and _far(trace.sessions.turns["mean"], plan.sessions.turns["mean"]):
        yield f"{plan.sessions.turns['mean']:.3g} turns a conversation, {trace.sessions.turns['mean']:.3g} in the trace"


def _far(theirs: float, ours: float) -> bool:
    return not math.isclose(theirs, ours, rel_tol=_MISS)


def _doubtful(candidate: Candidate) -> Iterator[str]:
    """Statistics that pass, and that nine of ten plans do not have."""
    for test in candidate.tests:
        if test.passed and test.p_value is not None and test.p_value < _DOUBT and _far(test.observed, test.expected):
            yield f"{words_of(test)}, {test.expected:.4g} in their middle"


def _not_tested(recording: Recording) -> Iterator[str]:
    yield "whether long prompts or long answers come together in time, or with the time of day"
    yield "whether lengths depend on how busy it is"
    long_s = recording.span_s / FEWEST
    yield f"anything at scales above {format_seconds(long_s)}: the trace holds fewer than {FEWEST} stretches of that"
    if recording.has_blocks:
        yield "reuse by a cache that forgets or is full; only what one that keeps everything could reuse"
    else:
        yield "what prompts share: it was not recorded"
    if not recording.has_sessions:
        yield "conversations: they were not recorded"


def _notes(recording: Recording, parts: _Parts) -> Iterator[str]:
    if recording.source.grid_ns:
        step_s = recording.source.grid_ns / 1e9
        yield f"times were spread evenly within the clock's steps of {step_s:g} s before fitting"
    if recording.has_sessions:
        yield "think times run from one turn's arrival to the next, as answers' ends are not in a trace"
    if parts.shared_tokens is not None:
        share = parts.prefixes.share if parts.prefixes is not None else 0.0
        yield (
            f"input lengths are of what is new in a prompt: shared beginnings of {parts.shared_tokens:,.0f} tokens on "
            f"average, in {share:.1%} of requests, come on top (prefixes of the workload)"
        )
    if parts.sessions is not None and parts.sessions.grows:
        yield "later turns: input lengths are of what is new; everything said before comes on top (sessions.grows)"
    yield "a test fails where the trace lies clearly outside all plans of the candidate, and 5 % from their median"
    yield "where a workload misses too much, a profile keeps what it cannot"
