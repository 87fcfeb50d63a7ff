"""One record per language, vision-language or speech benchmark of v4.0 to v6.1, with what the rounds fix about it.

Lengths are tokens, accuracy values are the checker's own scales. None means that no source read states it.
"""

from __future__ import annotations

import msgspec

from caveat.facts.sources import CHECKER, CHECKER_OLD, LOADGEN, REFERENCE, RULES

AS_OF = "2026-08-20"


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Values that hold in some rounds or one scenario only; None leaves the record's own value standing."""

    rounds: tuple[str, ...]
    source: str
    scenario: str | None = None
    dataset_samples: int | None = None
    accuracy_targets: dict[str, float] | None = None
    tokens_per_sample_range: tuple[float, float] | None = None


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One official benchmark with its accuracy track.

    `dataset_samples` is the performance set. `input_tokens_max` and `output_tokens_cap` are tokens per sample;
    mean lengths are in no source. `accuracy_targets` holds reference scores of the newest round, before the
    factor of the track; `tokens_per_sample_range` bounds the mean output tokens a sample (low, high).
    `token_rate`: the published rate counts output tokens. `variants` says where a round or scenario differs.
    """

    id: str
    model: str
    dataset: str
    dataset_samples: int
    rounds: tuple[str, ...]
    source: str
    track: str | None = None
    input_tokens_max: int | None = None
    output_tokens_cap: int | None = None
    modality: str = "text"
    decoding: str | None = None
    accuracy_targets: dict[str, float] = {}
    accuracy_factor: float = 0.99
    tokens_per_sample_range: tuple[float, float] | None = None
    language_model: bool = True
    token_rate: bool = True
    variants: tuple[Variant, ...] = ()
    note: str | None = None


_FROM_V51 = ("v5.1", "v6.0", "v6.1")
_FROM_V60 = ("v6.0", "v6.1")
_SOURCE = f"{CHECKER}; {REFERENCE}; {RULES}"
_SOURCE_OLD = f"{CHECKER_OLD}; {CHECKER}; {REFERENCE}"

_GPTJ = Benchmark(
    id="gptj-99",
    model="gptj",
    track="99",
    dataset="CNN/DailyMail 3.0.0",
    dataset_samples=13368,
    input_tokens_max=2048,
    output_tokens_cap=128,
    rounds=("v4.0", "v4.1", "v5.0"),
    decoding="beam 4",
    accuracy_targets={"rouge1": 42.9865, "rouge2": 20.1235, "rougeL": 29.9881},
    note=(
        "output tokens are not counted: the token rate from v4.1 on is inferred as 69 tokens a sample, and v4.0 "
        "published samples/s; the length check counts characters (GEN_LEN at least 0.9 x 4016878)"
    ),
    source=_SOURCE_OLD,
)

_LLAMA2 = Benchmark(
    id="llama2-70b-99",
    model="llama2-70b",
    track="99",
    dataset="OpenOrca, GPT4 subset",
    dataset_samples=24576,
    input_tokens_max=1024,
    output_tokens_cap=1024,
    rounds=("v4.0", "v4.1", "v5.0", "v5.1", "v6.0"),
    decoding="greedy",
    accuracy_targets={"rouge1": 44.4312, "rouge2": 22.0352, "rougeL": 28.6162},
    tokens_per_sample_range=(265.005, 323.895),
    note=(
        "v6.1 keeps the 99.9 track only, by the checker's list (the rules of July 2026 still print both); most "
        "pairs of 99 and 99.9 rows are one run entered twice"
    ),
    source=_SOURCE_OLD,
)

_LLAMA3_8B = Benchmark(
    id="llama3.1-8b",
    model="llama3.1-8b",
    dataset="CNN/DailyMail 3.0.0",
    dataset_samples=13368,
    input_tokens_max=2048,
    output_tokens_cap=128,
    rounds=_FROM_V51,
    decoding="greedy",
    accuracy_targets={"rouge1": 38.7792, "rouge2": 15.9075, "rougeL": 24.4957, "rougeLsum": 35.793},
    note=(
        "the length check counts characters (GEN_LEN within a tenth of 8167644), not tokens; some Server runs "
        "report 129 tokens a sample, one above the cap"
    ),
    source=_SOURCE,
)

BENCHMARKS: tuple[Benchmark, ...] = (
    _GPTJ,
    msgspec.structs.replace(_GPTJ, id="gptj-99.9", track="99.9", accuracy_factor=0.999),
    _LLAMA2,
    msgspec.structs.replace(
        _LLAMA2, id="llama2-70b-99.9", track="99.9", accuracy_factor=0.999, rounds=(*_LLAMA2.rounds, "v6.1")
    ),
    Benchmark(
        id="mixtral-8x7b",
        model="mixtral-8x7b",
        dataset="OpenOrca 5k, GSM8K 5k, MBXP 5k",
        dataset_samples=15000,
        input_tokens_max=2048,
        output_tokens_cap=1024,
        rounds=("v4.1", "v5.0", "v5.1", "v6.0"),
        decoding="greedy",
        accuracy_targets={
            "rouge1": 45.5989,
            "rouge2": 23.3526,
            "rougeL": 30.4608,
            "gsm8k": 73.66,
            "mbxp": 60.16,
        },
        tokens_per_sample_range=(0.9 * 144.84, 1.1 * 145.9),
        variants=(
            Variant(
                rounds=("v4.1",),
                accuracy_targets={
                    "rouge1": 45.4911,
                    "rouge2": 23.2829,
                    "rougeL": 30.3615,
                    "gsm8k": 73.78,
                    "mbxp": 60.12,
                },
                tokens_per_sample_range=(0.9 * 145.9, 1.1 * 145.9),
                source=CHECKER_OLD,
            ),
        ),
        note="at least 2 new tokens a sample; reference scores and the lower length bound changed after v4.1",
        source=_SOURCE_OLD,
    ),
    Benchmark(
        id="llama3.1-405b",
        model="llama3.1-405b",
        dataset="LongBench, LongDataCollections, Ruler, GovReport subset",
        dataset_samples=8313,
        input_tokens_max=20000,
        output_tokens_cap=2000,
        rounds=("v5.0", "v5.1", "v6.0"),
        decoding="greedy",
        accuracy_targets={"rougeL": 21.6666, "exact_match": 90.1335},
        tokens_per_sample_range=(0.9 * 684.68, 1.1 * 684.68),
        note="sources differ on the output cap: 2000 in the reference code, 20000 in the rules of July 2026",
        source=_SOURCE,
    ),
    _LLAMA3_8B,
    msgspec.structs.replace(
        _LLAMA3_8B,
        id="llama3.1-8b-edge",
        model="llama3.1-8b-edge",
        dataset="CNN/DailyMail 3.0.0, 5000 samples",
        dataset_samples=5000,
        accuracy_targets={"rouge1": 39.06, "rouge2": 16.1147, "rougeL": 24.6375, "rougeLsum": 36.124},
        note="the length check counts characters (GEN_LEN within a tenth of 3051113), not tokens",
    ),
    Benchmark(
        id="deepseek-r1",
        model="deepseek-r1",
        dataset="mlperf_deepseek_r1 (AIME, MATH500, GPQA, MMLU-Pro, LiveCodeBench)",
        dataset_samples=4388,
        input_tokens_max=3136,
        output_tokens_cap=20000,
        rounds=_FROM_V51,
        decoding="greedy",
        accuracy_targets={"exact_match": 81.3582},
        tokens_per_sample_range=(0.9 * 3886.2274, 1.1 * 3886.2274),
        note="the rules of July 2026 print 81.9132 where checker and reference have 81.3582",
        source=_SOURCE,
    ),
    Benchmark(
        id="gpt-oss-120b",
        model="gpt-oss-120b",
        dataset="performance set of 6396; accuracy set of 4395 (AIME25, GPQA-D, LiveCodeBench v6)",
        dataset_samples=6396,
        output_tokens_cap=10240,
        rounds=_FROM_V60,
        decoding="temperature 1, top-p 1, top-k off; reasoning effort low in performance runs",
        accuracy_targets={"exact_match": 83.13},
        tokens_per_sample_range=(1150.38, 1406.02),
        note=(
            "the rules of July 2026 print an output cap of 10000 for performance runs; accuracy runs have 32768 "
            "and high effort. The token range is compliance test TEST09's, on performance output"
        ),
        source=f"{_SOURCE}; {LOADGEN}",
    ),
    Benchmark(
        id="qwen3-vl-235b-a22b",
        model="qwen3-vl-235b-a22b",
        dataset="Shopify product catalogue, train and test",
        dataset_samples=48289,
        rounds=_FROM_V60,
        modality="image+text",
        decoding="temperature 0.7, top-p 0.8, top-k 20",
        accuracy_targets={"F1_HIERARCHICAL": 0.7903},
        token_rate=False,
        variants=(
            Variant(
                rounds=("v6.1",),
                scenario="interactive",
                dataset_samples=8000,
                accuracy_targets={"F1_HIERARCHICAL": 0.7878},
                source=REFERENCE,
            ),
        ),
        note=(
            "decoding is the v6.1 reference's; the rules' questions page says temperature 1, top-p 1. No cap on "
            "output is stated (an example of the Endpoints harness has 150 tokens)"
        ),
        source=_SOURCE,
    ),
    Benchmark(
        id="whisper",
        model="whisper",
        dataset="LibriSpeech, repacked",
        dataset_samples=1633,
        rounds=_FROM_V51,
        modality="speech",
        accuracy_targets={"accuracy": 97.9329},
        language_model=False,
        note="published tables label its tokens/s as samples/s; accuracy is 100 minus the word error rate in percent",
        source=_SOURCE,
    ),
    Benchmark(
        id="qwen3.6-27b",
        model="qwen3.6-27b",
        dataset="BFCL v4 single-turn; agentic replay",
        dataset_samples=995,
        output_tokens_cap=1024,
        rounds=("v6.1",),
        decoding="temperature 0, seed 42",
        accuracy_targets={"overall": 86.23, "normalized": 87.96},
        accuracy_factor=0.97,
        token_rate=False,
        note=(
            "context of 32768 tokens; the factor is 0.97 in rules, harness and reference, while the checker has "
            "0.99 of 86.23 under the key mAP; the rules call it accuracy-only Offline, the checker SingleStream"
        ),
        source=_SOURCE,
    ),
    Benchmark(
        id="e2e-rag-qna",
        model="e2e-rag-qna",
        dataset="FRAMES",
        dataset_samples=824,
        rounds=("v6.1",),
        decoding="temperature 1",
        accuracy_targets={"accuracy": 33.95},
        accuracy_factor=1.0,
        tokens_per_sample_range=(246.43, 301.19),
        token_rate=False,
        note=(
            "33.95 is the checker's threshold itself; the rules say about 35 percent, three either way. The token "
            "range is compliance test TEST09's. Published in tasks/s"
        ),
        source=_SOURCE,
    ),
)
