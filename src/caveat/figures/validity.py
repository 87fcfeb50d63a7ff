"""Validity is a vector: one entry for each thing that could make a figure untrue, never one boolean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from caveat.errors import DocumentError

Outcome = Literal["pass", "fail", "unknown", "not applicable"]

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
    "client health": "the load generator was not the bottleneck",
    "cache state": "no request was answered from a warm cache that the conditions do not mention",
    "consistency": "the numbers of the run agree with each other",
    "sources agree": "all sources of the run say the same",
    "schedule": "the arrivals are those that the seed gives",
    "review": "the result was reviewed by the publisher's process",
}


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry. `sentence` says it for people; `metrics` limits it to these metric keys (empty: all of them)."""

    aspect: str
    outcome: Outcome
    sentence: str = ""
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.aspect not in ASPECTS:
            raise DocumentError(f"no validity aspect is called {self.aspect!r}", next="see figures/validity.py")

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
