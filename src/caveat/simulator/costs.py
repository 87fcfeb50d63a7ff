"""StepCost: a StepTime in whole femtoseconds, with the cost of drafting."""

from __future__ import annotations

from bisect import bisect_right
from math import sqrt

from caveat.simulator.instants import fs_from_s
from caveat.simulator.scheduler import Speculation
from caveat.simulator.step_time import StepTime

Coefficients = tuple[int, int, int, int, int]
"""Femtoseconds of a step, a prompt token, a pair, a decoding sequence (its draft with it), a token of context, with
which every token of a draft makes a pair."""


class StepCost:
    """Coefficients by the number of tokens in the batch. `only` is set where they are the same for any batch."""

    __slots__ = ("_pieces", "_starts", "only", "width")

    def __init__(self, step_time: StepTime, speculation: Speculation | None) -> None:
        draft = speculation.draft_tokens if speculation else 0
        step_fs = fs_from_s(speculation.draft_step_s) if speculation else 0
        sequence_fs = fs_from_s(speculation.draft_sequence_s) if speculation else 0
        self.width = 1 + draft
        self._starts = [piece.from_tokens for piece in step_time.pieces]
        self._pieces: list[Coefficients] = []
        for piece in step_time.pieces:
            token_fs = fs_from_s(piece.prompt_token_s)
            self._pieces.append(
                (
                    fs_from_s(piece.step_s) + step_fs,
                    token_fs,
                    fs_from_s(piece.prompt_pair_s),
                    fs_from_s(piece.sequence_s) + sequence_fs + draft * token_fs,
                    fs_from_s(piece.context_token_s) + draft * fs_from_s(piece.prompt_pair_s),
                )
            )
        self.only = self._pieces[0] if len(self._pieces) == 1 else None

    def of(self, tokens: int) -> Coefficients:
        """The coefficients for so many tokens in the batch."""
        return self.only or self._pieces[bisect_right(self._starts, tokens) - 1]


def steps_reaching(fs: int, first_fs: int, growth_fs: int) -> int:
    """The fewest steps, at least one, that take `fs` or longer, where each takes `growth_fs` longer than the one
    before: the root of k first + growth k (k - 1) / 2 = fs, found in floats and made exact in integers."""
    slope = first_fs - growth_fs / 2
    root = 2.0 * fs / (slope + sqrt(slope * slope + 2.0 * growth_fs * fs))
    k = max(1, int(root))
    while k * first_fs + growth_fs * (k * (k - 1) // 2) < fs:
        k += 1
    while k > 1 and (k - 1) * first_fs + growth_fs * ((k - 1) * (k - 2) // 2) >= fs:
        k -= 1
    return k
