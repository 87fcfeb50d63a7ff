"""Clients: the table of those that can be run. Each turns a load into a command line; who is not installed is left out.

What cannot be installed without an accelerator's libraries runs its load client alone, out of an unpacked wheel.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.wheel import INPUT_TOKENS, OUTPUT_TOKENS, prompt

Command = list[str | Path]


@dataclass(frozen=True)
class Load:
    """What is asked of a client: so many requests, `concurrency` at a time or `rate` a second, evenly spaced."""

    requests: int
    concurrency: int | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Place:
    """Where a client runs against: the server's port, a folder for what it writes, the folder of installed peers."""

    port: int
    folder: Path
    venvs: Path | None

    def peer(self, *parts: str) -> Path | None:
        """A file of an installed peer, if it is there."""
        path = self.venvs.joinpath(*parts) if self.venvs is not None else None
        return path if path is not None and path.exists() else None


@dataclass(frozen=True)
class Client:
    """`per_s` is about what it reaches with 64 streams, and sizes its run; `paces` says what it makes of a rate.

    `command` gives None where the client is not installed; `env` is added to the environment it runs in.
    """

    name: str
    what: str
    per_s: int
    paces: str
    command: Callable[[Load, Place], Command | None]
    env: Mapping[str, str] = field(default_factory=lambda: {"HF_HUB_OFFLINE": "1"})  # a file is a file: no look-up


def _caveat(processes: int) -> Callable[[Load, Place], Command]:
    def command(load: Load, place: Place) -> Command:
        how = ["--rate", f"{load.rate:g}", "--cv", "0"] if load.rate else ["--concurrency", str(load.concurrency)]
        return [
            *(sys.executable, "-m", "caveat", "measure", f"http://127.0.0.1:{place.port}", "--model", "mock-model"),
            *how,
            *("--requests", str(load.requests), "--input", "32", "--output", "16", "--processes", str(processes)),
            *("--no-probe", "--no-calibrate", "--ledger", place.folder / "ledger"),
        ]

    return command


def _bare(load: Load, place: Place) -> Command:
    return [sys.executable, "-m", "benchmarks.peers.bare", *_plain(load, place)]


def _wheel(wheel: str, driver: str) -> Callable[[Load, Place], Command | None]:
    """A load client out of an unpacked wheel, run by our driver on the interpreter of the `clients` environment."""

    def command(load: Load, place: Place) -> Command | None:
        python, unpacked = place.peer("clients", "bin", "python"), place.peer(wheel, wheel)
        if python is None or unpacked is None:
            return None
        return [python, "-m", f"benchmarks.peers.{driver}", unpacked.parent, *_plain(load, place)]

    return command


def _inference_perf(load: Load, place: Place) -> Command | None:
    program, tokenizer = place.peer("inference-perf", "bin", "inference-perf"), place.peer("tokenizer")
    if program is None or tokenizer is None:
        return None
    if load.rate:
        stages = f"type: constant, stages: [{{rate: {load.rate:g}, duration: {round(load.requests / load.rate)}}}]"
    else:
        stages = f"type: concurrent, stages: [{{num_requests: {load.requests}, concurrency_level: {load.concurrency}}}]"
    config = place.folder / "inference-perf.yml"
    config.write_text(
        f"""api: {{type: chat, streaming: true}}
server: {{type: vllm, model_name: mock-model, base_url: "http://127.0.0.1:{place.port}", ignore_eos: true}}
tokenizer: {{pretrained_model_name_or_path: {tokenizer}}}
data: {{type: mock}}
load: {{{stages}}}
report: {{request_lifecycle: {{summary: true, per_stage: true, per_request: false}}}}
storage: {{local_storage: {{path: {place.folder}}}}}
"""
    )
    return [program, "-c", config]


def _aiperf(load: Load, place: Place) -> Command | None:
    program, tokenizer = place.peer("aiperf", "bin", "aiperf"), place.peer("tokenizer")
    if program is None or tokenizer is None:
        return None
    if load.rate:
        how = ["--request-rate", f"{load.rate:g}", "--arrival-pattern", "constant"]
    else:
        how = ["--concurrency", str(load.concurrency)]
    return [
        *(program, "profile", "--url", f"http://127.0.0.1:{place.port}", "--model", "mock-model"),
        *("--endpoint-type", "chat", "--streaming", "--request-count", str(load.requests), *how),
        *("--tokenizer", tokenizer, "--isl", str(INPUT_TOKENS), "--osl", str(OUTPUT_TOKENS)),
        *("--ui", "none", "--artifact-dir", place.folder),
    ]


def _guidellm(load: Load, place: Place) -> Command | None:
    program = place.peer("guidellm", "bin", "guidellm")
    if program is None:
        return None
    how = f"kind=constant,rate={load.rate:g}" if load.rate else f"kind=concurrent,streams={load.concurrency}"
    prompts = place.folder / "prompts.jsonl"
    rows = ({"prompt": prompt(number), "output_tokens_count": OUTPUT_TOKENS} for number in range(2_000))
    prompts.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    server = f"target=http://127.0.0.1:{place.port},model=mock-model,request_format=/v1/chat/completions"
    return [
        *(program, "run", "--backend", f"kind=openai_http,{server}", "--data", f"kind=json_file,path={prompts}"),
        *("--profile", how, "--constraint", f"kind=max_requests,count={load.requests}"),
        *("--output", f"kind=json,path={place.folder / 'result.json'}", "--disable-console-interactive"),
    ]


def _plain(load: Load, place: Place) -> list[str]:
    """How our own drivers are told."""
    how = ["--rate", f"{load.rate:g}"] if load.rate else ["--concurrency", str(load.concurrency)]
    return ["--port", str(place.port), "--requests", str(load.requests), *how]


CLIENTS = (
    Client("bare", "asyncio and uvloop alone; keeps three times a request", 3_500, "constant", _bare),
    Client("caveat", "`caveat measure`, full samples, one process", 3_000, "constant", _caveat(1)),
    Client("caveat-2", "the same with two processes", 3_500, "constant", _caveat(2)),
    Client("sglang", "SGLang's Python client, alone", 600, "poisson", _wheel("sglang", "sglang_client")),
    Client("vllm", "the client of `vllm bench serve`, alone", 600, "constant", _wheel("vllm", "vllm_client")),
    Client("sglang-rust", "SGLang's compiled client, alone", 3_500, "poisson", _wheel("sglang", "sglang_rust_client")),
    Client("inference-perf", "inference-perf", 450, "poisson under the name of constant", _inference_perf),
    Client("aiperf", "AIPerf, with its worker processes", 200, "constant", _aiperf, {}),  # offline it takes no path
    Client("guidellm", "GuideLLM", 110, "constant", _guidellm),
)
