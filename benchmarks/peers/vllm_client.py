"""The load client of `vllm bench serve` out of an unpacked wheel, with even spacing where a rate is asked for."""

import argparse
import asyncio
import importlib
import logging
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.wheel import INPUT_TOKENS, OUTPUT_TOKENS, Words, asked, prompt, stand_in


@dataclass
class SampleRequest:
    """One request, as the client reads it."""

    prompt: Any
    prompt_len: int = INPUT_TOKENS
    expected_output_len: int = OUTPUT_TOKENS
    multi_modal_data: Any = None
    lora_request: Any = None
    request_id: Any = None
    timestamp: Any = None
    chat_messages: Any = None
    request_overrides: Any = None


def main() -> None:
    options = asked()
    stand_in("vllm.benchmarks.datasets", SampleRequest=SampleRequest, add_dataset_parser=None, get_samples=None)
    stand_in("vllm.tokenizers", TokenizerLike=object, get_tokenizer=None)
    stand_in("vllm.utils")
    stand_in("vllm.utils.argparse_utils", FlexibleArgumentParser=argparse.ArgumentParser)
    stand_in("vllm.utils.gc_utils", freeze_gc_heap=lambda: None)
    stand_in("vllm.utils.network_utils", join_host_port="{}:{}".format)
    stand_in("vllm.logger", init_logger=logging.getLogger)
    names = ("convert_to_pytorch_benchmark_format", "redact_sensitive_namespace", "write_to_json")
    stand_in("vllm.benchmarks.lib.utils", **dict.fromkeys(names))
    serve = importlib.import_module("vllm.benchmarks.serve")
    url = f"http://127.0.0.1:{options.port}"
    asyncio.run(
        serve.benchmark(
            task_type=serve.TaskType.GENERATION,
            endpoint_type="openai-chat",
            api_url=f"{url}/v1/chat/completions",
            base_url=url,
            model_id="mock-model",
            model_name="mock-model",
            tokenizer=Words(),
            input_requests=[SampleRequest(prompt(number)) for number in range(options.requests)],
            logprobs=None,
            request_rate=options.rate,
            burstiness=float("inf"),
            disable_tqdm=True,
            num_warmups=0,
            profile=False,
            selected_percentile_metrics=["ttft", "tpot", "itl", "e2el"],
            selected_percentiles=[50.0, 99.0],
            ignore_eos=True,
            goodput_config_dict={},
            max_concurrency=options.concurrency,
            lora_modules=None,
            extra_headers=None,
            extra_body=None,
        )
    )


if __name__ == "__main__":
    main()
