"""A plan as values of conditions: what was asked for in words, lengths and reuse as counted over the plan itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from caveat.units import NS_PER_S
from caveat.workload.arrivals import Loadgen
from caveat.workload.plan import Int64, Plan, PlanBlock, Whole
from caveat.workload.untimed import Burst, Concurrency, Streams

if TYPE_CHECKING:
    from caveat.workload.workload import Workload

DescribedValue = bool | int | float | str | dict[str, float]

_PERCENTILES = (("p50", 50), ("p90", 90), ("p99", 99))


class LengthCounts:
    """How often each length occurs: exact statistics in memory that grows with the different lengths only."""

    def __init__(self) -> None:
        self._lengths = np.empty(0, np.int64)
        self._counts = np.empty(0, np.int64)

    def add(self, tokens: Whole) -> None:
        """Count some more."""
        lengths, counts = np.unique(tokens, return_counts=True)
        both = np.concatenate([self._lengths, lengths])
        self._lengths, places = np.unique(both, return_inverse=True)
        merged = np.zeros(len(self._lengths), np.int64)
        np.add.at(merged, places, np.concatenate([self._counts, counts]))
        self._counts = merged

    def table(self) -> tuple[Int64, Int64]:
        """The different lengths in order, and how often each occurs."""
        return self._lengths, self._counts

    def total(self) -> int:
        """The sum of all lengths."""
        return int(self._lengths @ self._counts)

    def statistics(self) -> dict[str, float]:
        """Mean, percentiles (the shortest length that as many percent do not exceed), maximum, number."""
        sums = np.cumsum(self._counts)
        count = int(sums[-1])
        percentiles = {
            name: float(self._lengths[np.searchsorted(sums, -(-count * percent // 100))])
            for name, percent in _PERCENTILES
        }
        extremes = {"max": float(self._lengths[-1]), "n": float(count)}
        return {"mean": self.total() / count, **percentiles, **extremes}


class PlanStatistics:
    """One reading of a plan: lengths, number, times, and tokens whose block an earlier request began with too."""

    def __init__(self, plan: Plan) -> None:
        self.requests = self.last_ns = self.listed_blocks = 0
        self.input_tokens, self.output_tokens = LengthCounts(), LengthCounts()
        self._seen: npt.NDArray[np.bool_] = np.zeros(1024, np.bool_)
        self._samples: dict[int, int] = {}
        for block in plan.blocks():
            self._read(block)

    def _read(self, block: PlanBlock) -> None:
        self.requests += len(block)
        self.last_ns = int(block.at_ns[-1])
        self.input_tokens.add(block.input_tokens)
        self.output_tokens.add(block.output_tokens)
        self.listed_blocks += len(block.prefix_blocks)
        if len(block.prefix_blocks):
            self._mark(block.prefix_blocks)
        if len(block.sample):
            samples, places = np.unique(block.sample, return_index=True)
            self._samples |= dict(zip(samples.tolist(), block.input_tokens[places].tolist(), strict=True))

    def sample_tokens(self) -> int:
        """Input tokens of the different samples of a set: what is new in it."""
        return sum(self._samples.values())

    def reused_blocks(self) -> int:
        """Listed blocks less different blocks: those that an earlier request had listed."""
        return self.listed_blocks - int(np.count_nonzero(self._seen))

    def _mark(self, ids: Int64) -> None:
        most = int(ids.max())
        if most >= len(self._seen):
            more = max(2 * len(self._seen), most + 1) - len(self._seen)
            self._seen = np.concatenate([self._seen, np.zeros(more, np.bool_)])
        self._seen[ids] = True


def described(workload: Workload, plan: Plan) -> dict[str, DescribedValue]:
    """The plan of a workload as values of conditions (keys of the conditions' table)."""
    statistics = PlanStatistics(plan)
    values: dict[str, DescribedValue] = {
        "dataset": f"synthetic: {_lengths_words(workload)}",
        **_load(workload),
        "queries": statistics.requests,
        "sessions": _sessions_words(workload),
        "prefix_reuse": _reuse_words(workload),
        **_set(workload),
    }
    if statistics.requests:
        values["input_tokens_requested"] = statistics.input_tokens.statistics()
        values["output_tokens_requested"] = statistics.output_tokens.statistics()
        values["prefix_reuse_share"] = _reuse_share(workload, plan, statistics)
    if workload.lengths.output_cap is not None:
        values["output_tokens_cap"] = workload.lengths.output_cap
    rate_qps = _scheduled_qps(workload, statistics)
    if rate_qps is not None:
        values["scheduled_qps"] = rate_qps
    return values


def _load(workload: Workload) -> dict[str, DescribedValue]:
    """How requests arrive, in the words that imported results use."""
    arrivals = workload.arrivals
    values: dict[str, DescribedValue] = {"arrivals": arrivals.words(), "scenario": _scenario(workload)}
    if isinstance(arrivals, Concurrency):
        return values | {"loop": "closed", "latency_clock": "issue", "concurrency": arrivals.requests}
    if isinstance(arrivals, Streams):
        return values | _streams(arrivals)
    if isinstance(arrivals, Burst):
        return values | {"loop": "burst", "latency_clock": "test start"}
    values |= {"loop": "semi-open" if workload.sessions else "open", "latency_clock": "scheduled arrival"}
    rate_qps = arrivals.rate()
    if rate_qps is not None and workload.sessions is None:
        values["target_qps"] = float(rate_qps)
    if isinstance(arrivals, Loadgen):
        values["min_duration_s"] = arrivals.min_duration_ns / NS_PER_S
        values["min_queries"] = arrivals.min_queries
    return values


def _streams(arrivals: Streams) -> dict[str, DescribedValue]:
    return {
        "loop": "closed",
        "latency_clock": "issue",
        "concurrency": arrivals.samples,
        "samples_per_query": arrivals.samples,
        "min_duration_s": arrivals.min_duration_ns / NS_PER_S,
        "min_queries": arrivals.min_queries,
    }


def _set(workload: Workload) -> dict[str, DescribedValue]:
    """The set that requests are taken from."""
    samples = workload.samples
    return {} if samples is None else {"dataset_samples": samples.size, "whole_sets": True}


def _scenario(workload: Workload) -> str:
    arrivals = workload.arrivals
    if isinstance(arrivals, Burst):
        return "offline"
    if isinstance(arrivals, Streams):
        return "multi-stream" if arrivals.samples > 1 else "single-stream"
    if isinstance(arrivals, Loadgen):
        return "server"
    return arrivals.words() if isinstance(arrivals, Concurrency) else str(arrivals.__struct_config__.tag)


def _lengths_words(workload: Workload) -> str:
    own = getattr(workload.arrivals, "clients", ())
    several = sum(client.lengths is not None for client in own)
    if several:
        rest = "" if several == len(own) else f"; the others {workload.lengths.words()}"
        return f"{several:,} of {len(own):,} clients with lengths of their own{rest}"
    return workload.lengths.words()


def _sessions_words(workload: Workload) -> str:
    """Conversations, and the rate at which they start: it is not the rate of requests."""
    if workload.sessions is None:
        return "none: every query stands alone"
    rate_qps = workload.arrivals.rate()
    start = "" if rate_qps is None else f"{rate_qps:g} start each second; "
    return start + workload.sessions.words()


def _reuse_words(workload: Workload) -> str:
    """What requests share, by the workload and not by this plan, so that two seeds of one workload say the same."""
    if workload.samples is not None:
        return f"none between samples; each pass over the {workload.samples.size:,} asks the same prompts again"
    if not workload.shares_blocks():
        return "none across queries"
    grows = workload.sessions is not None and workload.sessions.grows
    turns = "each turn begins with its conversation; " if grows else ""
    return turns + workload.blocks_and_prompts().words()


def _reuse_share(workload: Workload, plan: Plan, statistics: PlanStatistics) -> float:
    """Share of input tokens that a cache could save which knows all earlier prompts and no answers."""
    if workload.samples is not None:
        return 1 - statistics.sample_tokens() / statistics.input_tokens.total()
    return statistics.reused_blocks() * plan.block_tokens / statistics.input_tokens.total()


def _scheduled_qps(workload: Workload, statistics: PlanStatistics) -> float | None:
    """Requests by the time they are spread over; None where times are not part of the plan or not fixed by it."""
    if workload.sessions is not None or isinstance(workload.arrivals, Burst | Concurrency | Streams):
        return None
    duration_s = workload.limits.duration_s
    if duration_s is not None and workload.limits.requests is None:
        return statistics.requests / duration_s
    return statistics.requests * NS_PER_S / statistics.last_ns if statistics.last_ns else None
