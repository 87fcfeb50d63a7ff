"""A bare claim, as somebody writes it on a slide: `106,517 tokens/s`, `1.04M tok/s`, `640 ms`."""

from __future__ import annotations

import math
import re

from caveat.errors import UsageError
from caveat.publish.text import cut
from caveat.units import Unit

# Groups of three digits, or none: `1,04` is a decimal comma somewhere and must not become 104.
_CLAIM = re.compile(
    r"\s*(?P<number>(?:[0-9]{1,3}(?:[,_' ][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)"
    r"\s*(?P<scale>[kKmM](?=\s*(?:output|tok|tps|t/s|sample|quer|qps|req|rps))|[kKM](?=\s*$)|)"
    r"\s*(?P<unit>[^\s0-9.,_'+-][^\n]*?)?\s*"
)
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6}
_PER_ACCELERATOR = re.compile(r"(/|\bper\b)\s*(gpu|chip|accelerator|card|device|xpu|tpu|npu)")
_A_SECOND = r"(\s*(/|\bper\b)\s*(s|sec|seconds?))?"
# The whole word in lower case, how many of our unit it is, and our unit. Nothing is taken for what it resembles:
# tokens a minute are no tokens a second.
_UNITS: tuple[tuple[str, float, str], ...] = (
    (r"", 1.0, ""),
    (rf"(output )?tok(en)?s?{_A_SECOND}|tps|t/s", 1.0, Unit.TOKENS_PER_SECOND),
    (rf"(samples?|quer(y|ies)){_A_SECOND}|qps", 1.0, Unit.SAMPLES_PER_SECOND),
    (rf"req(uest)?s?{_A_SECOND}|rps", 1.0, Unit.REQUESTS_PER_SECOND),
    (r"ms|milliseconds?", 1e-3, Unit.SECOND),
    (r"s|sec|seconds?", 1.0, Unit.SECOND),
)


def parse_claim(value: str) -> tuple[float, str]:
    """`106,517 tokens/s` as (106517.0, '{token}/s'), `1.04M tok/s`, `640 ms`; without a unit any may be meant.

    UsageError where no number can be read, the unit is none of ours, or the rate was divided by accelerators: such a
    number is derived, and the figure that it was derived from cannot be found without the count.
    """
    found = _CLAIM.fullmatch(value)
    number = float(re.sub(r"[,_' ]", "", found["number"])) * _SCALES[found["scale"].lower()] if found else math.nan
    if found is None or not math.isfinite(number):
        raise _unreadable(value, "a number with its unit")
    words = (found["unit"] or "").lower()
    if _PER_ACCELERATOR.search(words):
        raise UsageError(
            f"--value: found a rate per accelerator ({value!r}), expected that of the whole system",
            next="multiply by the count that was divided by, or ask for both numbers",
        )
    factor, unit = next(((f, u) for pattern, f, u in _UNITS if re.fullmatch(pattern, words)), (None, ""))
    if factor is None:
        raise _unreadable(value, "tokens/s, samples/s, requests/s, s or ms as its unit")
    return number * factor, unit


def _unreadable(value: str, expected: str) -> UsageError:
    return UsageError(f"--value: found {cut(value, 60)!r}, expected {expected}", next="--value '106517 tokens/s'")
