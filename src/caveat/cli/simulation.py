"""Simulation: everything that makes a simulated run what it is, as a document that stands beside its samples.

simulation.json    the document, the whole model in it
samples.parquet    one row a request

format history
    caveat-simulation/1   first version
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from caveat.errors import CaveatError, InputError, RefusedError, UsageError
from caveat.figures import Value
from caveat.loadgen import SAMPLES, Replay
from caveat.measure import Scenario, Slo, WarmUp
from caveat.simulator import DRAWS, Model
from caveat.workload import Plan, Workload

FORMAT: Literal["caveat-simulation/1"] = "caveat-simulation/1"
DOCUMENT = "simulation.json"
MAX_BYTES = 64 << 20

__all__ = ["DOCUMENT", "FORMAT", "SAMPLES", "Simulation", "new_folder", "read_simulation"]


class Simulation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One simulated run: a model, what it is offered, what is demanded.

    workload, replay   one of the two, as for a measured run
    scenario           in place of slo and warmup
    stop_after_s       closed loops: no request is sent after so long
    draws              possibilities of the model that are gone through for the intervals
    seed               which of them, and of the bootstrap of the statistics
    stepping           every iteration by itself; the same samples, slower
    extrapolate        answer outside the validated range, and say so
    known              conditions of the system that is modelled: engine, accelerator, ...
    """

    model: Model
    workload: Workload | None = None
    replay: Replay | None = None
    format: Literal["caveat-simulation/1"] = FORMAT
    slo: Slo | None = None
    scenario: Scenario | None = None
    warmup: WarmUp | None = None
    stop_after_s: float | None = None
    draws: int = DRAWS
    seed: int = 0
    stepping: bool = False
    extrapolate: bool = False
    known: dict[str, Value] = {}

    def __post_init__(self) -> None:
        if (self.workload is None) == (self.replay is None):
            raise UsageError("simulation: expected either a workload or a replay", next="give one of the two")

    def plan(self) -> Plan:
        """What is offered. InputError where the file of a replay is not there or is another."""
        offered = self.workload or self.replay
        assert offered is not None  # as checked at construction
        return offered.plan()


def new_folder(folder: Path, simulation: Simulation) -> None:
    """The folder of a run with its document in it. RefusedError where it holds one, InputError where none can be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / DOCUMENT).open("xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(simulation, order="deterministic"), indent=1) + b"\n")
    except FileExistsError as error:
        raise RefusedError(f"{folder}: found a run already, expected a new folder") from error
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}", next="give a folder that can be written") from error


def read_simulation(folder: Path) -> Simulation:
    """The document in a folder. InputError where there is none, or one that cannot be read."""
    try:
        with (folder / DOCUMENT).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise InputError(f"found more than {MAX_BYTES:,} bytes")
        return msgspec.json.decode(data, type=Simulation)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError, CaveatError) as error:
        why = error.message if isinstance(error, CaveatError) else str(error)[:300]
        raise InputError(f"{folder}: no simulated run here: {why}", next=f"give a folder with {DOCUMENT}") from error
