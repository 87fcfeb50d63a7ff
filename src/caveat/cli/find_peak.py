"""caveat measure --find-peak: the highest rate that meets the limits, as an interval, with every probe kept."""

from __future__ import annotations

import random
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from caveat import __version__
from caveat.cli.console import emit, show, show_lines
from caveat.cli.live_view import Interrupt, Progress
from caveat.errors import EXIT_CANNOT_SAY, EXIT_YES, UsageError
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger
from caveat.loadgen import ClientCalibration, Spec, find_peak, goal_of, record, start_rate
from caveat.measure import Outlook, Peak, PeakAsk, PeakProbe, peak_json, peak_sentences
from caveat.publish import cell, plain_table
from caveat.units import format_seconds

UNVERIFIED = (
    "unverified: found by caveat on this endpoint; not an MLPerf result and not a certified rate of anybody else"
)
_CEILING_SHARE = 0.8  # of what the client can send: above it, its own latency is inside the figures


def peak_from(
    spec: Spec,
    book: Ledger,
    client: ClientCalibration | None,
    rng: random.Random,
    *,
    width: float,
    most_s: float | None,
    confirm: bool,
    as_json: bool,
) -> int:
    """Search, print and return the exit code: 0 with an interval, 3 where the peak was not found."""
    if spec.scenario is not None and not spec.scenario.limits():
        raise UsageError(
            f"--find-peak: found the scenario {spec.scenario.name}, expected server or interactive: the others have no "
            "limits that a rate could miss",
            next="--scenario server --slo ttft=2s,tpot=200ms, say",
        )
    start_qps = start_rate(spec)
    if start_qps is None:
        raise UsageError("--find-peak: found no rate to begin with, expected a first guess", next="--rate 4, say")
    goal = goal_of(
        spec,
        start_qps,
        width=width,
        most_s=most_s,
        confirm=confirm,
        ceiling_qps=_CEILING_SHARE * client.requests_per_s if client is not None else None,
        seed=rng.getrandbits(31),
    )
    keeper = _Keeper(book, as_json=as_json)
    try:
        with keeper.interrupt.listening():
            found = find_peak(
                spec,
                goal,
                keeper.folder_of,
                version=__version__,
                now=lambda: datetime.now(UTC).isoformat(timespec="seconds"),
                rng=rng,
                calibration=client,
                cancel=keeper.interrupt,
                on_ask=keeper.ask,
                on_probe=keeper.keep,
                watch=keeper.watch,
            )
    finally:
        keeper.rest()
    if as_json:
        emit({**peak_json(found), "runs": [run.id for run in keeper.runs]})
    else:
        print_peak(found, keeper.runs)
    return EXIT_YES if found.rate_qps is not None and found.high_qps is not None else EXIT_CANNOT_SAY


class _Keeper:
    """What happens around each probe: a folder before it, a view while it goes, the ledger after it."""

    def __init__(self, book: Ledger, *, as_json: bool) -> None:
        self._book, self._as_json = book, as_json
        self._view: Progress | None = None
        self._ask: PeakAsk | None = None
        self.interrupt = Interrupt()
        self.runs: list[Run] = []

    def folder_of(self, ask: PeakAsk) -> tuple[Path, str]:
        """A new folder inside the ledger."""
        subject = f"measured/{uuid.uuid4().hex}"
        self._view = Progress(expected=ask.queries, lasts_s=ask.seconds, as_json=self._as_json)
        return self._book.path / subject, subject

    def ask(self, ask: PeakAsk) -> None:
        """Say what comes next and about how long it all takes."""
        self._ask = ask
        if not self._as_json:
            print(f"caveat: {asked(ask)}", file=sys.stderr)

    def watch(self, watched: object) -> None:
        """The view of the probe that begins."""
        if self._view is not None:
            self._view.watch(watched)  # type: ignore[arg-type]

    def rest(self) -> None:
        """No view any more."""
        if self._view is not None:
            self._view.stop()
            self._view = None

    def keep(self, ask: PeakAsk, probe: PeakProbe, folder: Path) -> None:
        """The probe's run, with what it was for."""
        self.rest()
        run = record(folder)
        why = f"probe {ask.number} of a search for the peak ({ask.purpose}), asked for {ask.rate_qps:.4g} requests/s"
        run = msgspec.structs.replace(run, notes=(why, *run.notes))
        self._book.add([run])
        self.runs.append(run)


def asked(ask: PeakAsk) -> str:
    """One line about the next probe."""
    words = {"bracket": "between which rates", "estimate": "how near", "confirm": "confirming at full length"}
    probe = f"probe {ask.number} ({words[ask.purpose]}): {ask.queries:,} requests at {ask.rate_qps:.4g}/s"
    return f"{probe}, {format_seconds(ask.seconds)}{_outlook(ask.outlook)}"


def _outlook(outlook: Outlook) -> str:
    said = ""
    if outlook.low_qps is not None or outlook.high_qps is not None:
        ends = ["?" if end is None else f"{end:.4g}" for end in (outlook.low_qps, outlook.high_qps)]
        said += f"; so far {ends[0]} to {ends[1]}"
    if outlook.seconds is not None:
        said += f"; about {format_seconds(outlook.seconds)} to come"
    return said


def print_peak(peak: Peak, runs: list[Run]) -> None:
    """The answer in sentences, then every probe with the id under which it is kept."""
    show_lines(peak_sentences(peak), indent=0)
    table = plain_table(
        ["probe", "for", "rate/s", "queries", "over", "share", "early stopping", "run"],
        right=["probe", "rate/s", "queries", "over", "share"],
    )
    ids = {run.subject: run.id[:SHOWN] for run in runs}
    for row in peak.probes:
        passed = "client-limited" if row.client_limited else "passed" if row.certified else "not passed"
        table.add_row(
            str(row.number),
            row.purpose,
            f"{row.rate_qps:.4g}",
            f"{row.queries:,}",
            f"{row.over:,}",
            f"{row.over / row.queries:.2%}",
            passed,
            cell(ids.get(row.run, row.run)),
        )
    show(cell(""), table, cell(""))
    show_lines([UNVERIFIED], indent=0)
