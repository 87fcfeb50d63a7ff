"""The forms of a step that a fit tries: one affine piece, or another line for small batches.

Some engines compute batches of a few tokens one by one and larger ones together (matrix-vector kernels on a CPU), so
that a step of 2 costs twice a step of 1, and one of 8 hardly more than one of 4. No single line goes through that.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from caveat.errors import InputError
from caveat.simulator import measured
from caveat.simulator.multipliers import Float64, Prior
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.step_time import StepTime

SMALL_NAMES: tuple[str, ...] = ("small_step_s", "small_sequence_s")
"""Parameters of steps with fewer tokens than `small_below`, beside those of all others."""

SMALL_BELOW: tuple[int, ...] = (2, 3, 4, 5, 6, 8)
"""Where a second line is tried."""


MOST_SMALL = 1 << 20


class FitForm(msgspec.Struct, frozen=True):
    """`small_below` tokens in the batch a step follows a line of its own; 0: one line for all."""

    small_below: int = 0

    def __post_init__(self) -> None:
        if self.small_below != 0 and not 2 <= self.small_below <= MOST_SMALL:
            raise InputError(f"small_below: found {self.small_below}, expected 0 or from 2 to {MOST_SMALL:,}")

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in their order; the overhead comes last."""
        steps, overhead = measured.NAMES[:-1], measured.NAMES[-1:]
        return (*steps, *(SMALL_NAMES if self.small_below else ()), *overhead)

    def step_time(self, parameters: Sequence[float] | Float64) -> StepTime:
        """The step of a row of parameters in the order of `names`."""
        large = measured.piece_of([float(value) for value in parameters[:4]])
        if not self.small_below:
            return StepTime(pieces=(large,))
        small = msgspec.structs.replace(large, step_s=float(parameters[4]), sequence_s=float(parameters[5]))
        return StepTime(pieces=(small, msgspec.structs.replace(large, from_tokens=self.small_below)))

    def bend(self, parameters: Sequence[float] | Float64) -> float:
        """How far the line for small batches is from that of all others at one sequence, as a share of the latter."""
        if not self.small_below:
            return 0.0
        small, large = (float(parameters[at] + parameters[at + 1]) for at in (4, 0))
        return abs(small / large - 1.0)

    def overhead_s(self, parameters: Sequence[float] | Float64) -> float:
        """Of a row of parameters."""
        return float(parameters[-1])

    def priors(self, common: Sequence[Prior]) -> tuple[Prior, ...]:
        """The common beliefs, with those of small batches: the same, and weak."""
        if not self.small_below:
            return tuple(common)
        step, sequence = common[0], common[1]
        small = (Prior(SMALL_NAMES[0], step.median, step.sd), Prior(SMALL_NAMES[1], sequence.median, sequence.sd))
        return (*common[:-1], *small, common[-1])


def scheduler_with(scheduler: Scheduler, overhead_s: float) -> Scheduler:
    """The scheduler with this fixed time before a request is scheduled."""
    return msgspec.structs.replace(scheduler, intake_s=overhead_s)
