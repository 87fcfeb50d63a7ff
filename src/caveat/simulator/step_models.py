"""Step models: the ways in which a model file says how long a step takes. Each becomes StepTime pieces.

pieces     as they are
measured   one affine piece, calibrated from samples, with draws of what is believed of it
fitted     the same with a line of its own for small batches, fitted by simulating the requests of measured runs
roofline   facts of an accelerator and a model, times multipliers, with draws of what is believed of them
table      measured steps of decoding: sequences, context tokens they read, seconds

Draws are written as numbers of four digits in one text for each parameter; the same place in each text is one draw.
"""

from __future__ import annotations

import itertools
import math
from typing import Annotated

import msgspec
import numpy as np

from caveat.errors import InputError
from caveat.simulator import measured
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.multipliers import NAMES, Float64, Multipliers, multipliers_of
from caveat.simulator.posterior import MOST_DRAWS, Posterior
from caveat.simulator.roofline import Roofline, step_time
from caveat.simulator.step_time import Piece, StepTime

MOST_ROWS = 10_000
_DIGITS = 4


class Draw(msgspec.Struct, frozen=True):
    """One possibility: a step time and the fixed time of a first token. None where the model says nothing of it."""

    step_time: StepTime
    overhead_s: float | None


class Pieces(msgspec.Struct, frozen=True, kw_only=True, tag="pieces", tag_field="kind", forbid_unknown_fields=True):
    """Step times as affine pieces, from wherever."""

    pieces: tuple[Piece, ...]

    def __post_init__(self) -> None:
        self.step_time()

    def step_time(self) -> StepTime:
        """The pieces."""
        return StepTime(pieces=self.pieces)

    def draws_of(self) -> tuple[Draw, ...]:
        """One: nothing is said of how sure it is."""
        return (Draw(self.step_time(), None),)


class MeasuredSteps(
    msgspec.Struct, frozen=True, kw_only=True, tag="measured", tag_field="kind", forbid_unknown_fields=True
):
    """One affine piece from samples, and draws of `measured.NAMES`; without draws nothing is said of how sure it is."""

    piece: Piece
    draws: dict[str, str] = {}

    def __post_init__(self) -> None:
        rows_of(self.draws, measured.NAMES)

    def step_time(self) -> StepTime:
        """Of the piece."""
        return StepTime(pieces=(self.piece,))

    def draws_of(self) -> tuple[Draw, ...]:
        """One for each draw."""
        rows = rows_of(self.draws, measured.NAMES)
        if not rows:
            return (Draw(self.step_time(), None),)
        return tuple(Draw(StepTime(pieces=(measured.piece_of(row),)), row[-1]) for row in rows)

    @classmethod
    def of(cls, posterior: Posterior) -> MeasuredSteps:
        """From a calibration."""
        return cls(piece=measured.piece_of(posterior.mode), draws=text_of(posterior))


class FittedSteps(
    msgspec.Struct, frozen=True, kw_only=True, tag="fitted", tag_field="kind", forbid_unknown_fields=True
):
    """Parameters of a `FitForm` from simulating measured runs, and draws of them. `small_below` 0: one line for all."""

    parameters: dict[str, float]
    small_below: int = 0
    draws: dict[str, str] = {}

    def __post_init__(self) -> None:
        names = self.form.names
        if set(self.parameters) != set(names):
            found = ", ".join(self.parameters)[:200]
            raise InputError(f"fitted.parameters: found {found}, expected {', '.join(names)}")
        rows_of(self.draws, names)
        self.step_time()

    @property
    def form(self) -> FitForm:
        """Of the step."""
        return FitForm(self.small_below)

    def step_time(self) -> StepTime:
        """Of the parameters themselves."""
        return self.form.step_time([self.parameters[name] for name in self.form.names])

    def draws_of(self) -> tuple[Draw, ...]:
        """One for each draw."""
        rows = rows_of(self.draws, self.form.names)
        if not rows:
            return (Draw(self.step_time(), None),)
        return tuple(Draw(self.form.step_time(row), self.form.overhead_s(row)) for row in rows)


class RooflineSteps(
    msgspec.Struct, frozen=True, kw_only=True, tag="roofline", tag_field="kind", forbid_unknown_fields=True
):
    """A replica of the fact tables with multipliers, and draws of `multipliers.NAMES`; without draws nothing is said
    of how sure they are."""

    replica: Roofline
    multipliers: Multipliers
    draws: dict[str, str] = {}

    def __post_init__(self) -> None:
        rows_of(self.draws, NAMES)

    def step_time(self) -> StepTime:
        """Of the multipliers themselves. CannotSayError where a fact is missing."""
        return step_time(self.replica.basis(), self.multipliers)

    def draws_of(self) -> tuple[Draw, ...]:
        """One for each draw."""
        rows, basis = rows_of(self.draws, NAMES), self.replica.basis()
        if not rows:
            return (Draw(self.step_time(), None),)
        return tuple(Draw(step_time(basis, multipliers_of(row)), row[-1]) for row in rows)

    @classmethod
    def of(cls, replica: Roofline, posterior: Posterior) -> RooflineSteps:
        """From a calibration."""
        return cls(replica=replica, multipliers=posterior.multipliers, draws=text_of(posterior))


Cell = tuple[Annotated[int, msgspec.Meta(ge=1)], Annotated[int, msgspec.Meta(ge=0)], float]
"""Decoding sequences, context tokens that they read together, seconds of the step."""


class Table(msgspec.Struct, frozen=True, kw_only=True, tag="table", tag_field="kind", forbid_unknown_fields=True):
    """Measured steps. Between neighbouring numbers of sequences one plane a + c n + d context is laid through both.

    What a prompt token costs cannot be read from decoding steps and must be given.
    """

    steps: tuple[Cell, ...]
    prompt_token_s: float
    prompt_pair_s: float = 0.0

    def __post_init__(self) -> None:
        if not 2 <= len(self.steps) <= MOST_ROWS:
            raise InputError(f"table.steps: found {len(self.steps)} steps, expected from 2 to {MOST_ROWS:,}")
        for place, (_, _, seconds) in enumerate(self.steps):
            if not (math.isfinite(seconds) and seconds > 0):
                raise InputError(f"table.steps[{place}]: found {seconds} s, expected a time above 0")
        self.step_time()

    def step_time(self) -> StepTime:
        """A piece between each two neighbours, from 0; the last goes on for ever."""
        counts = sorted({n for n, _, _ in self.steps})
        spans = list(itertools.pairwise(counts)) or [(counts[0], counts[0])]
        starts = [0, *(low for low, _ in spans[1:])]
        return StepTime(pieces=tuple(self._plane(start, *span) for start, span in zip(starts, spans, strict=True)))

    def draws_of(self) -> tuple[Draw, ...]:
        """One: the table is taken as it is."""
        return (Draw(self.step_time(), None),)

    def _plane(self, start: int, low: int, high: int) -> Piece:
        """The plane through the steps of both ends that misses them least by share, no coefficient below 0."""
        from scipy.optimize import nnls

        cells = np.array([cell for cell in self.steps if cell[0] in (low, high)], dtype=float)
        design = np.column_stack([np.ones(len(cells)), cells[:, 0], cells[:, 1]]) / cells[:, 2:]
        size = design.max(axis=0)
        size[size == 0] = 1.0
        step_s, sequence_s, context_token_s = nnls(design / size, np.ones(len(cells)))[0] / size
        return Piece(
            from_tokens=start,
            step_s=float(step_s),
            sequence_s=float(sequence_s),
            context_token_s=float(context_token_s),
            prompt_token_s=self.prompt_token_s,
            prompt_pair_s=self.prompt_pair_s,
        )


StepModel = Pieces | MeasuredSteps | FittedSteps | RooflineSteps | Table


def rows_of(draws: dict[str, str], names: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
    """The draws, each in the order of the names; none where there are no texts. InputError says which text is wrong."""
    if not draws:
        return ()
    if set(draws) != set(names):
        raise InputError(f"draws: found {', '.join(draws)[:200]}, expected {', '.join(names)}")
    columns = [_numbers(name, draws[name]) for name in names]
    if len({len(column) for column in columns}) > 1:
        found = {name: len(column) for name, column in zip(names, columns, strict=True)}
        raise InputError(f"draws: found {found} numbers, expected as many of each")
    return tuple(zip(*columns, strict=True))


def text_of(posterior: Posterior) -> dict[str, str]:
    """The draws of a posterior as they are written."""
    return written(posterior.names, posterior.table())


def written(names: tuple[str, ...], draws: Float64) -> dict[str, str]:
    """Draws (rows of parameters in the order of the names) as texts, one for each parameter."""
    columns = zip(names, draws.T, strict=True)
    return {name: " ".join(f"{value:.{_DIGITS}g}" for value in column) for name, column in columns}


def _numbers(name: str, text: str) -> tuple[float, ...]:
    words = text.split(maxsplit=MOST_DRAWS)
    if not 1 <= len(words) <= MOST_DRAWS:
        raise InputError(f"draws.{name}: found {len(words)} numbers, expected from 1 to {MOST_DRAWS:,}")
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        raise InputError(f"draws.{name}: found text that is no number, expected numbers with blanks between") from None
    wrong = next((value for value in values if not (math.isfinite(value) and value > 0)), None)
    if wrong is not None:
        raise InputError(f"draws.{name}: found {wrong}, expected numbers above 0")
    return values
