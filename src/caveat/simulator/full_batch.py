"""FullBatch: what a replica does with every seat taken, and how much of it is lost where seats are empty.

Work is counted in seconds of a replica whose batch is full: a prompt by its tokens, an answer token by its share of
such a step. The rate of a full batch is simulated (one replica with a long queue, between its ramp and its tail), and
the unit of work is set so that a full batch does one second of work a second.
"""

from __future__ import annotations

import msgspec
import numpy as np

from caveat.simulator.capacity import batch_limit
from caveat.simulator.length_mix import mix_of
from caveat.simulator.outcome import Float64, Times, times_of
from caveat.simulator.target import SimulatedServer
from caveat.workload import Burst, Lengths, Limits, Workload, WorkloadPlan

_SEATFULS, _FEWEST, _MOST = 10, 2000, 40_000
_RAMP = 0.3  # of the first tokens: by then the batch is full, and of one age with itself no more


class FullBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One replica. `seats` decode together; a token of an answer, of a prompt and a pair of prompt tokens are so much
    work each; `requests_per_s` and `tokens_per_s` are what comes out."""

    seats: float
    token_s: float
    prompt_token_s: float
    prompt_pair_s: float
    requests_per_s: float
    tokens_per_s: float

    def work_s(self, times: Times, until_s: float | None = None) -> float:
        """The work in a run, or in what of it was done by an instant: prompts whose first token is there, and answer
        tokens, taken as even between first and last."""
        p, out = times.prompt_tokens, times.output_tokens
        prompts_s = self.prompt_token_s * p + self.prompt_pair_s * p * (p - 1) / 2
        if until_s is None:
            return float((prompts_s + self.token_s * out).sum())
        done = times.first_s <= until_s
        share = _share(until_s - times.first_s[done], (times.end_s - times.first_s)[done])
        return float((prompts_s[done] + self.token_s * (1 + (out[done] - 1) * share)).sum())

    def lost_shares(self, times: Times, replicas: int) -> tuple[float, float]:
        """Of a run that began with everything in the queue: the shares of the replicas' time that were lost before the
        queue was empty everywhere (ramp) and after it (tail). They and the rate in shares of a full batch sum to 1."""
        begin_s, empty_s, end_s = times.due_s.min(), times.first_s.max(), times.end_s.max()
        whole_s = float(end_s - begin_s) * replicas
        before_s, all_s = self.work_s(times, float(empty_s)), self.work_s(times)
        ramp_s = float(empty_s - begin_s) * replicas - before_s
        tail_s = float(end_s - empty_s) * replicas - (all_s - before_s)
        return ramp_s / whole_s, tail_s / whole_s


def full_batch(server: SimulatedServer, lengths: Lengths, seed: int) -> FullBatch:
    """Of one replica like those of the server."""
    scheduler = server.scheduler
    drawn = next(
        Workload(arrivals=Burst(), lengths=lengths, seed=seed, limits=Limits(requests=_FEWEST)).plan().blocks()
    )
    mix = mix_of(drawn.input_tokens, drawn.output_tokens)
    kv_tokens = None if scheduler.kv_blocks is None else scheduler.kv_blocks * scheduler.block_tokens
    limit = batch_limit(
        mix, max_num_seqs=scheduler.seats(), token_budget=scheduler.token_budget, kv_tokens=kv_tokens
    ).sequences
    piece = server.step_time.piece(int(limit * (1 + mix.prompt_tokens_per_token)))
    step_s = piece.step_s + (piece.sequence_s + piece.context_token_s * mix.context_tokens) * limit
    raw = FullBatch(
        seats=limit,
        token_s=step_s / limit,
        prompt_token_s=piece.prompt_token_s,
        prompt_pair_s=piece.prompt_pair_s,
        requests_per_s=0.0,
        tokens_per_s=0.0,
    )
    count = min(max(round(_SEATFULS * limit), _FEWEST), _MOST)
    alone = SimulatedServer(server.step_time, scheduler)
    return _scaled(raw, times_of(alone, _burst(lengths, seed, count)))


def _burst(lengths: Lengths, seed: int, requests: int) -> WorkloadPlan:
    return Workload(arrivals=Burst(), lengths=lengths, seed=seed, limits=Limits(requests=requests)).plan()


def _scaled(raw: FullBatch, times: Times) -> FullBatch:
    """In the unit in which the middle of a long run does one second of work a second."""
    order = np.sort(times.first_s)
    begin_s, end_s = float(order[int(len(order) * _RAMP)]), float(order[-1])
    speed = (raw.work_s(times, end_s) - raw.work_s(times, begin_s)) / (end_s - begin_s)
    mean_s = raw.work_s(times) / speed / len(order)
    return FullBatch(
        seats=raw.seats,
        token_s=raw.token_s / speed,
        prompt_token_s=raw.prompt_token_s / speed,
        prompt_pair_s=raw.prompt_pair_s / speed,
        requests_per_s=1 / mean_s,
        tokens_per_s=float(times.output_tokens.mean()) / mean_s,
    )


def _share(passed_s: Float64, whole_s: Float64) -> Float64:
    return np.minimum(1.0, passed_s / np.maximum(whole_s, 1e-12))
