"""Internals: what a simulated fleet knows of itself and no client could measure. Frozen, made after an offer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from caveat.simulator.fleet import Fleet
from caveat.simulator.instants import s_from_fs
from caveat.simulator.replica import Replica


class Internals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over replicas unless it says otherwise. A share without a whole is None.

    replicas, requests     replicas; requests that were served or refused
    refused                of them, refused
    span_s                 from the start of the plan to the last event
    steps, turns           iterations of the engines; how often the simulator had to look at one
    replica_s              time of replicas that is paid for: span x replicas where nobody scales them
    busy_share             time in which a step was under way / replica_s
    busiest_share          the same for the busiest replica
    mean_batch             sequences that decode in a step, mean over the steps
    most_running           most sequences under way at once on one replica, where prompts were being computed
    longest_queue          most requests in the queue of one replica at the beginning of a step
    most_outstanding       most requests under way at once in the whole fleet
    preemptions            how often a sequence lost its blocks
    prompt_tokens          of all requests that were admitted
    computed_tokens        prompt tokens computed, those of preempted sequences again
    cached_tokens          prompt tokens found in a cache at the first admission
    hit_share              cached_tokens / prompt_tokens; None without a prefix cache
    kv_peak_share          most KV blocks used at once on one replica / its blocks; None without a limit
    ordered, given_up      replicas that were ordered and given up by autoscaling
    failures               of replicas
    retried, lost          requests that began again after a failure, each time counted; those that were given up
    transfers              of keys and values from one pool to another; `transferred_tokens` in them
    transfer_wait_s        before a link was free, mean over transfers; None without any
    swaps                  changes of the model on a replica
    """

    replicas: int
    requests: int
    refused: int
    span_s: float
    replica_s: float
    steps: int
    turns: int
    busy_share: float | None
    busiest_share: float | None
    mean_batch: float | None
    most_running: int
    longest_queue: int
    most_outstanding: int
    preemptions: int
    prompt_tokens: int
    computed_tokens: int
    cached_tokens: int
    hit_share: float | None
    kv_peak_share: float | None
    ordered: int
    given_up: int
    failures: int
    retried: int
    lost: int
    transfers: int
    transferred_tokens: int
    transfer_wait_s: float | None
    swaps: int


def internals_of(fleet: Fleet, requests: int) -> Internals:
    """The counters of a fleet that has ended."""
    replicas, span_fs = fleet.replicas, fleet.now_fs
    caches = any(replica.kv.cache is not None for replica in replicas)
    prompt, cached = _sum(replicas, "prompt_tokens"), _sum(replicas, "cached_tokens")
    steps, busy_fs = _sum(replicas, "steps"), _sum(replicas, "busy_fs")
    paid_fs = sum(s.paid_fs(span_fs) for s in fleet.scalers) if fleet.scalers else span_fs * len(replicas)
    link = fleet.link
    return Internals(
        replicas=len(replicas),
        requests=requests,
        refused=fleet.refused,
        span_s=s_from_fs(span_fs),
        replica_s=s_from_fs(paid_fs),
        steps=steps,
        turns=_sum(replicas, "turns"),
        busy_share=_share(busy_fs, paid_fs),
        busiest_share=_share(max(replica.busy_fs for replica in replicas), span_fs),
        mean_batch=_share(_sum(replicas, "sequence_steps"), steps),
        most_running=max(replica.most_running for replica in replicas),
        longest_queue=max(replica.longest_queue for replica in replicas),
        most_outstanding=fleet.most_outstanding,
        preemptions=_sum(replicas, "preemptions"),
        prompt_tokens=prompt,
        computed_tokens=_sum(replicas, "computed_tokens"),
        cached_tokens=cached,
        hit_share=_share(cached, prompt) if caches else None,
        kv_peak_share=_kv_peak(replicas),
        ordered=sum(scaler.ordered for scaler in fleet.scalers),
        given_up=sum(scaler.given_up for scaler in fleet.scalers),
        failures=fleet.failures,
        retried=fleet.retried,
        lost=fleet.lost,
        transfers=link.sent if link else 0,
        transferred_tokens=link.tokens if link else 0,
        transfer_wait_s=s_from_fs(link.waited_fs) / link.sent if link and link.sent else None,
        swaps=_sum(replicas, "swaps"),
    )


def _sum(replicas: Sequence[Replica], counter: str) -> int:
    return sum(getattr(replica, counter) for replica in replicas)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _kv_peak(replicas: Sequence[Replica]) -> float | None:
    shares = [replica.kv.peak / replica.kv.capacity for replica in replicas if replica.kv.capacity]
    return max(shares, default=None)
