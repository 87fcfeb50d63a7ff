"""What a fit leaves unexplained, kept in the model: of single requests, and of whole runs.

A request's noise is what its time is off beyond chance that the model has itself (where in a step it came). A run's is
how far halves of the calibration runs are off together, with a prior that counts as four halves: other conditions
differ from the model by more than two runs can show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caveat.simulator.fit_problem import Part
from caveat.simulator.fit_search import Found, Smooth
from caveat.simulator.model_file import Residual
from caveat.simulator.multipliers import Float64

CONDITION_SD = 0.08
"""Believed of the token times of an endpoint under other conditions, before anything is seen: about 10 % either way."""
BELIEVED_AS = 4
MOST_SD = 1.0


def residual_of(found: Found, smooth: Smooth) -> Residual:
    """Standard deviations of logarithms. Where no run could be compared request by request, single requests get what
    the model's own spread lacks of the one seen."""
    pieces = list(_pieces(found.parts, smooth))
    return Residual(
        condition_sd=_condition_sd([missed for part, missed, _ in pieces if part.kind == "token_s"]),
        ttft_sd=_noise_sd(found, pieces, "ttft_s"),
        token_sd=_noise_sd(found, pieces, "token_s"),
    )


def _pieces(parts: Sequence[Part], smooth: Smooth) -> list[tuple[Part, Float64, Float64]]:
    """(part, what it missed, the model's own chance in it)."""
    ends = np.cumsum([len(part) for part in parts])
    return [
        (part, smooth.missed[end - len(part) : end], smooth.sd[end - len(part) : end])
        for part, end in zip(parts, ends, strict=True)
    ]


def _noise_sd(found: Found, pieces: Sequence[tuple[Part, Float64, Float64]], kind: str) -> float:
    aligned = [(missed, sd) for part, missed, sd in pieces if part.kind == kind and part.aligned]
    return _request_sd(aligned) if aligned else _lacking_sd(found, kind)


def _lacking_sd(found: Found, kind: str) -> float:
    """What noise the modelled times want to be as wide as those seen, in the run that wants least."""
    lacking = []
    for run, times in zip(found.problem.runs, found.problem.times(found.theta), strict=True):
        both = np.array([getattr(run.seen, kind), getattr(times, kind)])
        seen, model = np.log(both[:, (np.isfinite(both) & (both > 0)).all(axis=0)])
        if len(seen):
            lacking.append(_spread(seen) ** 2 - _spread(model) ** 2)
    return min(MOST_SD, float(np.sqrt(max(0.0, min(lacking, default=0.0)))))


def _request_sd(runs: Sequence[tuple[Float64, Float64]]) -> float:
    """From the calmest run: in others a request is also off because those before it were."""
    found = [_spread(missed) ** 2 - float(np.mean(np.square(sd))) for missed, sd in runs]
    return min(MOST_SD, float(np.sqrt(max(0.0, min(found)))))


def _spread(values: Float64) -> float:
    """Half of what lies between the 16th and the 84th percentile: a standard deviation that outliers do not make."""
    low, high = np.percentile(values, [16, 84])
    return float(high - low) / 2


def _condition_sd(runs: Sequence[Float64]) -> float:
    halves = [float(np.median(half)) for missed in runs for half in np.array_split(missed, 2) if len(half)]
    total = BELIEVED_AS * CONDITION_SD**2 + sum(np.square(halves))
    return min(MOST_SD, float(np.sqrt(total / (BELIEVED_AS + len(halves)))))
