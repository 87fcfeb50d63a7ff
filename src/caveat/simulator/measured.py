"""Measured samples as evidence (grade A): every answer of a run is a row, and no facts of the hardware are needed.

The tokens of an answer after its first took as long as the steps in between:

    last - first token = (O - 1) (step + sequence N + context K) + prompt P

N and K are the decoding sequences and the context that they read, averaged over the answer's time, P the prompt
tokens of others whose first token fell into it. A first token that nobody else waited beside took

    overhead + prompt I + (step + sequence N + context K) x 1, or 1.5 where a step was under way

with N and K at the moment of sending. Both are linear in five parameters. Answers of like N are summed into blocks, so
that their errors, which overlapping answers have in common, are counted about once.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from caveat.errors import CannotSayError
from caveat.measure import SampleColumns, Samples, columns_of
from caveat.simulator.evidence import Evidence
from caveat.simulator.length_mix import LengthMix, mix_of
from caveat.simulator.multipliers import EVIDENCE_SD, Float64, Prior
from caveat.simulator.step_time import Piece

NAMES: tuple[str, ...] = ("step_s", "sequence_s", "context_token_s", "prompt_token_s", "overhead_s")
"""The parameters of a step without facts; all but the last are fields of `Piece`."""

FEWEST = 20
"""Answers below which a run teaches nothing."""
BLOCKS = 40
_NS = 1e-9
Flags = NDArray[np.bool_]


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The good answers of a run as arrays, times in seconds from the start of the plan."""

    sent_s: Float64
    first_s: Float64
    last_s: Float64
    input_tokens: Float64
    output_tokens: Float64
    computed_tokens: Float64

    @property
    def mix(self) -> LengthMix:
        """Of these answers, with the prompt tokens that the server did not say came from its cache."""
        lengths = (self.input_tokens.astype(np.int64), self.output_tokens.astype(np.int64))
        hit = 1.0 - float(self.computed_tokens.sum() / self.input_tokens.sum())
        return mix_of(*lengths, prefix_hit=min(1.0, max(0.0, hit)))

    @property
    def weight(self) -> Float64:
        """Context of each in the middle of its answer."""
        return self.input_tokens + self.output_tokens / 2


def answers_of(samples: Samples) -> Answers:
    """Answers without error and with token counts, of all phases: the warm-up was served too.

    Tokens are the server's where it counts them, else the client's. CannotSayError below FEWEST answers.
    """
    columns = columns_of(samples)
    outputs = _first_known(columns.numbers("output_tokens_usage"), columns.numbers("output_tokens_client"))
    inputs = _first_known(columns.numbers("input_tokens_usage"), columns.numbers("input_tokens_wanted"))
    cached = np.nan_to_num(columns.numbers("cached_tokens_usage"))
    times = [columns.numbers(name) * _NS for name in ("sent_ns", "first_token_ns", "last_token_ns")]
    good = ~columns.present("error_class") & (outputs >= 1) & np.isfinite(inputs) & (times[2] >= times[1])
    _refuse_few(good, outputs, columns)
    return Answers(
        sent_s=times[0][good],
        first_s=times[1][good],
        last_s=times[2][good],
        input_tokens=inputs[good],
        output_tokens=outputs[good],
        computed_tokens=np.maximum(0.0, inputs - cached)[good],
    )


def _refuse_few(good: Flags, outputs: Float64, columns: SampleColumns) -> None:
    """CannotSayError for a run that teaches nothing, with what is missing in it."""
    rows, whole = columns.rows, ~columns.present("error_class")
    if int((good & (outputs > 1)).sum()) >= FEWEST:
        return
    lacking = {
        "ended in an error": ~whole,
        "have no time of a first token (whole answers, not streamed)": whole & ~columns.present("first_token_ns"),
        "have no count of tokens": whole & ~np.isfinite(outputs),
        "have no token in them": whole & (outputs < 1),
        "have one token, and so no time between two": good & (outputs == 1),
    }
    said = [f"{int(flags.sum())} {what}" for what, flags in lacking.items() if flags.any()]
    raise CannotSayError(
        f"calibration: found {int((good & (outputs > 1)).sum())} answers of {rows} with times and counts of two tokens "
        f"or more, expected at least {FEWEST}" + (f": {', '.join(said)}" if said else ""),
        next="a longer run of streamed answers, with usage records asked for",
    )


def evidence_of(answers: Answers, *, sd: float = EVIDENCE_SD) -> tuple[Evidence, ...]:
    """Blocks of answers as rows of the parameters in NAMES: token times, then first tokens that waited for nobody."""
    return (*_token_evidence(answers, sd), *_first_token_evidence(answers, sd))


def priors_of(answers: Answers) -> tuple[Prior, ...]:
    """Weak beliefs on the scale of what was seen: a step of half the mean token time, little for all else.

    Standard deviations of 1.5 and 2 in logarithms are factors of 4 and 7 either way: data decide, where they can.
    """
    steps = np.maximum(1.0, answers.output_tokens - 1)
    token_s = max(1e-9, float((answers.last_s - answers.first_s).sum() / steps.sum()))
    prompt = max(1.0, float(answers.input_tokens.mean()))
    return (
        Prior("step_s", token_s / 2, 1.5),
        Prior("sequence_s", token_s / 50, 2.0),
        Prior("context_token_s", token_s / 50 / prompt, 2.0),
        Prior("prompt_token_s", token_s / 50, 2.0),
        Prior("overhead_s", token_s / 2, 1.5),
    )


def piece_of(parameters: Sequence[float]) -> Piece:
    """The step of a row of parameters."""
    step_s, sequence_s, context_token_s, prompt_token_s = (float(value) for value in parameters[:4])
    return Piece(step_s=step_s, sequence_s=sequence_s, context_token_s=context_token_s, prompt_token_s=prompt_token_s)


def _token_evidence(answers: Answers, sd: float) -> list[Evidence]:
    a, lasting = answers, answers.last_s - answers.first_s
    use = (a.output_tokens > 1) & (lasting > 0)
    steps, span = a.output_tokens[use] - 1, lasting[use]
    sequences = _during(a.first_s, a.last_s, np.ones(len(use)), use) / span
    context = _during(a.first_s, a.last_s, a.weight, use) / span
    prompts = _arrived(a.first_s, a.computed_tokens, a.last_s[use]) - _arrived(
        a.first_s, a.computed_tokens, a.first_s[use]
    )
    rows = np.column_stack([steps, steps * sequences, steps * context, prompts, np.zeros(len(span))])
    return _blocks(rows, span, sequences, sd, "token times")


def _first_token_evidence(answers: Answers, sd: float) -> list[Evidence]:
    a = answers
    alone = _alone(a.sent_s, a.first_s)
    if not alone.any():
        return []
    sequences = _under_way(a.first_s, a.last_s, np.ones(len(alone)), a.sent_s[alone])
    context = _under_way(a.first_s, a.last_s, a.weight, a.sent_s[alone])
    factor = np.where(sequences > 0, 1.5, 1.0)
    rows = np.column_stack(
        [factor, factor * sequences, factor * context, a.computed_tokens[alone], np.ones(len(sequences))]
    )
    return _blocks(rows, (a.first_s - a.sent_s)[alone], a.computed_tokens[alone], sd, "first tokens")


def _blocks(rows: Float64, seen_s: Float64, key: Float64, sd: float, what: str) -> list[Evidence]:
    """Sums over about equally many rows of like key: still linear, and as one row each."""
    order = np.argsort(key, kind="stable")
    parts = np.array_split(order, min(BLOCKS, max(1, len(order) // 5)))
    found = []
    for part in parts:
        total = float(seen_s[part].sum())
        if total > 0:
            step, sequence, context, prompt, overhead = (float(value) for value in rows[part].sum(axis=0))
            text = f"{what} of {len(part)} answers"
            row = (step, sequence, context, prompt, overhead)
            found.append(Evidence(coefficients=row, seen_s=total, sd=sd, what=text))
    return found


def _during(starts: Float64, ends: Float64, weights: Float64, use: Flags) -> Float64:
    """For each used interval, the integral over it of the weights of all intervals under way."""
    return _integral(starts, ends, weights, ends[use]) - _integral(starts, ends, weights, starts[use])


def _integral(starts: Float64, ends: Float64, weights: Float64, at: Float64) -> Float64:
    """Up to each moment: sum of weight x (time since start), less what came after the end."""
    return _ramp(starts, weights, at) - _ramp(ends, weights, at)


def _ramp(begins: Float64, weights: Float64, at: Float64) -> Float64:
    """Sum of weight x (at - begin) over all that began."""
    return _arrived(begins, weights, at) * at - _arrived(begins, weights * begins, at)


def _under_way(starts: Float64, ends: Float64, weights: Float64, at: Float64) -> Float64:
    """Sum of the weights of the intervals that hold each moment."""
    return _arrived(starts, weights, at) - _arrived(ends, weights, at)


def _arrived(moments: Float64, weights: Float64, at: Float64) -> Float64:
    """Sum of the weights of all moments up to each of `at`, itself included."""
    order = np.argsort(moments, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return sums[np.searchsorted(moments[order], at, side="right")]


def _alone(sent_s: Float64, first_s: Float64) -> Flags:
    """Whose wait for a first token no other wait touched."""
    order = np.argsort(sent_s, kind="stable")
    sent, first = sent_s[order], first_s[order]
    latest = np.maximum.accumulate(first)
    clear_before = np.concatenate([[True], latest[:-1] < sent[1:]])
    clear_after = np.concatenate([first[:-1] < sent[1:], [True]])
    flags = np.zeros(len(order), dtype=np.bool_)
    flags[order] = clear_before & clear_after & np.isfinite(sent)
    return flags


def _first_known(one: Float64, other: Float64) -> Float64:
    return np.where(np.isfinite(one), one, other)
