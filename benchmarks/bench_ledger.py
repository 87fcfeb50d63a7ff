"""How fast the ledger answers from the shipped set, in a fresh process each time, and takes in all of it.

Run from the root of the checkout: `python -m benchmarks.bench_ledger`. Times are the best of five.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from caveat.ledger import Ledger

REPEATS = 5

# What a fresh process measures of itself, from the first import on.
FIRST_QUERY = """
import time; began_s = time.perf_counter()
import json
from pathlib import Path
from caveat.ledger import Ledger, parse_where
ledger = Ledger(Path("no-such-folder"))
figures = ledger.figures([parse_where("round=v6.1")])
first_s = time.perf_counter() - began_s
runs = ledger.runs()
print(json.dumps([len(figures), first_s, len(runs), time.perf_counter() - began_s - first_s]))
"""


def main() -> None:
    answers = [
        json.loads(subprocess.run([sys.executable, "-c", FIRST_QUERY], check=True, capture_output=True).stdout)
        for _ in range(REPEATS)
    ]
    figures, _, runs, _ = answers[0]
    first_s, all_s = (min(answer[place] for answer in answers) for place in (1, 3))
    print(f"ledger: first query of a process, imports included: {figures} figures in {first_s:.3f} s")
    print(f"ledger: all {runs} shipped runs decoded in {all_s:.3f} s")
    print(f"ledger: {runs} runs added to an empty folder in {min(added_s() for _ in range(REPEATS)):.2f} s")


def added_s() -> float:
    """Seconds to write every shipped run into a folder of its own."""
    runs = Ledger(Path("no-such-folder")).runs()
    with tempfile.TemporaryDirectory() as folder:
        began_s = time.perf_counter()
        Ledger(Path(folder), shipped=False).add(runs)
        return time.perf_counter() - began_s


if __name__ == "__main__":
    main()
