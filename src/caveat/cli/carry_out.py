"""Carrying out specs one after the other: pauses between, interruptions, and each run into the ledger as it ends."""

from __future__ import annotations

import random
import sys
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from caveat import __version__
from caveat.cli.live_view import Interrupt, Progress
from caveat.errors import RefusedError
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger
from caveat.loadgen import (
    SAMPLES,
    ClientCalibration,
    Endpoint,
    Spec,
    calibration,
    experiment,
    measure_client,
    record,
)
from caveat.measure import with_accuracy


def client_of_today(processes: int, *, again: bool) -> ClientCalibration:
    """What this machine's generator can do, measured against the loopback endpoint or kept from today."""
    from caveat.loopback import Behaviour, start_process

    def measured() -> ClientCalibration:
        with start_process(Behaviour(one_write=True)) as server:
            return measure_client(Endpoint(url=server.url, model="loopback"), version=__version__, processes=processes)

    return calibration(measured, version=__version__, processes=processes, now_s=time.time(), again=again)


def carry_out(
    specs: Sequence[Spec],
    book: Ledger,
    client: ClientCalibration | None,
    rng: random.Random,
    *,
    cool_down_s: float,
    as_json: bool,
    gate: Run | None = None,
) -> tuple[list[Run], bool]:
    """Each spec once, in this order; (the runs that were made, whether somebody interrupted).

    `gate` is an accuracy run whose verdict each of them carries.

    Asked to stop, the run that goes is drained and kept, and no further one begins.
    """
    runs: list[Run] = []
    interrupt = Interrupt()
    with interrupt.listening():
        for number, spec in enumerate(specs):
            if number and interrupt.wait(cool_down_s):
                break
            runs.append(_one(spec, book, client, rng, interrupt, as_json=as_json, gate=gate))
    return runs, interrupt.requested()


def _one(
    spec: Spec,
    book: Ledger,
    client: ClientCalibration | None,
    rng: random.Random,
    interrupt: Interrupt,
    *,
    as_json: bool,
    gate: Run | None,
) -> Run:
    subject = f"measured/{uuid.uuid4().hex}"
    folder = book.path / subject
    lasts_s = spec.stop_after_s or spec.limits().duration_s
    view = Progress(expected=None, lasts_s=lasts_s, as_json=as_json)
    try:
        experiment(
            spec,
            folder,
            version=__version__,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            rng=rng,
            subject=subject,
            calibration=client,
            cancel=interrupt,
            watch=view.watch,
        )
    except KeyboardInterrupt:
        if (folder / SAMPLES).exists() or (folder / f"{SAMPLES}.parts").exists():
            print(f"caveat: what was measured stands in {folder}\n  next: caveat record {folder}", file=sys.stderr)
        raise
    finally:
        view.stop()
    return kept(record(folder), gate, book)


def kept(run: Run, gate: Run | None, book: Ledger) -> Run:
    """The run as it went into the ledger, with the verdict of an accuracy run where one was named.

    RefusedError where the two do not belong together: then the run is kept without it.
    """
    try:
        run = run if gate is None else with_accuracy(run, gate)
    except RefusedError as error:
        book.add([run])
        said = f"the run is kept as {run.id[:SHOWN]}, accuracy unchecked"
        raise RefusedError(error.message, next=f"{said}; {error.next}" if error.next else said) from error
    book.add([run])
    return run
