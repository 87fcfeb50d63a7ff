"""Where the public result trees are, for tests that check the tables against them."""

import csv
import json
from functools import cache
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
MLPERF = SHARED / "data" / "mlperf"
FACTS = SHARED / "data" / "facts"

needs_results = pytest.mark.skipif(not MLPERF.is_dir(), reason="the public result trees are not beside the checkout")
needs_facts = pytest.mark.skipif(not FACTS.is_dir(), reason="the reference tables are not beside the checkout")


@cache
def summary_rows() -> tuple[dict[str, str], ...]:
    """All rows of the three summaries under the names of the v5.1 and v6.0 tables, values as text."""
    rows = []
    for name in ("v5.1", "v6.0"):
        for row in json.loads((MLPERF / f"summary_results_{name}.json").read_text()):
            rows.append({key: "" if value is None else str(value) for key, value in row.items()})
    columns = {
        "MlperfModel": "Model",
        "Model": "UsedModel",
        "SystemName": "System",
        "accelerator_model_name": "Accelerator",
        "number_of_nodes": "Nodes",
        "accelerators_per_node": "a#",
        "Division": "Category",
        "Units": "Performance_Units",
        "Result": "Performance_Result",
    }
    with (MLPERF / "summary_v6.1.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            rows.append({columns.get(key, key): value for key, value in row.items()})
    return tuple(rows)


@cache
def systems() -> tuple[dict[str, str], ...]:
    """All system descriptions, values as text."""
    found = []
    for path in sorted(MLPERF.glob("submissions/*/*/*/systems/*.json")):
        found.append({key: str(value) for key, value in json.loads(path.read_text()).items()})
    return tuple(found)


def detail_values(path: Path) -> dict[str, object]:
    """The first value of every key of a LoadGen detail log."""
    values: dict[str, object] = {}
    for line in path.read_text().splitlines():
        record = json.loads(line.removeprefix(":::MLLOG "))
        values.setdefault(record["key"], record["value"])
    return values
