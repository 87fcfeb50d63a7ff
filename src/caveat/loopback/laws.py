"""Laws: how a delay or a length varies from request to request, and the uniform numbers behind it.

A number is a pure function of a seed and a place (which request, which token), so a test can work out beforehand
what the server is going to do, in whatever order requests arrive.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from statistics import NormalDist

import msgspec

from caveat.errors import InputError

_NORMAL = NormalDist()
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


class Fixed(msgspec.Struct, frozen=True, tag_field="law", tag="fixed", forbid_unknown_fields=True):
    """Always the same value."""

    value: float = 0.0

    def __post_init__(self) -> None:
        _not_negative("value", self.value)


class Exponential(msgspec.Struct, frozen=True, tag_field="law", tag="exponential", forbid_unknown_fields=True):
    """Memoryless, with this mean."""

    mean: float

    def __post_init__(self) -> None:
        _not_negative("mean", self.mean)


class Lognormal(msgspec.Struct, frozen=True, tag_field="law", tag="lognormal", forbid_unknown_fields=True):
    """exp of a normal: half of the values are below `median`, and `sigma` is the deviation of the logarithm."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        _not_negative("median", self.median)
        _not_negative("sigma", self.sigma)


Law = Fixed | Exponential | Lognormal

# how a law is written, and what makes it of the numbers between the brackets
_WRITTEN: dict[str, tuple[Callable[..., Law], int]] = {
    "fixed": (Fixed, 1),
    "exponential": (Exponential, 1),
    "lognormal": (Lognormal, 2),
}


def parse_law(text: str | float) -> Law:
    """The law written as `0.1`, `fixed(0.1)`, `exponential(0.1)` or `lognormal(0.1, 0.5)`.

    Raises InputError for anything else.
    """
    if isinstance(text, int | float):
        return Fixed(float(text))
    name, numbers = _taken_apart(text)
    make, count = _WRITTEN.get(name, (Fixed, -1))
    if len(numbers) != count:
        raise InputError(
            f"law: found {text[:80]!r}, expected a number, exponential(mean) or lognormal(median, sigma)",
            next="write for example lognormal(0.1, 0.5): a median of 0.1 and a spread of 0.5 in the logarithm",
        )
    return make(*numbers)


def draw(law: Law, uniform: float) -> float:
    """The value of the law below which the share `uniform` (between 0 and 1, neither of them) of all values lies."""
    if isinstance(law, Fixed):
        return law.value
    if isinstance(law, Exponential):
        return -law.mean * math.log1p(-uniform)
    return law.median * math.exp(law.sigma * _NORMAL.inv_cdf(uniform))


def uniform(seed: int, *place: int) -> float:
    """A number between 0 and 1, never either, that depends on the seed and the place and on nothing else.

    The mixing step is that of SplitMix64 (Steele, Lea and Flood, 2014), run over the seed and each part of the place.
    """
    state = _mixed(seed & _MASK)
    for part in place:
        state = _mixed((state ^ (part & _MASK)) + _GOLDEN)
    return ((state >> 12) + 0.5) * 2.0**-52


def _mixed(state: int) -> int:
    state = (state + _GOLDEN) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def _taken_apart(text: str) -> tuple[str, list[float]]:
    """Name and numbers of `name(1, 2)`; a bare number is fixed."""
    match = re.fullmatch(r"\s*(?:([a-z]+)\s*\((.*)\)|(.*))\s*", text)
    if match is None:
        return "", []
    name, inside, bare = match.groups()
    try:
        return name or "fixed", [float(part) for part in (inside if name else bare).split(",")]
    except ValueError:
        return "", []


def _not_negative(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"law: {name}: found {value}, expected a finite number that is not negative")
