"""Published tables for tests, made from few words."""

import json
from collections.abc import Mapping
from pathlib import Path

AMD = "closed/AMD/results/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/Server"

CHECKER_ROW = {
    "Organization": "AMD",
    "Availability": "available",
    "Division": "closed",
    "SystemType": "datacenter",
    "SystemName": "AMD MI355X (8x MI355X)",
    "Platform": "8xMI355X_2xEPYC_9575F",
    "Model": "llama2-70b-99.9",
    "MlperfModel": "llama2-70b-99.9",
    "Scenario": "Server",
    "Result": "103275.0",
    "Accuracy": "ROUGE1: 44.4  ROUGE2: 22.1  ROUGEL: 28.7  TOKENS_PER_SAMPLE: 280.5",
    "number_of_nodes": "1",
    "accelerator_model_name": "AMD Instinct MI355X 288GB HBM3e",
    "accelerators_per_node": "8",
    "total_accelerators": "8",
    "Location": f"./{AMD}/performance/run_1",
    "framework": "vLLM 0.20, ROCm 7.2",
    "compliance": "closed",
    "errors": "0",
    "version": "v6.1",
    "inferred": "0",
    "has_power": "False",
    "Units": "Tokens/s",
    "weight_data_types": "FP4",
}

RESULTS_ROW = {
    "ID": "6.0-0001",
    "Submitter": "AMD",
    "Availability": "available",
    "Category": "closed",
    "Suite": "datacenter",
    "System": "AMD MI355X Custom Cluster",
    "Platform": "87xMI355X_22xEPYC_9575F",
    "UsedModel": "llama2-70b-99.9",
    "Model": "llama2-70b-99.9",
    "Scenario": "Server",
    "Accuracy": "ROUGE1: 44.5433  ROUGE2: 22.1372  ROUGEL: 28.9134  TOKENS_PER_SAMPLE: 282.9",
    "Nodes": 11,
    "Processor": "AMD EPYC 9575F",
    "host_processors_per_node": 2,
    "Accelerator": "AMD Instinct MI355X 288GB HBM3e (x87)",
    "a#": 8,
    "Total Accelerators": 88,
    "Location": "./closed/AMD/results/87xMI355X_22xEPYC_9575F/llama2-70b-99.9/Server/performance/run_1",
    "Software": "PyTorch 2.9.1, ROCm 7.0.0",
    "operating_system": "Ubuntu 22.04.5 LTS",
    "compliance": "closed",
    "errors": 0,
    "version": "v6.0",
    "inferred": 0,
    "has_power": False,
    "weight_data_types": "fp4",
    "Performance_Result": 1016380.0,
    "Performance_Units": "Tokens/s",
}


def checker_table(folder: Path, *changes: Mapping[str, str | None], name: str = "summary.csv") -> Path:
    """A checker's summary.csv, one row for each set of changes; None takes a column away (from all rows)."""
    rows = [{**CHECKER_ROW, **change} for change in changes or ({},)]
    header = [key for key in CHECKER_ROW if not any(row[key] is None for row in rows)]
    lines = [",".join(header), *(",".join(f'"{row[key]}"' for key in header) for row in rows)]
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def results_table(folder: Path, *changes: Mapping[str, object], name: str = "summary_results.json") -> Path:
    """A round's results table, one row for each set of changes."""
    path = folder / name
    path.write_text(json.dumps([{**RESULTS_ROW, **change} for change in changes or ({},)]))
    return path
