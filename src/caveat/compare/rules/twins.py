"""Rule: two figures are two measurements, not one run in two places."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.pairs import benchmark_base
from caveat.compare.slack import gap
from caveat.figures import Figure

RULE = "twins"

_SIX_DIGITS = 1e-5  # relative: tables print six significant digits, the log of the same run more
_PLACE = ("submitter", "platform", "round", "division", "scenario")


def twins(left: Figure, right: Figure) -> Iterator[Finding]:
    """One run beside itself has a ratio of one by construction.

    ## What it asks

    The figures come from two runs: not one document twice, not two documents of one subject, not one log that
    was filed under two accuracy tracks.

    ## Why

    Most systems that meet the stricter accuracy track file the same run on both. Two equal numbers then look
    like a confirmation, and averages over rows count the run twice.

    ## What to do instead

    Count the run once, on the stricter track.

    ## Undisclosed

    Logs are told apart by their fingerprints. Where logs were not seen, equal values of one system on two
    tracks are taken as one run.

    ## Source

    The published logs: equal fingerprints of rows on two tracks.
    """
    how = same_run(left, right)
    if not how or left.metric.key != right.metric.key:
        return
    yield Finding(
        rule=RULE,
        severity="comparable-with-caveats",
        message=f"Both figures are one run ({how}): {left.short_id} on the left, {right.short_id} on the right. "
        "A ratio of one follows from that and says nothing about the systems.",
        left=left.short_id,
        right=right.short_id,
        remedy="count the run once; compare it with another run",
    )


def same_run(left: Figure, right: Figure) -> str:
    """How two figures are known to come from one run; empty where they are not known to."""
    if left.run.id == right.run.id:
        return "one document"
    if left.run.subject == right.run.subject:
        return "two documents of one subject"
    prints = [side.conditions.words("fingerprint") for side in (left, right)]
    if None not in prints:
        return "one log" if prints[0] == prints[1] else ""
    return "equal values of one system on two tracks" if _filed_twice(left, right) else ""


def _filed_twice(left: Figure, right: Figure) -> bool:
    mine, theirs = left.conditions, right.conditions
    tracks = {mine.words("accuracy_track"), theirs.words("accuracy_track")}
    bases = {benchmark_base(c.words("benchmark") or "") for c in (mine, theirs)}
    return (
        None not in tracks
        and len(tracks) == 2
        and len(bases) == 1
        and all(mine.words(key) is not None and mine.words(key) == theirs.words(key) for key in _PLACE)
        and left.metric.key == right.metric.key
        and gap(left.row.value, right.row.value) <= _SIX_DIGITS
    )
