"""Parts of a fleet: each with the rate of the whole fleet at which it is full, in closed form and draw by draw.

Replicas that are alike are one part: saturated.py says what each carries. Disaggregation makes three: R replicas that
compute prompts of U tokens, n in a step, give R n / (a + n U b + n pairs q); R that decode, B at once, give
R B / (D t(B)) with D = E[O] - 1, since the first token comes with the prompt; links give links / (E[I] x time of a
token). Models with replicas of their own are a part each, full at the fleet's rate that brings them theirs. Models that
swap share their replicas: a request takes at least its share of a full batch of its model; wherever the order of
arrival changes the model, at most a swap and the time of a request alone go by as well, while a batch ends and another
begins. How often that is depends on the router: each draw has a place in the range.

What fails by chance carries its rate for the share of time in which it works. What failures let be done again, and
what is preempted, is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from caveat.errors import CannotSayError
from caveat.simulator.capacity import BatchLimit, Part, batch_limit, over, prompt_batch_s
from caveat.simulator.length_mix import LengthMix
from caveat.simulator.model_file import Model
from caveat.simulator.saturated import Filling, answers_per_s, requests_per_s, steps_of
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.step_time import StepTime

PREFILL, DECODE, LINKS, ALIKE = "prefill pool", "decode pool", "links", "replicas"


class Case(msgspec.Struct, frozen=True):
    """One possibility: a draw of the steps with a value of each range. `max_num_seqs` None: not known; `place` from 0
    to 1 in what is not known of swapping."""

    step_time: StepTime
    others: tuple[StepTime, ...]
    mix: LengthMix
    max_num_seqs: float | None
    place: float


def parts_of(model: Model, cases: Sequence[Case]) -> tuple[Part, ...]:
    """The parts of the fleet that a model file describes. CannotSayError where nothing bounds a batch."""
    shape = model.shape()
    if shape.disaggregation is not None:
        return _split(model, cases)
    if shape.several_models is None:
        return (_pool(model, cases, ALIKE, model.fleet.replicas),)
    if shape.several_models.replicas is None:
        return (_swapping(model, cases, shape.several_models),)
    return _dedicated(model, cases, shape.several_models, shape.several_models.replicas)


def bound(model: Model, case: Case) -> BatchLimit:
    """The sequences under way on a replica with a queue that never ends, and what keeps them from being more."""
    return _said(steps_of(case.mix, _filling(model, case)).limit, case)


def _filling(model: Model, case: Case, *, seats: float | None = None) -> Filling:
    """CannotSayError where neither seats nor blocks are known."""
    _check_bounded(model, case)
    s = model.scheduler
    return Filling(
        seats=case.max_num_seqs if seats is None else seats,
        token_budget=s.token_budget,
        chunked=s.chunked_prefill,
        prefill_first=s.prefill_first,
        kv_tokens=None if s.kv_blocks is None else float((s.kv_blocks - s.watermark_blocks) * s.block_tokens),
        block_tokens=s.block_tokens,
        speculation=s.speculation,
    )


def availability(model: Model) -> float:
    """Share of time in which a replica works: mean time to a failure / (that and mean repair). Outages at given times
    are not in it."""
    failing = model.fleet.failures
    if failing is None or failing.mean_between_s is None:
        return 1.0
    return failing.mean_between_s / (failing.mean_between_s + failing.mean_repair_s)


def _pool(model: Model, cases: Sequence[Case], name: str, replicas: int) -> Part:
    rates = [replicas * requests_per_s(case.step_time, case.mix, _filling(model, case)) for case in cases]
    return _part(model, name, replicas, rates, [bound(model, case) for case in cases])


def _split(model: Model, cases: Sequence[Case]) -> tuple[Part, ...]:
    split = model.shape().disaggregation
    assert split is not None  # or nobody asks
    first = split.prefill_replicas
    later = model.fleet.replicas - first
    prompts = [_prompt_limit(model, case) for case in cases]
    seats = [_decode_limit(model, case) for case in cases]
    token_s = split.token_s()
    carried = [over(split.links, case.mix.input_tokens * token_s) for case in cases]
    return (
        _part(
            model,
            PREFILL,
            first,
            [first * _prompts_per_s(model, *one) for one in zip(cases, prompts, strict=True)],
            prompts,
        ),
        _part(
            model, DECODE, later, [later * _answers_per_s(model, *one) for one in zip(cases, seats, strict=True)], seats
        ),
        Part(name=LINKS, replicas=0, least=0, rates=tuple(carried), batch=None),
    )


def _prompts_per_s(model: Model, case: Case, limit: BatchLimit) -> float:
    """Prompts per second of a replica that does nothing else."""
    drafts = model.scheduler.speculation
    draft_s = drafts.draft_step_s if drafts else 0.0  # of every step, whoever is in it
    return over(limit.sequences, draft_s + prompt_batch_s(case.step_time, case.mix, limit.sequences))


def _answers_per_s(model: Model, case: Case, limit: BatchLimit) -> float:
    """Answers per second of a replica that gets them with their first token. Endless where one token is all."""
    return answers_per_s(case.step_time, case.mix, _filling(model, case), limit.sequences)


def decoded(mix: LengthMix) -> LengthMix:
    """The mix of sequences whose prompt and first token were computed elsewhere: no prompts, and the context of tokens
    2 to O alone, E[I (O - 1) + O (O - 1) / 2] / E[O - 1]."""
    tokens = mix.output_tokens - 1
    read = mix.context_tokens * mix.output_tokens - mix.input_tokens - mix.output_tokens / 2
    context = max(0.0, read / tokens) if tokens > 0 else 0.0
    return msgspec.structs.replace(mix, context_tokens=context, prompt_tokens=0.0, prompt_pairs=0.0)


def _prompt_limit(model: Model, case: Case) -> BatchLimit:
    """Prompts in a step: those that the budget of tokens has room for, seats, blocks. Whole ones where they are not
    cut, and one at least."""
    s, mix = model.scheduler, case.mix
    fit = s.token_budget / max(1.0, mix.prompt_tokens)
    limits = [BatchLimit(sequences=fit if s.chunked_prefill else max(1.0, math.floor(fit)), by="token_budget")]
    if case.max_num_seqs is not None:
        limits.append(BatchLimit(sequences=case.max_num_seqs, by="max_num_seqs"))
    if (kv_tokens := _kv_tokens(model)) is not None:
        limits.append(BatchLimit(sequences=kv_tokens / max(1.0, mix.input_tokens), by="kv_tokens"))
    return min(limits, key=lambda one: one.sequences)


def _decode_limit(model: Model, case: Case) -> BatchLimit:
    _check_bounded(model, case)
    found = batch_limit(decoded(case.mix), max_num_seqs=case.max_num_seqs, kv_tokens=_kv_tokens(model))
    return _said(found, case)


def _dedicated(
    model: Model, cases: Sequence[Case], several: SeveralModels, replicas: Sequence[int]
) -> tuple[Part, ...]:
    parts = []
    for number, (share, count) in enumerate(zip(several.shares, replicas, strict=True)):
        own = [
            case if not number else msgspec.structs.replace(case, step_time=case.others[number - 1]) for case in cases
        ]
        part = _pool(model, own, f"model {number}", count)
        parts.append(msgspec.structs.replace(part, rates=tuple(over(rate, share) for rate in part.rates)))
    return tuple(parts)


def _swapping(model: Model, cases: Sequence[Case], several: SeveralModels) -> Part:
    limits = [bound(model, case) for case in cases]
    changes = 1 - math.fsum(share**2 for share in several.shares)  # of neighbours that ask different models
    rates = []
    for case in cases:
        full_s, alone_s = (
            math.fsum(
                share / requests_per_s(step, case.mix, filling)
                for share, step in zip(several.shares, (case.step_time, *case.others), strict=True)
            )
            for filling in (_filling(model, case), _filling(model, case, seats=1.0))
        )
        most_s = full_s + changes * (alone_s + several.swap_s)
        rates.append(over(model.fleet.replicas, full_s + case.place * (most_s - full_s)))
    return _part(model, ALIKE, model.fleet.replicas, rates, limits)


def _part(model: Model, name: str, replicas: int, rates: Sequence[float], limits: Sequence[BatchLimit]) -> Part:
    scaled, works = model.fleet.autoscaling, availability(model)
    return Part(
        name=name,
        replicas=replicas,
        least=replicas if scaled is None else min(scaled.min_replicas, replicas),
        rates=tuple(rate * works for rate in rates),
        batch=sorted(limits, key=lambda limit: limit.sequences)[len(limits) // 2],
    )


def _kv_tokens(model: Model) -> float | None:
    s = model.scheduler
    return None if s.kv_blocks is None else float(s.kv_blocks * s.block_tokens)


def _check_bounded(model: Model, case: Case) -> None:
    if case.max_num_seqs is None and model.scheduler.kv_blocks is None:
        raise CannotSayError(
            "scheduler.max_num_seqs is unknown, and so is the size of the KV cache: nothing bounds the batch",
            next="give max_num_seqs, or a range of it",
        )


def _said(found: BatchLimit, case: Case) -> BatchLimit:
    """Where max_num_seqs is unknown the capacity is what the rest allows, and says so."""
    if case.max_num_seqs is not None:
        return found
    return BatchLimit(sequences=found.sequences, by=f"{found.by} (max_num_seqs unknown)")
