"""Runs every client that is installed at three loads, on one server, in turns; prints the table and keeps it as JSON.

    python -m benchmarks.peers --mock MOCK_SERVER.py --venvs FOLDER --repeats 3 --json results/peers.json

FOLDER is what `python -m benchmarks.peers.install` made; a client that is not in it is left out.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.peers.clients import CLIENTS, Client, Load, Place
from benchmarks.peers.gauge import gauge
from benchmarks.peers.install import FOLDER
from benchmarks.peers.servers import Answers, serve
from benchmarks.peers.table import HEADS, Line, cells, line_of, median_of, targets
from benchmarks.results import Result, keep, machine

STREAMS, RATE = 64, 1_000.0

# name, what the server does, what a client that reaches `per_s` is asked for in so many seconds
LOADS = {
    "each": Answers(),
    "one write": Answers(one_write=True),
    "1,000/s": Answers(ttft_s=0.1),
}


def load_of(name: str, client: Client, seconds: float) -> Load:
    """A run of about so many seconds for a client of its speed."""
    if name == "1,000/s":
        return Load(requests=round(RATE * seconds), rate=RATE)
    speed = client.per_s * (3 if name == "one write" and client.per_s > 1_000 else 1)
    return Load(requests=round(speed * seconds), concurrency=STREAMS)


def measured(name: str, client: Client, place: Place, mock: Path | None, seconds: float) -> Line | None:
    """One client at one load against a fresh server; None where the client is not installed."""
    load = load_of(name, client, seconds)
    with serve(LOADS[name], mock) as server, tempfile.TemporaryDirectory() as folder:
        here = Place(server.port, Path(folder), place.venvs)
        command = client.command(load, here)
        if command is None:
            return None
        log = Path(folder) / "log"
        cost = gauge(
            [str(part) for part in command], server.pid, log, limit_s=20 * seconds + 60, env=os.environ | client.env
        )
        line = line_of(client.name, name, cost, server.seen())
        if line.failed:
            print(log.read_text(errors="replace")[-1_000:], file=sys.stderr)
        return line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mock", type=Path, help="a mock server to use in place of the loopback endpoint")
    parser.add_argument("--venvs", type=Path, default=FOLDER, help=f"folder of installed peers, default {FOLDER}")
    parser.add_argument("--clients", help="some of the clients, by comma")
    parser.add_argument("--loads", help="some of the loads, by comma")
    parser.add_argument("--seconds", type=float, default=5.0, help="about the length of a run")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where the result is kept")
    asked = parser.parse_args()
    wanted = [client for client in CLIENTS if not asked.clients or client.name in asked.clients.split(",")]
    place = Place(0, Path(), asked.venvs)
    print(machine().sentence())
    lines = []
    for name in [name for name in LOADS if not asked.loads or name in asked.loads]:  # a name has a comma in it
        runs: dict[str, list[Line]] = {}
        for _ in range(asked.repeats):  # in turns, so that what else the machine does falls on all
            for client in wanted:
                line = measured(name, client, place, asked.mock, asked.seconds)
                if line is not None:
                    runs.setdefault(client.name, []).append(line)
        lines += [median_of(of_one) for of_one in runs.values()]
        show(name, lines)
    found = targets(lines)
    for target in found:
        print(f"{'met   ' if target.met else 'MISSED'}  {target.what}: {target.found}, aimed at {target.aimed}")
    if asked.json is not None:
        server = asked.mock.stem if asked.mock else "loopback"
        notes = {"server": server, "seconds": f"{asked.seconds:g}", "repeats": str(asked.repeats)}
        keep(
            asked.json,
            Result(
                name="peers",
                machine=machine(),
                notes=notes,
                tables=msgspec.to_builtins({"lines": lines, "targets": found}),
            ),
        )
    return 0


def show(load: str, lines: list[Line]) -> None:
    """The lines of one load."""
    rows = [HEADS, *(cells(line) for line in lines if line.load == load)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADS))]
    print(f"\n{load}: {STREAMS} streams" if load != "1,000/s" else f"\n{load}: even spacing, first token after 100 ms")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
