"""What an accuracy run has to reach: the user's own thresholds, or those of a benchmark in a round."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from caveat.errors import CannotSayError, UsageError
from caveat.facts import accuracy_thresholds, tokens_per_sample_range
from caveat.measure.scoring import BY_NAME, kind_named

_OWN = "asked for by the user"
_NOT_OFFICIAL = "this is an own measurement, not a result of the suite"
# The checker's keys, and which of our scores is computed in the same way. The others (also the suite's exact match,
# which knows mathematics and runs code) are judged by evaluations of their own.
_CHECKER_KEYS = {
    "rouge1": "rouge1",
    "rouge2": "rouge2",
    "rougeL": "rougeL",
    "rougeLsum": "rougeLsum-punkt",
}
_THRESHOLD = re.compile(r"\s*([A-Za-z0-9_-]{1,40})\s*>=\s*([0-9]{1,12}(?:\.[0-9]{1,12})?)\s*%?\s*")


class Threshold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A demand: `score` (a name of scoring.KINDS, or a key that we cannot score) at least so many percent."""

    score: str
    at_least: float
    source: str = _OWN

    def __post_init__(self) -> None:
        if not 0 <= self.at_least <= 100:
            raise UsageError(f"threshold: {self.score[:40]}: found {self.at_least}, expected 0 to 100 percent")


class Demands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an accuracy run has to reach. `tokens_range` bounds the mean output tokens of an answer (low, high)."""

    thresholds: tuple[Threshold, ...] = ()
    tokens_range: tuple[float, float] | None = None
    tokens_source: str = _OWN

    def __post_init__(self) -> None:
        for name, times in Counter(one.score for one in self.thresholds).items():
            if times > 1:
                raise UsageError(f"accuracy: found {times} thresholds for {name}, expected one")
        if self.tokens_range is not None and not 0 <= self.tokens_range[0] <= self.tokens_range[1]:
            raise UsageError(f"tokens per sample: found {self.tokens_range}, expected a lower and an upper bound")


def parse_threshold(text: str) -> Threshold:
    """`rouge1>=38.4` as a threshold in percent. UsageError for anything else."""
    found = _THRESHOLD.fullmatch(text)
    if found is None or not 0 <= float(found[2]) <= 100:
        raise UsageError(
            f"threshold: found {text[:60]!r}, expected a score and percent like 'rouge1>=38.4'",
            next=f"scores are {', '.join(BY_NAME)}",
        )
    return Threshold(kind_named(found[1]).name, float(found[2]))


def demands_of(benchmark: str, round_name: str, scenario: str | None = None) -> Demands:
    """What the rules of a round demand of a benchmark's accuracy run. CannotSayError where it is not in the round."""
    found = accuracy_thresholds(benchmark, round_name, scenario)
    if found is None:
        raise CannotSayError(
            f"accuracy: no thresholds are known for {benchmark[:60]!r} in {round_name[:20]!r}",
            next="give your own: rouge1>=38.4",
        )
    source = f"threshold of {benchmark} in round {round_name}; {_NOT_OFFICIAL}"
    named = {_CHECKER_KEYS.get(key, f"{key} of the suite"): least for key, least in found.items()}
    return Demands(
        thresholds=tuple(Threshold(name, least, source) for name, least in named.items()),
        tokens_range=tokens_per_sample_range(benchmark, round_name, scenario),
        tokens_source=f"range of {benchmark} in round {round_name}",
    )
