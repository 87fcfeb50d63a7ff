"""A Server rate is a floor: it was asked for and passed; how far it lies below the limit is the headroom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from caveat.caveats.alike import published_once
from caveat.caveats.caveat import Caveat
from caveat.caveats.evidence import Evidence, Number, Table, grouped, percent, quantile, rounds_of
from caveat.caveats.kinds import SERVING, hardware, is_good, is_rate, is_serving
from caveat.compare import discount
from caveat.figures import Conditions, Figure, Run, limit_percentile
from caveat.units import format_number

FAR = 0.5  # both percentiles under this share of their limits: the run was far from them
NEAR = 0.9  # one percentile over this share: hardly more would have passed

_CONTEST = ("round", "division", "submitter", "benchmark", "scenario", "accelerators")
_WORDS = {"headroom_ttft": "TTFT", "headroom_tpot": "TPOT", "headroom_latency": "latency"}


def _applies(figure: Figure) -> bool:
    return is_serving(figure) and is_rate(figure)


def _sentence(figure: Figure) -> str:
    shares = headrooms(figure.conditions)
    percentile = limit_percentile(figure.conditions) or "p99"  # which MLPerf's rules limit
    if not is_good(figure):
        return "The rate was chosen before the run, and the run is not valid: it is not even a floor."
    if not shares:
        return (
            f"The rate was chosen before the run and passed; how near {percentile} came to its limits is undisclosed, "
            "so it is a floor of unknown depth."
        )
    stated = " and ".join(
        f"{percentile} {_WORDS[key]} was {percent(share)} of its limit" for key, share in shares.items()
    )
    if max(shares.values()) < FAR:
        return f"{stated}: the rate asked for left much room, so it is a floor, not what the system can do at most."
    if max(shares.values()) >= NEAR:
        return f"{stated}: the rate asked for lies near the highest that this configuration could have passed with."
    return f"{stated}: the rate was asked for and passed, and a somewhat higher one might have passed too."


def headrooms(conditions: Conditions) -> dict[str, float]:
    """The limited percentile as a share of its limit, for each limit whose share is known."""
    return {key: share for key in _WORDS if (share := conditions.number(key)) is not None}


def _evidence(runs: Sequence[Run]) -> Evidence:
    published = published_once(runs)
    figures = [f for f in published if _applies(f) and headrooms(f.conditions)]
    nearest = [_nearest(f) for f in figures]
    far = sum(share < FAR for share in nearest)
    numbers: dict[str, Number] = {
        "n": len(figures),
        "without": sum(_applies(f) for f in published) - len(figures),
        "basis": discount(()).basis,
        "far_runs": far,
        "share_far": percent(far / len(figures)) if figures else None,
    }
    found = [discount(runs, to_scenario=scenario) for scenario in SERVING]
    pairs = [pair for one in found for pair in one.pairs if headrooms(pair.right.conditions)]
    return Evidence(
        numbers=numbers,
        tables=(_distribution(figures), _siblings([(pair.right, pair.ratio) for pair in pairs])),
        counted=rounds_of(figures),
    )


def _nearest(figure: Figure) -> float:
    """The share of the limit that came nearest to it."""
    return max(headrooms(figure.conditions).values())


def _distribution(figures: Sequence[Figure]) -> Table:
    shares = (0.1, 0.5, 0.9)
    groups = grouped(figures, lambda f: (f.conditions.text("round"), f.conditions.text("scenario")))
    return Table(
        "p99 as a share of its limit, of the limit that came nearest",
        ("round", "scenario", "runs", "lowest", "a tenth below", "half below", "nine tenths below", "highest"),
        tuple(
            (
                *key,
                str(len(group)),
                *(percent(quantile([_nearest(f) for f in group], share)) for share in (0, *shares, 1)),
            )
            for key, group in sorted(groups.items())
        ),
    )


def _siblings(rated: Sequence[tuple[Figure, float]]) -> Table:
    """For each round the two systems of one submitter and benchmark that differ most in how near they came.

    `rated` holds serving figures with their ratio to the Offline figure of the same system.
    """
    chosen = []
    contests = grouped(rated, lambda item: tuple(item[0].conditions.text(key) for key in _CONTEST))
    for _, groups in sorted(grouped(contests.values(), lambda group: group[0][0].conditions.text("round")).items()):
        ordered = sorted(max(groups, key=_gap), key=lambda item: _nearest(item[0]))
        if len(ordered) > 1:
            chosen += [ordered[0], ordered[-1]]
    return Table(
        "In each round, two systems of one submitter in one benchmark that came least and most near",
        ("round", "submitter", "system", "hardware", "benchmark", "scenario", "p99 TTFT", "p99 TPOT", "rate / Offline"),
        tuple(_sibling(figure, ratio) for figure, ratio in chosen),
    )


def _gap(group: Iterable[tuple[Figure, float]]) -> float:
    shares = [_nearest(figure) for figure, _ in group]
    return max(shares) - min(shares)


def _sibling(figure: Figure, ratio: float) -> tuple[str, ...]:
    c = figure.conditions
    shares = headrooms(c)
    return (
        *(c.text(key) for key in ("round", "submitter", "platform")),
        hardware(c),
        *(c.text(key) for key in ("benchmark", "scenario")),
        *(percent(shares[key]) if key in shares else "unknown" for key in ("headroom_ttft", "headroom_tpot")),
        format_number(ratio),
    )


CAVEAT = Caveat(
    id="server-rate-is-a-floor",
    title="A Server rate is a floor",
    applies=_applies,
    sentence=_sentence,
    given={"far": percent(FAR)},
    concluded="""
        The published Server figure is the most that the system can serve within the limits; and what lies between
        it and the Offline figure is the price that this system pays for latency.
        """,
    why="""
        The rate of a Server run is set before the run: the submitter names a rate, the arrivals follow from it, and
        the result is the throughput of a run that passed. Nobody has to search for the highest rate that passes.
        Where p99 stayed far below both limits, the system was not at its limit, and the distance to Offline says
        more about the rate that was chosen than about the system.
        """,
    instead="""
        Read the rate together with its headroom: p99 as a share of the limit, for first token and per token. Near
        one, hardly more would have passed. Well below one on every limit, treat the rate as a floor and form no
        ratio from it. Where no log is public, ask for both percentiles.
        """,
    right="""
        As a floor: this rate was really held, with p99 inside the limits. And as a near maximum where one of the
        limits was all but reached.
        """,
    shown="""
        {n} Server and Interactive runs here have logs that say how near they came ({without} more have none). In
        {far_runs} of them, {share_far}, every p99 stayed under {far} of its limit.

        {basis}
        """,
    evidence=_evidence,
)
