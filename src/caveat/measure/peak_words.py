"""The answer of a peak search in plain sentences, and as the object that `--json` prints."""

from __future__ import annotations

import dataclasses
from typing import Any

from caveat.measure.peak_records import Ending, Peak
from caveat.units import format_seconds

FORMAT = "caveat-peak/1"

_ENDINGS: dict[Ending, str] = {
    "narrow enough": "The search ended because the interval is as narrow as was asked for.",
    "budget spent": "The search ended because its budget was spent: the interval is what it is.",
    "client-limited": "The search ended because the client, not the server, was the limit at higher rates.",
    "ceiling reached": "The search ended because the highest rate that may be asked still met the limit.",
}


def peak_sentences(peak: Peak) -> tuple[str, ...]:
    """The answer, why it ended, what is certified, what it cost, and what was odd. One sentence or two a line."""
    return (_answer(peak), _ENDINGS[peak.ending], _certified(peak), _cost(peak), *peak.notes)


def _answer(peak: Peak) -> str:
    allowed = f"at most {100 * peak.goal.share:.4g} % of requests over the limit"
    if peak.high_qps is None:
        return f"The peak with {allowed} is at least {peak.low_qps:.4g} requests/s: it was not found."
    if peak.rate_qps is None:
        return (
            f"The peak with {allowed} is not found: {peak.low_qps:.4g} requests/s looked slow enough and "
            f"{peak.high_qps:.4g} too fast in short probes, which is no interval."
        )
    return (
        f"The peak with {allowed} is {peak.rate_qps:.4g} requests/s, {100 * peak.goal.confidence:.4g} % interval "
        f"{peak.low_qps:.4g} to {peak.high_qps:.4g}."
    )


def _certified(peak: Peak) -> str:
    row = peak.certified
    if row is None:
        tried = any(probe.purpose == "confirm" for probe in peak.probes)
        return "No rate was certified." if tried else "No rate was certified: no run of full length was made."
    return (
        f"Certified by early stopping at 99 %: {row.rate_qps:.4g} requests/s, {row.over:,} of {row.queries:,} over the "
        f"limit{f', run {row.run}' if row.run else ''}; it lies below the peak by construction."
    )


def _cost(peak: Peak) -> str:
    search = f"The search took {peak.queries:,} queries in {format_seconds(peak.seconds)}"
    if not peak.confirm_queries:
        return f"{search}."
    return f"{search}, confirming {peak.confirm_queries:,} in {format_seconds(peak.confirm_s)}."


def peak_json(peak: Peak) -> dict[str, Any]:
    """The whole answer; a rate that was not found is null. `review` says that nobody but us has looked at it."""
    return {
        "format": FORMAT,
        "review": "unverified",
        **dataclasses.asdict(peak),
        "width": peak.width,
        "sentences": list(peak_sentences(peak)),
    }
