"""Small LoadGen logs and submission trees in their true format, for tests of whoever reads them.

folder = write_result(tmp_path, scenario="Offline")           a whole scenario folder in a tree of one submitter
detail_log(values("Server", result_validity="INVALID"))       one log as bytes
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from caveat.facts import round_named

Scalar = bool | int | float | str
Value = Scalar | None

SAMPLES = 24576  # one pass over the set of llama2-70b
NS = 1_000_000_000
_PERCENTILES = ("50.00", "90.00", "95.00", "97.00", "99.00", "99.90")
_ORDER = ("min", *_PERCENTILES, "max")


def values(scenario: str = "Server", *, round_name: str = "v6.0", **changes: Value) -> dict[str, Scalar]:
    """What a clean log of a llama2-70b run says, by key; a change to None takes a key away."""
    said = {**_settings(scenario, round_name), **_verdicts(scenario), **_results(scenario)}
    said.update({key.replace("__", "."): value for key, value in changes.items()})
    return {key: value for key, value in said.items() if value is not None}


def _settings(scenario: str, round_name: str) -> dict[str, Value]:
    found = round_named(round_name)
    assert found is not None
    return {
        "loadgen_version": "6.0.10 @ 52235a451d",
        "test_datetime": "2026-02-11T13:08:44Z",
        "requested_server_coalesce_queries": False if scenario == "Server" else None,
        "requested_use_token_latencies": True,
        "requested_server_ttft_latency": 2 * NS if scenario == "Server" else None,
        "requested_server_tpot_latency": NS // 5 if scenario == "Server" else None,
        "effective_scenario": scenario,
        "effective_test_mode": "PerformanceOnly",
        "effective_samples_per_query": SAMPLES if scenario == "Offline" else 1,
        "effective_target_qps": 100,
        "effective_target_latency_ns": 0,
        "effective_target_latency_percentile": 0.99,
        "effective_min_duration_ms": 600000,
        "effective_min_query_count": 1 if scenario == "Offline" else 100,
        "effective_qsl_rng_seed": found.seeds.qsl,
        "effective_sample_index_rng_seed": found.seeds.sample_index,
        "effective_schedule_rng_seed": found.seeds.schedule,
        "effective_performance_sample_count": SAMPLES,
        "effective_sample_concatenate_permutation": True,
        "generated_query_count": 1 if scenario == "Offline" else 3 * SAMPLES,
        "generated_samples_per_query": 3 * SAMPLES if scenario == "Offline" else 1,
        "generated_query_duration": 737280 * NS // 1000,
    }


def _verdicts(scenario: str) -> dict[str, Value]:
    said: dict[str, Value] = {
        "result_validity": "VALID",
        "result_perf_constraints_met": True if scenario == "Server" else None,
        "result_min_duration_met": True,
        "result_min_queries_met": True,
        "early_stopping_met": True,
        "num_errors": 0,
    }
    if scenario == "Server":
        said |= {
            "early_stopping_ttft_result": " * Run successful.",
            "early_stopping_tpot_result": " * Run successful.",
            "result_overlatency_query_count": 3 * SAMPLES,
            "result_token_throughput": 3.9e-08,
        }
    return said


def _results(scenario: str) -> dict[str, Value]:
    n = 3 * SAMPLES
    whole = _latencies("result_{}_latency_ns", "result_{}_percentile_latency_ns", 20 * NS, 5 * NS)
    if scenario == "Offline":
        whole["result_max_latency_ns"] = 700 * NS
        return {
            "result_query_count": 1,
            "result_samples_per_second": float(f"{n / 700:.6g}"),
            "result_tokens_per_second": float(f"{n * 290 / 700:.6g}"),
            **whole,
        }
    return {
        "result_query_count": n,
        "result_scheduled_samples_per_sec": 100.02,
        "result_completed_samples_per_sec": 99.5,
        "result_completed_tokens_per_second": float(f"{99.5 * 290 * n / (n - 1):.6g}"),
        **whole,
        **_latencies(
            "result_first_token_{}_latency_ns", "result_first_token_{}_percentile_latency_ns", NS // 5, NS // 10
        ),
        **_latencies(
            "result_time_to_output_token_{}", "result_time_per_output_token_{}_percentile_ns", NS // 50, NS // 100
        ),
    }


def _latencies(ends: str, percentiles: str, start_ns: int, step_ns: int) -> dict[str, Value]:
    keys = {rank: (ends if rank in ("min", "max") else percentiles).format(rank) for rank in _ORDER}
    said: dict[str, Value] = {key: start_ns + place * step_ns for place, key in enumerate(keys.values())}
    said[ends.format("mean")] = start_ns + step_ns
    return said


def detail_log(said: Mapping[str, Value], *, errors: tuple[str, ...] = ()) -> bytes:
    """mlperf_log_detail.txt. `errors` are texts of `error_runtime` records."""
    records = [(key, value, False) for key, value in said.items()]
    records += [("error_runtime", text, True) for text in errors]
    return "".join(_record(key, value, is_error) for key, value, is_error in records).encode()


def _record(key: str, value: Value, is_error: bool) -> str:
    record = {
        "key": key,
        "value": value,
        "time_ms": 0.013719,
        "namespace": "mlperf::logging",
        "event_type": "POINT_IN_TIME",
        "metadata": {
            "is_error": is_error,
            "is_warning": False,
            "file": "loadgen.cc",
            "line_no": 1,
            "pid": 1,
            "tid": 1,
        },
    }
    return f":::MLLOG {json.dumps(record)}\n"


_SUMMARY = {
    "Server": (
        ("Completed samples per second    : {:.2f}", "result_completed_samples_per_sec"),
        ("Completed tokens per second: {:.2f}", "result_completed_tokens_per_second"),
        ("Scheduled samples per second : {:.2f}", "result_scheduled_samples_per_sec"),
    ),
    "Offline": (
        ("Samples per second: {:.6g}", "result_samples_per_second"),
        ("Tokens per second: {:.6g}", "result_tokens_per_second"),
    ),
}
_SATISFIED = (
    ("Performance constraints", "result_perf_constraints_met"),
    ("Min duration", "result_min_duration_met"),
    ("Min queries", "result_min_queries_met"),
    ("Early stopping", "early_stopping_met"),
)
_BLOCKS = (("TTFT", "early_stopping_ttft_result"), ("TPOT", "early_stopping_tpot_result"))
_TIMES = (
    ("{} latency (ns)                : ", "result_{}_latency_ns"),
    ("{} First Token latency (ns)                : ", "result_first_token_{}_latency_ns"),
    ("{} Time per Output Token (ns)                : ", "result_time_to_output_token_{}"),
)
_PERCENTILE_TIMES = (
    ("{} percentile latency (ns)   : ", "result_{}_percentile_latency_ns"),
    ("{} percentile first token latency (ns)   : ", "result_first_token_{}_percentile_latency_ns"),
    ("{} percentile time to output token (ns)   : ", "result_time_per_output_token_{}_percentile_ns"),
)
_PARAMETERS = (
    ("samples_per_query : ", "effective_samples_per_query"),
    ("target_qps : ", "effective_target_qps"),
    ("ttft_latency (ns): ", "requested_server_ttft_latency"),
    ("tpot_latency (ns): ", "requested_server_tpot_latency"),
    ("min_duration (ms): ", "effective_min_duration_ms"),
    ("min_query_count : ", "effective_min_query_count"),
    ("qsl_rng_seed : ", "effective_qsl_rng_seed"),
    ("sample_index_rng_seed : ", "effective_sample_index_rng_seed"),
    ("schedule_rng_seed : ", "effective_schedule_rng_seed"),
    ("performance_sample_count : ", "effective_performance_sample_count"),
)
_RULE = "================================================"


def summary_log(said: Mapping[str, Value], *, errors: int = 0) -> bytes:
    """mlperf_log_summary.txt of the same values."""
    lines = [_RULE, "MLPerf Results Summary", _RULE, "SUT name : PySUT"]
    lines += [f"Scenario : {said['effective_scenario']}", f"Mode     : {said['effective_test_mode']}"]
    lines += [form.format(said[key]) for form, key in _SUMMARY[str(said["effective_scenario"])] if key in said]
    lines += [f"Result is : {said['result_validity']}"]
    lines += [
        f"  {words} satisfied{':' if words == 'Early stopping' else ' :'} {'Yes' if said[key] else 'NO'}"
        for words, key in _SATISFIED
        if key in said
    ]
    for word, key in _BLOCKS:
        if key in said:
            lines += [f"{word} Early Stopping Result:", str(said[key])]
    lines += ["", _RULE, "Additional Stats", _RULE]
    lines += [f"{form.format(rank.title())}{said[key.format(rank)]}" for form, key, rank in _named(_TIMES, said)]
    lines += [f"{form.format(p)}{said[key.format(p)]}" for form, key, p in _named(_PERCENTILE_TIMES, said)]
    lines += ["", _RULE, "Test Parameters Used", _RULE]
    lines += [f"{label}{said[key]}" for label, key in _PARAMETERS if key in said]
    lines += ["", "No warnings encountered during test.", ""]
    lines += ["No errors encountered during test." if not errors else f"{errors} ERRORS encountered. See detailed log."]
    return ("\n".join(lines) + "\n").encode()


def _named(table: tuple[tuple[str, str], ...], said: Mapping[str, Value]) -> list[tuple[str, str, str]]:
    ranks = ("min", "max", "mean", *_PERCENTILES)
    return [(form, key, rank) for form, key in table for rank in ranks if key.format(rank) in said]


ACCURACY = (
    b"\nResults\n\n{'rouge1': 44.5433, 'rouge2': 22.1372, 'rougeL': 28.9134, 'rougeLsum': 42.1, "
    b"'gen_len': np.int64(27723428), 'gen_num': 24576, 'gen_tok_len': 6953165, 'tokens_per_sample': 282.9}\n"
    b"hash=42203f1873a5f0db44c9ccd28daad74aca47b4d06e51f87937f17a063c3574cf\n"
)
ACCURACY_SUMMARY = b"\nNo warnings encountered during test.\n\nNo errors encountered during test.\n"
SYSTEM: dict[str, object] = {
    "division": "closed",
    "submitter": "Acme",
    "status": "available",
    "system_name": "Acme box (8x H200-SXM-141GB)",
    "system_type": "datacenter",
    "number_of_nodes": 1,
    "accelerators_per_node": "8",
    "accelerator_model_name": "NVIDIA H200-SXM-141GB",
    "accelerator_memory_capacity": "141 GB",
    "host_processors_per_node": 2,
    "host_processor_model_name": "Some CPU",
    "framework": "vLLM 0.10.0",
    "other_software_stack": {"cuda_version": "12.9", "driver": "N/A"},
    "operating_system": "Ubuntu 24.04",
    "sw_notes": "",
}
MEASUREMENT: dict[str, object] = {
    "input_data_types": "int32",
    "retraining": "No",
    "starting_weights_filename": "weights",
    "weight_data_types": "FP8",
    "weight_transformations": "quantization",
}


def write_result(
    root: Path,
    *,
    division: str = "closed",
    submitter: str = "Acme",
    platform: str = "H200-SXM-141GBx8",
    model: str = "llama2-70b-99",
    folder: str = "Server",
    said: Mapping[str, Value] | None = None,
    detail: bytes | None = b"",
    summary: bytes | None = b"",
    accuracy: bytes | None = ACCURACY,
    system: Mapping[str, object] | bytes | None = SYSTEM,
    measurement: Mapping[str, object] | bytes | None = MEASUREMENT,
    old_layout: bool = False,
) -> Path:
    """A result below `root` in the layout of v6.0 (or of v5.1); the scenario folder. None leaves a file out."""
    loadgen = "Offline" if folder.casefold() == "offline" else "Server"
    said = values(loadgen) if said is None else said
    home = root / division / submitter
    scenario = home / "results" / platform / model / folder
    measured = home / "measurements" / platform / model / folder if old_layout else scenario
    files: dict[Path, Mapping[str, object] | bytes | None] = {
        scenario / "performance/run_1/mlperf_log_detail.txt": detail_log(said) if detail == b"" else detail,
        scenario / "performance/run_1/mlperf_log_summary.txt": summary_log(said) if summary == b"" else summary,
        scenario / "accuracy/accuracy.txt": accuracy,
        scenario / "accuracy/mlperf_log_summary.txt": ACCURACY_SUMMARY,
        home / "systems" / f"{platform}.json": system,
        measured / (f"{platform}_{folder}.json" if old_layout else "measurements.json"): measurement,
    }
    for path, content in files.items():
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return scenario
