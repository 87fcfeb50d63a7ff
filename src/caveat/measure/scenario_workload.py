"""What a scenario offers: LoadGen's arrivals, numbers and sets as a workload document."""

from __future__ import annotations

import math

from caveat.errors import UsageError
from caveat.measure.scenario import LIMITED, STREAMS, Scenario
from caveat.units import NS_PER_S
from caveat.workload import Arrivals, Burst, Lengths, Limits, Loadgen, SampleSet, Streams, Workload, padded_count

OFFLINE_SLACK = 1.1
"""LoadGen offers a tenth more than the rate asked for would need."""

QUICKEST_S = 0.001
"""No answer of a stream is thought to be quicker: how many requests its plan has at most."""
MOST_PLANNED = 2_000_000


def workload_of_scenario(
    scenario: Scenario,
    lengths: Lengths,
    *,
    target_qps: float | None = None,
    seed: int = 0,
    order: tuple[int, ...] | None = None,
) -> Workload:
    """The workload of a scenario. `target_qps` is asked for in server, interactive and offline, and has no place else.

    `seed` is that of the lengths, `order` the order of samples in place of our shuffle. Raises UsageError for a rate
    that is missing or too many, InputError for one that gives no schedule.
    """
    _check_rate(scenario, target_qps)
    arrivals, limits = _arrivals(scenario, target_qps or 0.0)
    samples = None
    if scenario.set_size is not None:
        size, each = scenario.set_size, scenario.samples_per_query
        samples = SampleSet(size=size, seed=scenario.sample_index_seed, each=each, order=order)
    elif order is not None:
        raise UsageError("found an order of samples and no set", next="give set_size")
    return Workload(arrivals=arrivals, lengths=lengths, seed=seed, limits=limits, samples=samples)


def offline_samples(scenario: Scenario, target_qps: float) -> int:
    """LoadGen's number of samples: enough for 1.1 times the rate, at least the minimum, in whole sets."""
    enough = math.floor(OFFLINE_SLACK * target_qps * scenario.min_duration_s)
    return padded_count(max(scenario.min_queries, enough), scenario.set_size or 0)


def offers(scenario: Scenario, workload: Workload) -> bool:
    """Whether a workload arrives as a scenario wants it."""
    match workload.arrivals:
        case Loadgen():
            return scenario.name in LIMITED
        case Burst():
            return scenario.name == "offline"
        case Streams(samples=samples):
            return scenario.name in STREAMS and samples == scenario.samples_per_query
    return False


def _check_rate(scenario: Scenario, target_qps: float | None) -> None:
    if scenario.name in STREAMS and target_qps is not None:
        raise UsageError(
            f"scenario {scenario.name}: found a rate, expected none: the target sets its pace", next="leave out --rate"
        )
    if scenario.name not in STREAMS and target_qps is None:
        raise UsageError(
            f"scenario {scenario.name}: found no rate, expected the one that is tried", next="--rate 4, say"
        )


def _arrivals(scenario: Scenario, target_qps: float) -> tuple[Arrivals, Limits]:
    min_duration_ns = round(scenario.min_duration_s * NS_PER_S)
    if scenario.name == "offline":
        return Burst(), Limits(requests=offline_samples(scenario, target_qps))
    if scenario.name in LIMITED:
        loadgen = Loadgen(
            seed=scenario.schedule_seed,
            target_qps=target_qps,
            min_duration_ns=min_duration_ns,
            min_queries=scenario.min_queries,
            equal_issue_samples=scenario.set_size or 0,
        )
        return loadgen, Limits()
    streams = Streams(
        samples=scenario.samples_per_query,
        min_duration_ns=min_duration_ns,
        min_queries=scenario.min_queries,
        equal_issue_samples=scenario.set_size or 0,
    )
    queries = streams.queries()
    long_enough = min(MOST_PLANNED, math.ceil(scenario.min_duration_s / QUICKEST_S) * streams.samples)
    return streams, Limits(requests=padded_count(max(queries.least, long_enough), queries.step))
