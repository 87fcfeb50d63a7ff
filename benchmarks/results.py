"""Results: what a benchmark found, kept as JSON with date, version and machine, for `benchmarks.report` to print.

format history
    caveat-benchmark/1   first version
"""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from caveat import __version__

FORMAT = "caveat-benchmark/1"
FOLDER = Path(__file__).with_name("results")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """When and on what. No name of the machine and no path on it."""

    at: str
    version: str
    system: str
    processor: str
    cores: int
    python: str
    load: float

    def sentence(self) -> str:
        """For people."""
        return (
            f"{self.at}, caveat {self.version}, {self.system}, {self.processor}, {self.cores} cores, "
            f"Python {self.python}; load of the last minute {self.load:.1f}"
        )


class Result(msgspec.Struct, frozen=True):
    """One benchmark's outcome. `tables` is as the benchmark shaped it."""

    name: str
    machine: Machine
    notes: dict[str, str]
    tables: dict[str, Any]
    format: str = FORMAT


def machine() -> Machine:
    """This one, now."""
    return Machine(
        at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=__version__,
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        python=platform.python_version(),
        load=os.getloadavg()[0],
    )


def keep(path: Path, result: Result) -> None:
    """Write it, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    new.replace(path)


def kept(folder: Path = FOLDER) -> dict[str, Result]:
    """The results in a folder, by name."""
    found = [msgspec.json.decode(path.read_bytes(), type=Result) for path in sorted(folder.glob("*.json"))]
    return {result.name: result for result in found}


def _processor() -> str:
    """As the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "processor unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "processor unknown"
