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
from caveat.figures import Run
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
) -> tuple[list[Run], bool]:
    """Each spec once, in this order; (the runs that were made, whether somebody interrupted).

    Asked to stop, the run that goes is drained and kept, and no further one begins.
    """
    runs: list[Run] = []
    interrupt = Interrupt()
    with interrupt.listening():
        for number, spec in enumerate(specs):
            if number and interrupt.wait(cool_down_s):
                break
            runs.append(_one(spec, book, client, rng, interrupt, as_json=as_json))
    return runs, interrupt.requested()


def _one(
    spec: Spec,
    book: Ledger,
    client: ClientCalibration | None,
    rng: random.Random,
    interrupt: Interrupt,
    *,
    as_json: bool,
) -> Run:
    subject = f"measured/{uuid.uuid4().hex}"
    folder = book.path / subject
    limits = spec.limits()
    expected = None if spec.stop_after_s is not None else limits.requests
    view = Progress(expected=expected, lasts_s=spec.stop_after_s or limits.duration_s, as_json=as_json)
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
    run = record(folder)
    book.add([run])
    return run
