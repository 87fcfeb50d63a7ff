"""How long a person waits for an answer on the shipped figures, the interpreter's start included. Best of five.

Run from the root of the checkout: `python -m benchmarks cli`.
"""

import os
import subprocess
import sys
import tempfile
import time

REPEATS = 5
FIGURE = "v6.1/closed/AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/offline/run_1"
PARTNER = FIGURE.replace("offline", "server")

# What is asked, and the seconds that were promised for it (None: no promise).
COMMANDS: tuple[tuple[tuple[str, ...], float | None], ...] = (
    (("--help",), 0.3),
    (("discount",), 1.0),
    (("figures", "--where", "round=v6.1"), None),
    (("show", FIGURE), None),
    (("compare", FIGURE, PARTNER), None),
    (("ask", "--value", "106517 tokens/s", "--system", "MI355X", "--model", "llama2-70b"), None),
    (("cite", FIGURE), None),
    (("explain", "offline-is-not-serving"), None),
)


def main() -> None:
    empty_s = best_s([sys.executable, "-c", "pass"])
    print(f"cli: python -c pass: {empty_s:.3f} s")
    for argv, promised_s in COMMANDS:
        took_s = best_s([sys.executable, "-m", "caveat", *argv])
        promise = f" (promised: {promised_s} s)" if promised_s else ""
        print(f"cli: caveat {' '.join(argv)[:60]}: {took_s:.3f} s{promise}")


def best_s(command: list[str]) -> float:
    """Wall seconds of the fastest of some runs, with an empty ledger."""
    with tempfile.TemporaryDirectory() as folder:
        return min(once_s(command, {**os.environ, "CAVEAT_LEDGER": folder}) for _ in range(REPEATS))


def once_s(command: list[str], environment: dict[str, str]) -> float:
    began_s = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False, env=environment)
    return time.perf_counter() - began_s


if __name__ == "__main__":
    main()
