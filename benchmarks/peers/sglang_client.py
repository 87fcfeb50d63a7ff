"""SGLang's Python load client (sglang.benchmark.serving) out of an unpacked wheel. Its rates are Poisson only."""

import argparse
import asyncio
import importlib
import tempfile
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers.wheel import INPUT_TOKENS, OUTPUT_TOKENS, Words, asked, prompt, stand_in


@dataclass
class DatasetRow:
    """One request, as the client reads it."""

    prompt: str
    prompt_len: int = INPUT_TOKENS
    output_len: int = OUTPUT_TOKENS
    text_prompt_len: int = INPUT_TOKENS
    vision_prompt_len: int = 0
    image_data: Any = None
    timestamp: Any = None
    routing_key: Any = None
    extra_request_body: dict[str, Any] = field(default_factory=dict)


class Options(argparse.Namespace):
    """The client's options: what is not given is None."""

    def __getattr__(self, name: str) -> Any:
        return None


def main() -> None:
    options = asked()
    stand_in("sglang.benchmark.datasets", DatasetRow=DatasetRow, get_dataset=None)
    stand_in("sglang.benchmark.datasets.mooncake", get_mooncake_request_over_time=None)
    for name in ("sglang.srt", "sglang.srt.disaggregation", "sglang.srt.utils"):
        stand_in(name)
    stand_in("sglang.srt.disaggregation.utils", FAKE_BOOTSTRAP_HOST="")
    stand_in("sglang.srt.utils.network", resolve_base_url=None, resolve_host_port=None)
    serving = importlib.import_module("sglang.benchmark.serving")
    url = f"http://127.0.0.1:{options.port}"
    common = {"backend": "vllm-chat", "base_url": url, "max_concurrency": options.concurrency, "disable_tqdm": True}
    sizes = {"num_prompts": options.requests, "top_logprobs_num": 0, "temperature": 0.0, "top_p": 1.0}
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as output:
        serving.set_global_args(
            Options(
                **common,
                **sizes,
                model="mock-model",
                dataset_name="custom",
                output_file=output.name,
                request_rate=options.rate,
                random_range_ratio=0.0,
            )
        )
        asyncio.run(
            serving.benchmark(
                backend="vllm-chat",
                api_url=f"{url}/v1/chat/completions",
                base_url=url,
                model_id="mock-model",
                tokenizer=Words(),
                input_requests=[DatasetRow(prompt(number)) for number in range(options.requests)],
                request_rate=options.rate,
                max_concurrency=options.concurrency,
                disable_tqdm=True,
                lora_names=[],
                lora_request_distribution=None,
                lora_zipf_alpha=None,
                extra_request_body={},
                profile=False,
                warmup_requests=0,
            )
        )


if __name__ == "__main__":
    main()
