"""Whether two runs that were made here differ, by their samples. Apart from whether they may be compared."""

from __future__ import annotations

from typing import Any

from caveat.cli.asked import samples_folder
from caveat.cli.console import heading, show, show_lines
from caveat.cli.simulation import read_simulation
from caveat.errors import CaveatError
from caveat.figures import Figure, Run
from caveat.ledger import Ledger
from caveat.loadgen import SAMPLES, read_folder
from caveat.measure import Difference, SampleColumns, WarmUp, columns_of, difference
from caveat.publish import cell, plain_table
from caveat.simulator import PREDICTABLE_TO

CONFIDENCE = 0.95
ASKED = (
    *(f"caveat-ttft.{statistic}" for statistic in ("mean", "p50", "p99")),
    *(f"caveat-tpot-usage.{statistic}" for statistic in ("mean", "p50", "p99")),
    *(f"caveat-latency.{statistic}" for statistic in ("mean", "p50", "p99")),
    "caveat-request-rate-steady",
    "caveat-output-tokens-rate-steady-usage",
)
_WITH_SAMPLES = ("measured", "simulated")
_UNTOLD = "the model cannot tell it at this load"
_ANSWERS = {True: "yes", False: "none found", None: "cannot say"}


def measured_differences(left: Figure, right: Figure, book: Ledger) -> tuple[Difference, ...]:
    """For each metric left / right with its interval; nothing where one of the runs has no samples here."""
    sides = [_samples(side.run, book) for side in (left, right)]
    if sides[0] is None or sides[1] is None or left.run.id == right.run.id:
        return ()
    (mine, my_warmup), (theirs, their_warmup) = sides[0], sides[1]
    if my_warmup != their_warmup:
        reason = "the runs leave out their beginnings by different rules"
        return tuple(Difference(metric=metric, reason=reason) for metric in ASKED)
    untold = {metric for side in (left, right) for metric in ASKED if not _tells(side.run, metric)}
    return tuple(
        Difference(metric=metric, reason=_UNTOLD) if metric in untold else _asked(theirs, mine, metric, my_warmup)
        for metric in ASKED
    )


def differences_json(found: tuple[Difference, ...]) -> list[dict[str, Any]]:
    """For a machine: null is what samples cannot say, with the reason."""
    return [
        {
            "metric": one.metric,
            "ratio": one.ratio,
            "ratio_of": "left / right",
            "low": one.low,
            "high": one.high,
            "confidence": CONFIDENCE,
            "different": one.different,
            "method": one.method,
            "n_effective": list(one.n_effective) if one.n_effective else None,
            "reason": one.reason,
        }
        for one in found
    ]


def print_differences(found: tuple[Difference, ...]) -> None:
    """As a table, with the words that a reader of many intervals needs."""
    if not found:
        return
    heading("is there a difference? (from the samples; apart from whether the two may be compared)")
    table = plain_table(["metric", "left / right", "interval", "difference"], right=["left / right"])
    for one in found:
        ratio = "" if one.ratio is None else f"{one.ratio:.4f}"
        interval = "" if one.low is None else f"{one.low:.4f} to {one.high:.4f}"
        table.add_row(one.metric, ratio, interval, cell(_ANSWERS[one.different]))
    show(table)
    for reason in dict.fromkeys(one.reason for one in found if one.reason):
        metrics = ", ".join(one.metric for one in found if one.reason == reason)
        show_lines([f"cannot say: {metrics}: {reason}"])
    show_lines(
        [
            f"Each interval is of {CONFIDENCE:.0%}: of twenty such questions one is answered wrongly where nothing "
            "differs. Two runs of one minute each know nothing of how much the system varies from day to day."
        ]
    )


def _samples(run: Run, book: Ledger) -> tuple[SampleColumns, WarmUp | None] | None:
    """The samples of a run of this ledger and its warm-up rule; None where they are not here."""
    folder = samples_folder(book, run.samples)
    if run.provenance.origin not in _WITH_SAMPLES or folder is None:
        return None
    try:
        document = read_simulation(folder) if run.provenance.origin == "simulated" else read_folder(folder)[0]
        return columns_of(folder / SAMPLES), document.warmup
    except CaveatError:
        return None


def _tells(run: Run, metric: str) -> bool:
    """Whether a model stands behind this metric of its run; its samples hold values that it does not answer for."""
    return run.provenance.origin != "simulated" or run.row(metric) is not None or not _near_saturation(run)


def _near_saturation(run: Run) -> bool:
    return run.conditions.numbers("load_fraction").get("high", 0.0) > PREDICTABLE_TO


def _asked(before: SampleColumns, after: SampleColumns, metric: str, warmup: WarmUp | None) -> Difference:
    try:
        return difference(before, after, metric, confidence=CONFIDENCE, warmup=warmup)
    except CaveatError as error:
        return Difference(metric=metric, reason=error.message)
