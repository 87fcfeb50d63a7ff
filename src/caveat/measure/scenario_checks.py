"""Whether a run kept to its scenario: one sentence a part, by LoadGen's definitions, with what is missing.

LoadGen's results.cc @ b66003e; the submission checker's performance_check.py, which is stricter at a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.figures import Check, Outcome
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.early_stopping import fewest_to_certify, queries_needed
from caveat.measure.goodput import RATES
from caveat.measure.latencies import VALUES
from caveat.measure.loadgen_definitions import last_issue_ns, loadgen_tpot_ns, usage_of
from caveat.measure.percentiles import floor_rank
from caveat.measure.scenario import LIMITED, Scenario
from caveat.measure.tokens import Tokens
from caveat.measure.windows import Window
from caveat.units import NS_PER_S, format_number, format_seconds


def scenario_checks(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], scenario: Scenario
) -> Iterator[Check]:
    """Every part that the scenario asks for. A failed request lies above every limit, and no run has one."""
    yield _errors(window)
    for limited in _limited(columns, window, tokens, scenario):
        yield _kept(limited, scenario)
        yield _certain(limited, len(window.rows), scenario)
    if scenario.name not in LIMITED:
        yield _certain_stream(len(window.rows), scenario)
    yield _lasted(columns, window, scenario)
    yield _enough(len(window.rows), scenario)
    yield from _whole_sets(len(window.rows), scenario)
    yield from _output_length(tokens, scenario)


@dataclass(frozen=True, slots=True)
class _Limited:
    """A latency with a limit: nanoseconds of each query, infinite where it failed, NaN where it cannot be too long.

    `unknown` says why the values are not all known, empty where they are.
    """

    words: str
    aspect: str
    limit_s: float
    values: Floats
    unknown: str = ""

    @property
    def limit_ns(self) -> int:
        """In whole nanoseconds, as LoadGen compares."""
        return round(self.limit_s * NS_PER_S)


def _limited(
    columns: SampleColumns, window: Window, tokens: Sequence[Tokens], scenario: Scenario
) -> Iterator[_Limited]:
    if scenario.tpot_s is not None:
        usage = usage_of(tokens)
        tpot = _or_never(loadgen_tpot_ns(columns, window, usage), window)
        unknown = "" if usage is not None else "the server's usage record did not count the tokens of every answer"
        yield _Limited("TPOT", "early stopping (TPOT)", scenario.tpot_s, tpot, unknown or _untimed(columns, window))
    if scenario.ttft_s is not None:
        ttft = _or_never(VALUES["caveat-ttft"](columns, window), window)
        yield _Limited("TTFT", "early stopping (TTFT)", scenario.ttft_s, ttft, _untimed(columns, window))
    if scenario.latency_s is not None:
        latency = _or_never(VALUES["caveat-latency"](columns, window), window)
        yield _Limited("latency", "early stopping", scenario.latency_s, latency)


def _or_never(values: Floats, window: Window) -> Floats:
    return np.where(window.ok, values, np.inf)


def _untimed(columns: SampleColumns, window: Window) -> str:
    """Why first tokens are not known: an answer that came whole has none."""
    first = columns.numbers("first_token_ns")[window.rows]
    without = int((window.ok & ~np.isfinite(first)).sum())
    return f"{without:,} answers have no time of a first token" if without else ""


def _kept(one: _Limited, scenario: Scenario) -> Check:
    """LoadGen: at most the limit. The submission checker: below it, which is what a profile asks."""
    limit = format_seconds(one.limit_s)
    series = one.values[~np.isnan(one.values)]
    if one.unknown or not len(series):
        reason = one.unknown or "no answer has two tokens"
        sentence = f"{scenario.percentile_name} {one.words} against {limit} cannot be said: {reason}."
        return Check(aspect="latency limits", outcome="unknown", sentence=sentence, metrics=RATES)
    rank = floor_rank(len(series), scenario.percentile)
    value_ns = float(np.partition(series, rank)[rank])
    at_limit = scenario.is_strict and value_ns == one.limit_ns
    good = value_ns <= one.limit_ns and not at_limit
    reached = format_seconds(value_ns / NS_PER_S) if np.isfinite(value_ns) else "never, too many failed"
    rule = "below it is asked for" if scenario.is_strict else "at most that is asked for"
    if at_limit:
        rule = "LoadGen lets a run at its limit pass, the submission checker does not"
    sentence = f"{scenario.percentile_name} {one.words} (rank floor(n x p)) {reached}, limit {limit}; {rule}."
    return Check(aspect="latency limits", outcome=_outcome(good), sentence=sentence, metrics=RATES)


def _certain(one: _Limited, queries: int, scenario: Scenario) -> Check:
    if one.unknown:
        sentence = f"How many queries are above the {one.words} limit cannot be said: {one.unknown}."
        return Check(aspect=one.aspect, outcome="unknown", sentence=sentence, metrics=RATES)
    over = int(np.count_nonzero(one.values > one.limit_ns))
    needed = queries_needed(scenario.percentile, over)
    sentence = (
        f"{over:,} of {queries:,} queries lie above the {one.words} limit; {needed:,} are enough to certify "
        f"{scenario.percentile_name} with 99 % confidence.{_missing(needed - queries)}"
    )
    return Check(aspect=one.aspect, outcome=_outcome(queries >= needed), sentence=sentence, metrics=RATES)


def _certain_stream(samples: int, scenario: Scenario) -> Check:
    """A stream has no limit to miss, but too few queries have no certified percentile. Offline asks nothing."""
    if scenario.name == "offline":
        sentence = "Offline has no latency to certify."
        return Check(aspect="early stopping", outcome="not applicable", sentence=sentence)
    queries, needed = samples // scenario.samples_per_query, fewest_to_certify(scenario.percentile)
    sentence = (
        f"{queries:,} queries; {needed:,} are enough to certify {scenario.percentile_name} with 99 % confidence."
        f"{_missing(needed - queries)}"
    )
    return Check(aspect="early stopping", outcome=_outcome(queries >= needed), sentence=sentence)


def _missing(more: int) -> str:
    return f" Would need at least {more:,} more queries." if more > 0 else ""


def _errors(window: Window) -> Check:
    failed = int((~window.ok).sum())
    sentence = f"{failed:,} requests failed; a scenario knows no failed request."
    return Check(aspect="errors", outcome=_outcome(not failed), sentence=sentence)


def _lasted(columns: SampleColumns, window: Window, scenario: Scenario) -> Check:
    """LoadGen looks at another moment in each scenario."""
    if scenario.name in LIMITED:
        until, what = window.last_due_ns, "The last query was scheduled"
    elif scenario.name == "offline":
        until, what = window.last_end_ns, "The last sample ended"
    else:
        until, what = last_issue_ns(columns, window), "The last query was issued"
    lasted_s = (until - window.start_ns) / NS_PER_S
    sentence = (
        f"{what} {format_seconds(lasted_s)} after the start; at least {format_seconds(scenario.min_duration_s)} "
        "is asked for."
    )
    return Check(aspect="minimum duration", outcome=_outcome(lasted_s >= scenario.min_duration_s), sentence=sentence)


def _enough(samples: int, scenario: Scenario) -> Check:
    issued, what = samples // scenario.samples_per_query, "samples" if scenario.name == "offline" else "queries"
    good = issued >= scenario.min_queries
    more = "" if good else f" {scenario.min_queries - issued:,} more are needed."
    sentence = f"{issued:,} {what} were issued; at least {scenario.min_queries:,} are asked for.{more}"
    return Check(aspect="minimum queries", outcome=_outcome(good), sentence=sentence)


def _whole_sets(samples: int, scenario: Scenario) -> Iterator[Check]:
    """With equal issue every sample is asked as often as every other."""
    if scenario.set_size is None:
        return
    passes, rest = divmod(samples, scenario.set_size)
    good = passes > 0 and not rest
    more = "" if good else f" {scenario.set_size - rest:,} requests are missing from the last."
    sentence = f"{passes:,} whole passes over the set of {scenario.set_size:,} samples were made.{more}"
    yield Check(aspect="minimum queries", outcome=_outcome(good), sentence=sentence)


def _output_length(tokens: Sequence[Tokens], scenario: Scenario) -> Iterator[Check]:
    """Longer or shorter answers than the benchmark's are another amount of work."""
    if scenario.tokens_per_sample is None:
        return
    low, high = scenario.tokens_per_sample
    asked = f"{format_number(low)} to {format_number(high)} are asked for"
    if not tokens or not tokens[0].counted.complete:
        reason = tokens[0].counted.reason if tokens else "nobody counted tokens"
        yield Check(aspect="output length", outcome="unknown", sentence=f"Not known: {reason}; {asked}.")
        return
    mean = float(np.nanmean(tokens[0].output))
    sentence = f"Mean output is {format_number(mean)} tokens ({tokens[0].words}); {asked}."
    yield Check(aspect="output length", outcome=_outcome(low <= mean <= high), sentence=sentence)


def _outcome(good: bool) -> Outcome:
    return "pass" if good else "fail"
