"""StepTime: how long one iteration of a replica takes, piecewise affine in what is in the batch.

Affine pieces let a run of decode steps be summed in closed form. The roofline of a model and a measured table both
become pieces. Form: the step times of DistServe, BLIS and llm-d are of this kind.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right

import msgspec

from caveat.errors import InputError

_MOST = 1e6  # seconds: beyond any step, within any clock


class Piece(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One affine piece; it holds from so many tokens in the batch (decoding sequences + prompt tokens computed).

    step_s                a step with nothing in it: weights, layers, launch
    prompt_token_s        each prompt token computed
    prompt_pair_s         each pair of a computed prompt token and a token before it that it attends to
    sequence_s            each decoding sequence
    context_token_s       each token of context that a decoding sequence reads
    """

    from_tokens: int = 0
    step_s: float = 0.0
    prompt_token_s: float = 0.0
    prompt_pair_s: float = 0.0
    sequence_s: float = 0.0
    context_token_s: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not 0 <= value <= _MOST:
                raise InputError(f"step time: {name}: found {value}, expected a number from 0 to {_MOST:g}")


class StepTime(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Pieces in ascending order of `from_tokens`, the first from 0."""

    pieces: tuple[Piece, ...]

    def __post_init__(self) -> None:
        starts = [piece.from_tokens for piece in self.pieces]
        if not starts or starts[0] != 0 or any(a >= b for a, b in itertools.pairwise(starts)):
            raise InputError(
                f"step time: found pieces from {starts} tokens, expected an ascending list that begins with 0"
            )

    def piece(self, tokens: int) -> Piece:
        """The piece for so many tokens in the batch."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        return self.pieces[bisect_right(self.pieces, tokens, key=_from_tokens) - 1]

    def seconds(
        self, *, sequences: int, context_tokens: int, prompt_tokens: int = 0, prompt_pairs: float = 0.0
    ) -> float:
        """One step with so many decoding sequences that read so much context, and so many prompt tokens."""
        piece = self.piece(sequences + prompt_tokens)
        return (
            piece.step_s
            + piece.prompt_token_s * prompt_tokens
            + piece.prompt_pair_s * prompt_pairs
            + piece.sequence_s * sequences
            + piece.context_token_s * context_tokens
        )


def _from_tokens(piece: Piece) -> int:
    return piece.from_tokens
