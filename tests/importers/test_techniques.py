"""A technique is on only where the text says so."""

import pytest

from caveat.importers.mlperf.techniques import multi_node_means, stated_techniques


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MXFP4 (W4A4) weights with FP8 KV cache", {"kv_cache_quantisation": "on", "kv_cache_precision": "fp8"}),
        ("nvfp4, fp8-kv", {"kv_cache_quantisation": "on", "kv_cache_precision": "fp8"}),
        ("NVFP4, FP8 (KV cache)", {"kv_cache_quantisation": "on", "kv_cache_precision": "fp8"}),
        ("kv cache: int8", {"kv_cache_quantisation": "on", "kv_cache_precision": "int8"}),
        ("SGLang with EAGLE3, 3 steps", {"speculative_decoding": "on"}),
        ("speculative decoding with a draft model", {"speculative_decoding": "on"}),
        ("MTP 3 steps; disaggregated prefill", {"speculative_decoding": "on", "disaggregation": "on"}),
        ("automatic prefix caching, chunked prefill", {"prefix_caching": "on", "chunked_prefill": "on"}),
        ("in-flight batching", {"continuous_batching": "on"}),
        ("no speculative decoding", {}),
        ("prefix caching disabled", {}),
        ("without disaggregation, prefix caching: off", {}),
        ("Eagle Stream platform", {}),
        ("TensorRT-LLM, NVIDIA Dynamo v0.8.0", {}),
        ("LLM-D v0.5.0, vLLM 0.14.1", {}),
        ("FP8 weights", {}),
        ("", {}),
    ],
)
def test_what_the_text_says(text, said):
    """Products that could do it prove nothing; a denial is no statement that it was on."""
    assert stated_techniques([text]) == said


def test_a_denial_in_one_text_does_not_hide_a_statement_in_another():
    """Each text speaks for itself."""
    assert stated_techniques(["no prefix caching in Offline", "prefix caching"]) == {"prefix_caching": "on"}


@pytest.mark.parametrize(
    ("texts", "means"),
    [
        (["TensorRT 10.11", "Dynamo (v0.3.2), CUDA 12.9"], "Dynamo"),
        (["LLM-D v0.5.0", "Ray 2.9, OpenMPI 4"], "llm-d, Ray, MPI"),
        (["x-ray", "Dynamo NPU"], None),
        ([], None),
    ],
)
def test_the_means_are_named_where_the_text_names_them(texts, means):
    """In a fixed order."""
    assert multi_node_means(texts) == means
