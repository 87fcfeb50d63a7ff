"""SGLang's compiled load client out of an unpacked wheel: an extension module that takes a command line.

Its rates are Poisson only. Runs on the interpreter of the peers, which has no caveat.
"""

import importlib.util
import tempfile
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

from benchmarks.peers.wheel import INPUT_TOKENS, OUTPUT_TOKENS, asked


def main() -> None:
    options = asked()
    (library,) = (options.wheel / "sglang" / "srt" / "rust_extensions").glob("_bench.*.so")
    loader = ExtensionFileLoader("_bench", str(library))
    spec = importlib.util.spec_from_loader("_bench", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    paced = options.concurrency is None
    with tempfile.TemporaryDirectory() as folder:
        wanted = {
            "--backend": "vllm-chat",
            "--base-url": f"http://127.0.0.1:{options.port}",
            "--model": "mock-model",
            "--tokenizer": options.wheel.parent / "tokenizer",
            "--dataset-name": "random-ids",
            "--random-input-len": INPUT_TOKENS,
            "--random-output-len": OUTPUT_TOKENS,
            "--random-range-ratio": 1,
            "--warmup-requests": 0,
            "--num-prompts": options.requests,
            "--request-rate" if paced else "--max-concurrency": options.rate if paced else options.concurrency,
            "--output-file": Path(folder) / "result.jsonl",
        }
        module.run_argv(["sglang-bench", "--disable-tqdm", *(str(part) for pair in wanted.items() for part in pair)])


if __name__ == "__main__":
    main()
