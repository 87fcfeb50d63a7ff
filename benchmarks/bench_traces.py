"""How fast traces are read, described, fitted, made into profiles and replayed, and in how much memory.

Run from the root of the checkout: `python -m benchmarks.bench_traces`. Each line is a fresh process; the plain loop
over `json.loads` that trace replays usually have runs beside ours.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 1_000_000

MEASURED = """
import resource, sys, time
from pathlib import Path
path = Path(sys.argv[1])
{setup}
began_s, began_cpu_s = time.perf_counter(), time.process_time()
{run}
took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
print(count, took_s, cpu_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""

STREAM = ("from caveat.workload import TraceStream", "count = sum(map(len, TraceStream(path).blocks()))")
WHOLE = ("from caveat.workload import read_trace", "count = len(read_trace(path).recording)")
PLAIN = ("import json", "count = sum('timestamp' in json.loads(line) for line in path.open())")
_READ = "from caveat.workload import *; trace = read_trace(path).recording"
DESCRIBE = (_READ, "describe_trace(trace); count = len(trace)")
PROFILE = (_READ, "profile_of(trace); count = len(trace)")
REPLAY = (_READ + "; profile = profile_of(trace)", "count = sum(map(len, plan_of(profile, 1).blocks()))")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        mooncake, azure, plain = (Path(folder) / name for name in ("mooncake.jsonl", "azure.csv", "lengths.jsonl"))
        write_mooncake(mooncake, with_blocks=True)
        write_mooncake(plain, with_blocks=False)
        write_azure(azure)
        print(f"{ROWS:,} requests; seconds, microseconds of CPU a request, peak memory of the process")
        show("plain json.loads loop, 18 blocks each", PLAIN, mooncake)
        show("streamed, Mooncake with 18 blocks each", STREAM, mooncake)
        show("streamed, Mooncake without blocks", STREAM, plain)
        show("streamed, Azure CSV", STREAM, azure)
        show("whole in memory, Mooncake with blocks", WHOLE, mooncake)
        show("described", DESCRIBE, mooncake)
        show("made into a profile", PROFILE, mooncake)
        show("profile replayed, with blocks", REPLAY, mooncake)


def show(name: str, code: tuple[str, str], path: Path) -> None:
    """Run the code on the path in a process of its own and print one line."""
    script = MEASURED.format(setup=code[0], run=code[1])
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True)
    count, took_s, cpu_s, megabytes = map(float, done.stdout.split())
    print(f"traces: {name}: {took_s:.2f} s, {cpu_s / count * 1e6:.2f} us, {megabytes:,.0f} MB")


def write_mooncake(path: Path, *, with_blocks: bool) -> None:
    """Requests that continue one of the last thousand now and then; blocks of 512 tokens."""
    chance = random.Random(5)
    recent: list[list[int]] = [[0]]
    free = 1
    with path.open("w") as file:
        for number in range(ROWS):
            known = chance.choice(recent) if chance.random() < 0.4 else [0]
            more = chance.randrange(1, 24)
            blocks = (known + list(range(free, free + more)))[:200]
            free += more
            recent = [*recent[-999:], blocks]
            row = {"timestamp": 300 * number, "input_length": 512 * len(blocks), "output_length": 1 + number % 700}
            file.write(json.dumps(row | {"hash_ids": blocks} if with_blocks else row) + "\n")


def write_azure(path: Path) -> None:
    """Times with seven digits, as in the public files."""
    with path.open("w") as file:
        file.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        for number in range(ROWS):
            minute, second = divmod(number // 200, 60)
            stamp = f"2023-11-{16 + minute // 1440} {minute // 60 % 24:02}:{minute % 60:02}:{second:02}"
            file.write(f"{stamp}.{number % 200 * 5:03}1234,{100 + number % 4000},{1 + number % 700}\n")


if __name__ == "__main__":
    main()
