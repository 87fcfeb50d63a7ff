"""Parameters: what the draws of a model say of each of its parameters, and how sure they are."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from caveat.simulator.capacity import interval_of
from caveat.simulator.model_file import Model


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter: the median of its draws with their 80 % range. `factor` is how far the ends lie from it, as a
    factor either way: 1 is known exactly.
    """

    name: str
    median: float
    low: float
    high: float
    draws: tuple[float, ...]

    @property
    def factor(self) -> float:
        """The square root of high / low."""
        return math.sqrt(self.high / self.low)

    def correlation(self, other: Parameter) -> float:
        """Of the logarithms of two parameters over their draws; 0 where one of them does not vary."""
        one, two = np.log(self.draws), np.log(other.draws)
        if one.std() == 0 or two.std() == 0:
            return 0.0
        return float(np.corrcoef(one, two)[0, 1])


def parameters_of(model: Model) -> tuple[Parameter, ...]:
    """The parameters that the model has draws of; none where it says nothing of how sure it is."""
    texts: dict[str, str] = getattr(model.step_time, "draws", {})
    return tuple(_parameter(name, tuple(float(word) for word in text.split())) for name, text in texts.items())


def _parameter(name: str, draws: tuple[float, ...]) -> Parameter:
    found = interval_of(draws)
    return Parameter(name=name, median=found.median, low=found.low, high=found.high, draws=draws)
