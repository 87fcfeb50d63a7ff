"""Samples for tests, made of a few arrays: everything that is not said is as it would be in a run without trouble."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from caveat.figures import Row
from caveat.measure import Difference, Summary, schema
from caveat.units import NS_PER_S


def samples(due_s, latency_s, *, ttft_s=None, output=10, wanted=None, **columns: Any) -> pa.Table:
    """A table of samples: when each was due, how long it took, and what else is said as columns of the schema.

    Sent when due; first token after `ttft_s` (half the latency unless said), the last at the end; failures and other
    columns as lists, None for null.
    """
    due = np.asarray(np.round(np.asarray(due_s, dtype=np.float64) * NS_PER_S), dtype=np.int64)
    n = len(due)
    end = due + np.broadcast_to(np.round(np.asarray(latency_s) * NS_PER_S).astype(np.int64), n)
    half = (end - due) // 2
    first = due + (half if ttft_s is None else np.round(np.broadcast_to(ttft_s, n) * NS_PER_S).astype(np.int64))
    tokens = np.broadcast_to(np.asarray(output, dtype=np.int64), n)
    values: dict[str, Any] = {
        "request": np.arange(n),
        "scheduled_ns": due,
        "ready_ns": due,
        "sent_ns": due,
        "first_byte_ns": first,
        "first_token_ns": first,
        "last_token_ns": end,
        "end_ns": end,
        "stall_ns": np.zeros(n, dtype=np.int64),
        "input_tokens_wanted": np.full(n, 100),
        "output_tokens_wanted": tokens if wanted is None else np.broadcast_to(wanted, n),
        "input_tokens_usage": np.full(n, 100),
        "output_tokens_usage": tokens,
        "chunks": tokens,
        "phase": ["measured"] * n,
        **columns,
    }
    return pa.table([_column(field, values.get(field.name), n) for field in schema()], schema=schema())


def _column(field: pa.Field, values: Any, n: int) -> pa.Array:
    return pa.nulls(n, field.type) if values is None else pa.array(values, type=field.type)


def mm1(n: int, *, load: float, mean_s: float, rng: np.random.Generator) -> pa.Table:
    """A queue with one server, Poisson arrivals, exponential times of mean `mean_s`: waiting makes neighbours alike."""
    gaps = rng.exponential(mean_s / load, n)
    due = np.cumsum(gaps)
    work = rng.exponential(mean_s, n)
    # Lindley: the wait is the walk of work minus gaps, above its own minimum so far.
    walk = np.concatenate(([0.0], np.cumsum(work[:-1] - gaps[1:])))
    wait = walk - np.minimum.accumulate(walk)
    return samples(due, wait + work)


def ar1(n: int, *, memory: float, mean_s: float, spread: float, rng: np.random.Generator) -> pa.Table:
    """Latencies whose logarithm is autoregressive: each keeps the share `memory` of the one before."""
    noise = rng.normal(size=n + 500)
    steps = np.empty_like(noise)
    steps[0] = noise[0]
    for place in range(1, len(noise)):
        steps[place] = memory * steps[place - 1] + noise[place]
    logs = steps[500:] * np.sqrt(1 - memory**2) * spread
    return samples(np.arange(n) * 0.01, mean_s * np.exp(logs))


def row(summary: Summary, metric: str) -> Row:
    """The row of a metric that must be there."""
    found = summary.row(metric)
    assert found is not None, f"{metric}: {summary.why_absent(metric)}"
    return found


def interval(answer: Difference) -> tuple[float, float, float]:
    """(low, ratio, high) of an answer that must be one."""
    assert answer.low is not None, answer.reason
    assert answer.ratio is not None
    assert answer.high is not None
    return answer.low, answer.ratio, answer.high
