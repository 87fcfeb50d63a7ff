"""How long the whole public tree takes to read, and to take into an empty ledger: wall, CPU and peak memory.

Run from the root of the checkout: `CAVEAT_DATA=PATH python -m benchmarks import`, or
`python -m benchmarks.bench_import PATH`. PATH holds published tables and submission trees, at any depth.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = "CAVEAT_DATA"
PROMISED_S = 15
PROMISED_MB = 500

# Measured in a process of its own: its peak memory is that of the import and of nothing else.
IMPORT = """
import json, resource, sys, time
from pathlib import Path
from caveat.importers import read
from caveat.ledger import Ledger
began_s, began_cpu_s = time.perf_counter(), time.process_time()
imported = read([Path(sys.argv[1])])
read_s = time.perf_counter() - began_s
added = Ledger(Path(sys.argv[2]), shipped=False).add(imported.runs)
print(json.dumps({
    "runs": len(imported.runs), "problems": len(imported.problems), "added": len(added.added),
    "passed_over": sum(imported.passed_over.values()), "read_s": read_s,
    "wall_s": time.perf_counter() - began_s, "cpu_s": time.process_time() - began_cpu_s,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}))
"""


def main(path: str | None = None) -> None:
    root = path or os.environ.get(DATA)
    if not root or not Path(root).is_dir():
        print(f"import: no tree to read; name one as {DATA} or as an argument")
        return
    files = sum(len(names) for _, _, names in os.walk(root))
    with tempfile.TemporaryDirectory() as ledger:
        command = [sys.executable, "-c", IMPORT, root, ledger]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(
        f"import: {files:,} files: {said['runs']:,} runs, {said['problems']:,} problems, "
        f"{said['passed_over']:,} files passed over\n"
        f"import: read {said['read_s']:.2f} s, with {said['added']:,} documents written {said['wall_s']:.2f} s wall "
        f"(promised: {PROMISED_S} s), {said['cpu_s']:.2f} s CPU, "
        f"peak memory {said['peak'] * unit() / 1e6:,.0f} MB (promised: {PROMISED_MB} MB)"
    )


def unit() -> int:
    """Bytes of one unit of `ru_maxrss`: kilobytes on Linux, bytes on macOS."""
    return 1 if sys.platform == "darwin" else 1024


if __name__ == "__main__":
    main(*sys.argv[1:2])
