"""Carrying out simulations: each in a folder of its own inside the ledger, and its document added."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from caveat.cli.simulation import DOCUMENT, SAMPLES, Simulation, new_folder
from caveat.figures import Provenance, Run, Source
from caveat.ledger import Ledger
from caveat.measure import Kept, ParquetSink
from caveat.simulator import Prediction, predict
from caveat.workload import Plan

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "simulated"
PLANS = 8
"""Plans of one workload, by seeds that follow each other, over which draws take turns: what chance does is in them."""

Step = Callable[[int, int], None]


def one(simulation: Simulation, book: Ledger, step: Step | None = None) -> Run:
    """Simulate, keep and return. Nothing is on disk before the model has answered. CannotSayError where it refuses."""
    subject = f"{FOLDER}/{uuid.uuid4().hex}"
    kept = Kept()
    found = _predicted(simulation, subject, kept, step)
    sources = _written(simulation, book.path / subject, subject, kept.table())
    run = msgspec.structs.replace(
        found.run,
        provenance=Provenance(origin="simulated", sources=sources, tool_version=found.run.provenance.tool_version),
        samples=f"{subject}/{SAMPLES}",
    )
    book.add([run])
    return run


def plans_of(simulation: Simulation) -> list[Plan]:
    """The plan, and behind it those of the same workload by other seeds; a replay is what it is."""
    offered = simulation.workload
    if offered is None:
        return [simulation.plan()]
    count = min(PLANS, simulation.draws)
    return [msgspec.structs.replace(offered, seed=offered.seed + place).plan() for place in range(max(1, count))]


def _predicted(simulation: Simulation, subject: str, kept: Kept, step: Step | None) -> Prediction:
    return predict(
        simulation.model,
        plans_of(simulation),
        np.random.default_rng(simulation.seed),
        subject=subject,
        draws=simulation.draws,
        slo=simulation.slo,
        warmup=simulation.warmup,
        scenario=simulation.scenario,
        extrapolate=simulation.extrapolate,
        conditions={**simulation.known, "run_date": datetime.now(UTC).isoformat(timespec="seconds")},
        stop_after_s=simulation.stop_after_s,
        stepping=simulation.stepping,
        best=kept,
        step=step,
    )


def _written(simulation: Simulation, folder: Path, subject: str, samples: pa.Table) -> tuple[Source, Source]:
    """The document and the samples of the best guess, whole or not at all; as sources with their hashes."""
    try:
        new_folder(folder, simulation)
        sink = ParquetSink(folder / SAMPLES)
        for batch in samples.to_batches():
            sink.take(batch)
        sink.close()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return (
        Source(kind="samples", path=f"{subject}/{SAMPLES}", sha256=_hash(folder / SAMPLES)),
        Source(kind="system-description", path=f"{subject}/{DOCUMENT}", sha256=_hash(folder / DOCUMENT)),
    )


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
