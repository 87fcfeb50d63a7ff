"""Validity is a vector: one entry for each thing that could make a figure untrue, never one boolean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from caveat.errors import DocumentError
from caveat.figures.kinds import shortened
from caveat.figures.metrics import METRICS

Outcome = Literal["pass", "fail", "unknown", "not applicable"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

# aspect, what it asks. A new aspect is one new line.
ASPECTS: dict[str, str] = {
    "harness verdict": "the harness called the run valid",
    "latency limits": "the latency constraints were met",
    "early stopping (TTFT)": "enough queries to certify the TTFT percentile",
    "early stopping (TPOT)": "enough queries to certify the TPOT percentile",
    "early stopping": "enough queries to certify the percentile",
    "minimum duration": "the run lasted as long as the rules ask",
    "minimum queries": "the run issued as many queries as the rules ask",
    "errors": "the harness logged no error",
    "error rate": "no more requests failed than the rules allow",
    "output length": "the mean output length lies in the range that the rules ask",
    "accuracy": "the accuracy run reached the target",
    "length match": "the achieved lengths are those that were asked for",
    "arrivals": "requests were sent when the plan wanted them",
    "completion": "the plan was carried out to its end",
    "steady state": "requests under way did not grow for as long as requests came, and a warm-up ended",
    "client health": "the load generator was not the bottleneck",
    "cache state": "no request was answered from a warm cache that the conditions do not mention",
    "consistency": "the numbers of the run agree with each other",
    "sources agree": "all sources of the run say the same",
    "model range": "a simulated workload lies in the range in which its model was validated",
    "load fraction": "the modelled load is low enough for waiting to be told",
    "schedule": "the arrivals are those that the seed gives",
    "review": "the result was reviewed by the publisher's process",
}


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One entry. `sentence` says it for people; `metrics` limits it to these metric keys (empty: all of them).

    Raises DocumentError for an aspect, an outcome or a metric that has no line in its table.
    """

    aspect: str
    outcome: Outcome
    sentence: str = ""
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.aspect not in ASPECTS:
            raise DocumentError(
                f"validity: found aspect {shortened(self.aspect)}, expected one of {', '.join(ASPECTS)}",
                next="see figures/validity.py",
            )
        if self.outcome not in OUTCOMES:
            found = shortened(self.outcome)
            raise DocumentError(f"validity: {self.aspect}: found {found}, expected one of {', '.join(OUTCOMES)}")
        for key in self.metrics:
            if key not in METRICS:
                raise DocumentError(
                    f"validity: {self.aspect}: found metric {shortened(key)}, expected the key of a defined metric",
                    next="see docs/metrics.md",
                )

    def concerns(self, metric_key: str) -> bool:
        """Whether the entry says something about this metric."""
        return not self.metrics or metric_key in self.metrics


def concerning(validity: Iterable[Check], metric_key: str) -> tuple[Check, ...]:
    """The entries that say something about one metric."""
    return tuple(entry for entry in validity if entry.concerns(metric_key))


def outcome(validity: Iterable[Check], metric_key: str) -> Outcome:
    """The worst of the entries for one metric: fail > unknown > pass. Without any entry it is unknown.

    "not applicable" entries do not count.
    """
    outcomes = {entry.outcome for entry in concerning(validity, metric_key)} - {"not applicable"}
    if "fail" in outcomes:
        return "fail"
    return "pass" if outcomes == {"pass"} else "unknown"
