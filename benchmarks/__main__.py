"""Every benchmark of this folder, or those named: `python -m benchmarks [ledger import ...]`. Prints, asserts nothing.

A benchmark is a module `bench_NAME.py` with a `main()`; a new file is all it takes.
"""

import importlib
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

NAMES = tuple(sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")))
PACKAGES = ("caveat", "msgspec", "numpy", "duckdb", "pyarrow", "typer", "rich")


def main(wanted: list[str]) -> int:
    unknown = sorted(set(wanted) - set(NAMES))
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    print(head())
    for name in wanted or NAMES:
        importlib.import_module(f"benchmarks.bench_{name}").main()
    return 0


def head() -> str:
    """When and on what: no number stands without it."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = " ".join(f"{busy:.1f}" for busy in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.python_implementation()} {platform.python_version()}, "
        f"{platform.machine()}, {cores} cores, load {load}\n{versions}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
