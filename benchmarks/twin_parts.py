"""Of a run against a modelled endpoint: which part of a measured time is the model's, and which somebody else's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from caveat.loopback import Lag, Truth, read_log
from caveat.measure import Kept
from caveat.simulator import Model, VirtualClock, server_of
from caveat.workload import PlanBlock

Int64 = npt.NDArray[np.int64]


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """From due to seen, in milliseconds; percentiles over requests.

    lateness_ms   due to sent, by the client: p50, p99
    way_in_ms     sent to read whole by the endpoint
    lag_ms        first token due by the model to written
    way_out_ms    first token written to read by the client
    lag_p99_ms    p99 of all writes of tokens after they were due, as the endpoint counts it
    drift_us      largest difference between when the endpoint had a token due and when the simulation of the arrivals
                  that the endpoint saw has it due, over first and last tokens
    joined        requests that were found on both sides: same place by time, same length
    """

    lateness_ms: tuple[float, float]
    way_in_ms: tuple[float, float]
    lag_ms: tuple[float, float]
    way_out_ms: tuple[float, float]
    lag_p99_ms: float
    drift_us: float
    joined: int

    def sentence(self) -> str:
        """For people."""
        named = (("sent late", self.lateness_ms), ("way in", self.way_in_ms), ("lag", self.lag_ms))
        said = ", ".join(f"{name} {p50:.2f}/{p99:.2f}" for name, (p50, p99) in (*named, ("way out", self.way_out_ms)))
        return f"p50/p99 ms: {said}; p99 of all lags {self.lag_p99_ms:.2f} ms; drift {self.drift_us:.3f} us"


def parts_of(samples: pa.Table, start_ns: int, log: bytes, model: Model) -> Parts:
    """From the client's samples, its clock's zero, and the endpoint's log."""
    said = msgspec.json.decode(log.partition(b"\n")[0], type=_Head)
    table = samples.sort_by("sent_ns")
    answered = (truth for truth in read_log(log) if truth.first_write_ns is not None)
    truths = sorted(answered, key=lambda truth: truth.arrival_ns)
    sent, first, ready = (
        np.asarray(table[name].fill_null(-1).to_numpy()) + start_ns
        for name in ("sent_ns", "first_token_ns", "ready_ns")
    )
    arrival, due, write = (
        np.array([getattr(truth, name) for truth in truths], np.int64)
        for name in ("arrival_ns", "first_due_ns", "first_write_ns")
    )
    asked = np.asarray(table["output_tokens_wanted"].to_numpy())
    same = asked == np.array([truth.output_tokens for truth in truths]) if len(truths) == len(asked) else asked < 0
    return Parts(
        lateness_ms=_middle_and_tail((sent - ready)[same]),
        way_in_ms=_middle_and_tail((arrival - sent)[same]) if same.any() else (np.nan, np.nan),
        lag_ms=_middle_and_tail(write - due),
        way_out_ms=_middle_and_tail((first - write)[same]) if same.any() else (np.nan, np.nan),
        lag_p99_ms=said.lag.p99_ns / 1e6,
        drift_us=drift_us(truths, model),
        joined=int(same.sum()),
    )


def drift_us(truths: Sequence[Truth], model: Model) -> float:
    """How far the endpoint's due times are from those of a simulation of its arrivals, at most. Served requests."""
    ordered = sorted(truths, key=lambda truth: truth.number)
    zero = ordered[0].arrival_ns
    sink = Kept()
    server_of(model).offer(_Seen(ordered), sink, VirtualClock())
    table = sink.table().sort_by("request")
    worst = 0
    for name, column in (("first_due_ns", "first_token_ns"), ("last_due_ns", "last_token_ns")):
        due = np.array([getattr(truth, name) for truth in ordered], np.int64) - zero
        worst = max(worst, int(np.abs(due - table[column].to_numpy()).max()))
    return worst / 1e3


class _Head(msgspec.Struct, frozen=True):
    lag: Lag


class _Seen:
    """What the endpoint saw as a plan."""

    concurrency = None
    block_tokens = 0

    def __init__(self, truths: Sequence[Truth]) -> None:
        self._truths = truths

    def blocks(self) -> Iterator[PlanBlock]:
        """One, of all requests."""
        names = ("arrival_ns", "prompt_tokens", "output_tokens")
        at, inputs, outputs = (np.array([getattr(t, name) for t in self._truths], np.int64) for name in names)
        yield PlanBlock(at_ns=at - at[0], input_tokens=inputs, output_tokens=outputs)

    def describe(self) -> dict[str, str]:
        """Nothing: nobody keeps it."""
        return {}


def _middle_and_tail(ns: Int64) -> tuple[float, float]:
    """p50 and p99 in milliseconds, observed values."""
    if not len(ns):
        return float("nan"), float("nan")
    p50, p99 = np.quantile(ns, (0.5, 0.99), method="inverted_cdf") / 1e6
    return float(p50), float(p99)
