"""caveat measure --find-peak: the highest rate that meets the limits, as an interval, with every probe kept."""

from __future__ import annotations

import random
import sys
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from caveat import __version__
from caveat.cli import console
from caveat.cli.console import emit, heading, plural, show, show_lines
from caveat.cli.live_view import Interrupt, Progress
from caveat.errors import EXIT_CANNOT_SAY, EXIT_YES, CaveatError, UsageError
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger
from caveat.loadgen import SAMPLES, ClientCalibration, Spec, find_peak, goal_of, record, start_rate
from caveat.measure import Outlook, Peak, PeakAsk, PeakProbe, ProbeRow, peak_json, peak_sentences
from caveat.publish import cell, plain_table
from caveat.units import format_seconds

if TYPE_CHECKING:
    from rich.table import Table

UNVERIFIED = (
    "unverified: found by caveat on this endpoint; not an MLPerf result and not a certified rate of anybody else"
)
MOST_SHOWN = 12
"""Probes on the screen: the last, which decided."""
_WIDE = 74  # columns of the whole table of probes
_AFTER = {
    "budget spent": "the search can use more time: --peak-within 2h",
    "client-limited": "the server carries more than this client can send: --processes 2, or another machine",
    "ceiling reached": "the server carries more than this client can send: --processes 2, or another machine",
}
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
    full: bool,
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
    except CaveatError as error:
        keeper.rest()
        error.next = "; ".join(filter(None, (keeper.rescue(), error.next)))
        raise
    except KeyboardInterrupt:
        if said := keeper.how_to_record():
            print(f"caveat: {said}", file=sys.stderr)
        raise
    finally:
        keeper.rest()
    if as_json:
        emit({**peak_json(found), "runs": [run.id for run in keeper.runs]})
    else:
        print_peak(found, keeper.runs, full=full)
    return EXIT_YES if found.rate_qps is not None and found.high_qps is not None else EXIT_CANNOT_SAY


class _Keeper:
    """What happens around each probe: a folder before it, a view while it goes, the ledger after it."""

    def __init__(self, book: Ledger, *, as_json: bool) -> None:
        self._book, self._as_json = book, as_json
        self._view: Progress | None = None
        self._under_way: tuple[PeakAsk, Path] | None = None
        self.interrupt = Interrupt()
        self.runs: list[Run] = []

    def folder_of(self, ask: PeakAsk) -> tuple[Path, str]:
        """A new folder inside the ledger."""
        subject = f"measured/{uuid.uuid4().hex}"
        self._view = Progress(expected=ask.queries, lasts_s=ask.seconds, as_json=self._as_json)
        self._under_way = ask, self._book.path / subject
        return self._book.path / subject, subject

    def ask(self, ask: PeakAsk) -> None:
        """Say what comes next and about how long it all takes."""
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
        self._add(ask, folder)

    def _add(self, ask: PeakAsk, folder: Path, end: str = "") -> Run:
        run = record(folder)
        why = f"probe {ask.number} of a search for the peak ({ask.purpose}), asked for {ask.rate_qps:.4g} requests/s"
        run = msgspec.structs.replace(run, notes=(why + end, *run.notes))
        self._book.add([run])
        self._under_way = None
        self.runs.append(run)
        return run

    def rescue(self) -> str:
        """Add the probe that the search ended in, and say where it is; empty where there is nothing of one."""
        if self._under_way is None:
            return ""
        ask, folder = self._under_way
        try:
            run = self._add(ask, folder, ", in which the search ended")
        except CaveatError:
            return self.how_to_record()
        return f"the probe that was under way is kept: caveat show {run.id[:SHOWN]}"

    def how_to_record(self) -> str:
        """The words for a probe that has samples and stands in no ledger yet; empty without one."""
        folder = self._under_way[1] if self._under_way is not None else None
        if folder is None or not any((folder / name).exists() for name in (SAMPLES, f"{SAMPLES}.parts")):
            return ""
        return f"what the last probe measured stands in {folder}: caveat record {folder}"


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


def print_peak(peak: Peak, runs: list[Run], *, full: bool = False) -> None:
    """The answer in sentences, then the probes with the id under which each is kept; all of them with `full`."""
    show_lines([*peak_sentences(peak), UNVERIFIED], indent=0)
    rows = peak.probes if full else peak.probes[-MOST_SHOWN:]
    show(cell(""), _probes(rows, {run.subject: run.id[:SHOWN] for run in runs}))
    heading("next")
    if len(rows) < len(peak.probes):
        earlier = plural(len(peak.probes) - len(rows), "earlier probe")
        show_lines([f"{earlier}: --full, or caveat figures --where origin=measured"])
    show_lines(list(_next_steps(peak, runs)))


def _probes(rows: Sequence[ProbeRow], ids: dict[str, str]) -> Table:
    """A line a probe; a narrow screen has no room for the share and for early stopping."""
    wide = console.width() >= _WIDE
    heads = ["probe", "for", "rate/s", "queries", "over", *(["share", "early stopping"] if wide else []), "run"]
    table = plain_table(heads, right=["probe", "rate/s", "queries", "over", "share"])
    for row in rows:
        passed = "client-limited" if row.client_limited else "passed" if row.certified else "not passed"
        purpose = passed if row.client_limited and not wide else row.purpose
        more = [f"{row.over / row.queries:.2%}", passed] if wide else []
        counts = (f"{row.rate_qps:.4g}", f"{row.queries:,}", f"{row.over:,}")
        table.add_row(str(row.number), purpose, *counts, *more, cell(ids.get(row.run, row.run)))
    return table


def _next_steps(peak: Peak, runs: Sequence[Run]) -> Iterator[str]:
    """What follows from how the search ended, then where to look."""
    step = _AFTER.get(peak.ending)
    if step:
        yield step
    if peak.certified is None:
        yield "for a rate to promise, a run of full length: the same without --no-confirm"
    if runs:
        chosen = {run.subject: run for run in runs}.get(peak.certified.run if peak.certified else "", runs[-1])
        yield f"a probe whole: caveat show {chosen.id[:SHOWN]}; drawn: caveat show {chosen.id[:SHOWN]} --plot"
