"""From runs of the ledger to a model: which may be learned from, which belong together, and what to say of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from caveat.cli.asked import samples_folder
from caveat.errors import UsageError
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger
from caveat.loadgen import SAMPLES, read_folder
from caveat.simulator import Calibration, FleetTable, Hit, Model, SchedulerTable, calibrate, from_samples

ALIKE = ("model", "engine", "accelerator", "accelerators", "weight_precision", "parallelism")
"""Conditions in which runs of one model may not differ, where they say anything."""


class Made(NamedTuple):
    """What every way to a model takes: its title, settings of the scheduler, the prefix hit, date and randomness."""

    title: str | None
    scheduler: SchedulerTable
    fleet: FleetTable
    prefix_hit: Hit | None
    date: str
    rng: np.random.Generator


def unseen(model: Model) -> Calibration:
    """A model for which nothing was held out here."""
    return Calibration(model=model, held_out=(), untold=(), together=())


def of_runs(made: Made, runs: Sequence[Run], book: Ledger) -> Calibration:
    """From samples that stand in the ledger: by simulation where the limit of the batch is known, else by rows alone.

    UsageError for a run without samples, and for runs that are not of one endpoint or not of one kind; CannotSayError
    where a run cannot be learned from, and where no engine gives what was seen.
    """
    folders = [_samples(run, book) for run in runs]
    _check_alike(runs)
    origin = runs[0].provenance.origin
    name = made.title or runs[0].conditions.text("model") or "a measured server"
    samples, sources = [folder / SAMPLES for folder in folders], [run.id for run in runs]
    common = {"date": made.date, "scheduler": made.scheduler, "sources": sources, "origin": origin}
    hit = _hit(made, runs, folders)
    if isinstance(made.scheduler.max_num_seqs, int) or made.scheduler.static_slots is not None:
        found = calibrate(name, samples, made.rng, fleet=made.fleet, prefix_hit=hit, **common)  # type: ignore[arg-type]
    else:
        rows = "unknown" if hit is None else hit
        found = unseen(from_samples(name, samples, made.rng, prefix_hit=rows, **common))  # type: ignore[arg-type]
    return _noted(found, runs)


def _hit(made: Made, runs: Sequence[Run], folders: Sequence[Path]) -> Hit | None:
    """What was said; none of salted prompts, which share nothing; None where only the server could say it."""
    if made.prefix_hit is not None:
        return made.prefix_hit
    measured = all(run.provenance.origin == "measured" for run in runs)
    return 0.0 if measured and all(read_folder(folder)[0].salts() for folder in folders) else None


def _samples(run: Run, book: Ledger) -> Path:
    """The folder of a run's samples. UsageError where it is of a kind that has none, or they are not there."""
    kept = run.provenance.origin in ("measured", "simulated")
    folder = samples_folder(book, run.samples) if kept else None
    if folder is None:
        raise UsageError(
            f"run {run.id[:SHOWN]} has no measured samples here ({run.provenance.origin})",
            next="give runs of caveat measure; --published takes published ones",
        )
    if not (folder / SAMPLES).is_file():
        raise UsageError(
            f"run {run.id[:SHOWN]}: found no file {run.samples}, expected its samples in the ledger",
            next="copy them from where it was measured, or measure again",
        )
    return folder


def _check_alike(runs: Sequence[Run]) -> None:
    """UsageError for runs of several endpoints, as far as they say; or measured and simulated ones together."""
    if len(origins := {run.provenance.origin for run in runs}) > 1:
        raise UsageError(
            f"found {' and '.join(sorted(origins))} runs, expected runs of one kind",
            next="leave out the simulated ones",
        )
    for key in ALIKE:
        said = sorted({str(value) for run in runs if isinstance(value := run.conditions.get(key), str | int | float)})
        if len(said) > 1:
            raise UsageError(
                f"found runs of several {key}: {', '.join(said)}, expected runs of one endpoint as it was",
                next="calibrate on each alone",
            )
    if len({run.id for run in runs}) < len(runs):
        raise UsageError("found a run twice, expected each once: it would seem to predict itself", next="leave one out")


def _noted(found: Calibration, runs: Sequence[Run]) -> Calibration:
    """With what the runs themselves say that they are not good for."""
    said = tuple(_doubts(runs))
    if not said:
        return found
    provenance = msgspec.structs.replace(found.model.provenance, note=(*found.model.provenance.note, *said))
    return dataclasses.replace(found, model=msgspec.structs.replace(found.model, provenance=provenance))


def _doubts(runs: Sequence[Run]) -> Iterator[str]:
    """One sentence for each aspect in which a run is not valid: the first of its reasons, and how many more."""
    for place, run in enumerate(runs):
        failed: dict[str, list[str]] = {}
        for check in run.validity:
            if check.outcome == "fail" and check.aspect != "latency limits":
                failed.setdefault(check.aspect, []).append(check.sentence)
        for aspect, (first, *others) in failed.items():
            more = f" ({len(others)} more: caveat show {run.id[:SHOWN]})" if others else ""
            yield f"run {place + 1} is not valid in its {aspect}: {first}{more}"
