"""The bare client as a program of its own, so that it is measured like all others."""

import argparse

from benchmarks.bare_client import run
from benchmarks.peers.servers import CHUNKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--concurrency", type=int)
    parser.add_argument("--rate", type=float, default=0.0)
    asked = parser.parse_args()
    run(
        asked.port,
        asked.requests,
        model="mock-model",
        tokens=CHUNKS,
        concurrency=asked.concurrency,
        rate=asked.rate,
    )


if __name__ == "__main__":
    main()
