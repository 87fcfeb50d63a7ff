"""ServeGen's parameters as a recording: requests drawn from the clients of a folder, for a stretch of its time."""

from __future__ import annotations

from pathlib import Path

from caveat.workload.plan import Plan
from caveat.workload.servegen import ServegenClients, read_servegen
from caveat.workload.traces.recording import Recording, TraceSource, recording_of, with_source
from caveat.workload.workload import Limits, Workload

USUAL_S = 3600.0
"""The stretch that is drawn unless another is asked for."""


def is_servegen(path: Path) -> bool:
    """Whether a path is a folder with parameter files of ServeGen."""
    return path.is_dir() and next(path.glob("chunk-*-trace.csv"), None) is not None


def servegen_workload(folder: Path, *, duration_s: float = USUAL_S, seed: int = 0) -> Workload:
    """The clients of a folder as a workload, from the start of their time. InputError for a folder without any."""
    return _workload(read_servegen(folder, until_s=duration_s), folder.name, duration_s, seed)


def servegen_recording(folder: Path, *, duration_s: float = USUAL_S, seed: int = 0) -> Recording:
    """Requests drawn from a folder's parameters; the source says that none of them was recorded."""
    clients = read_servegen(folder, until_s=duration_s)
    plan: Plan = _workload(clients, folder.name, duration_s, seed).plan()
    said = (
        f"drawn from the parameters of {len(clients.arrivals.clients)} clients, first {duration_s:g} s, seed {seed}: "
        "no request was recorded"
    )
    left = len(clients.without_lengths)
    without = (f"{left} clients without lengths left out",) if left else ()
    source = TraceSource(name=folder.name, format="servegen", transformations=(said, *without))
    return with_source(recording_of(plan), source)


def _workload(clients: ServegenClients, name: str, duration_s: float, seed: int) -> Workload:
    lengths = clients.arrivals.clients[0].lengths
    assert lengths is not None  # each client of a folder has its own; the workload's are for those without
    return Workload(
        arrivals=clients.arrivals, lengths=lengths, name=name, seed=seed, limits=Limits(duration_s=duration_s)
    )
