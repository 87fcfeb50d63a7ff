"""The published tables as runs, read the short way, so that these tests do not depend on the importers."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from caveat.facts import accelerator_family, benchmark_named, scenario_of
from caveat.figures import Run
from tests.builders import MLPERF, published_run

# Our word, then the column in the CSV of v6.1 and in the JSON of the rounds before it.
COLUMNS = {
    "submitter": ("Organization", "Submitter"),
    "availability": ("Availability", "Availability"),
    "division": ("Division", "Category"),
    "platform": ("Platform", "Platform"),
    "system": ("SystemName", "System"),
    "scenario": ("Scenario", "Scenario"),
    "accelerator": ("accelerator_model_name", "Accelerator"),
    "accelerators": ("total_accelerators", "Total Accelerators"),
    "value": ("Result", "Performance_Result"),
    "unit": ("Units", "Performance_Units"),
    "round": ("version", "version"),
    "power": ("has_power", "has_power"),
    "accuracy": ("Accuracy", "Accuracy"),
    "precision": ("weight_data_types", "weight_data_types"),
    "location": ("Location", "Location"),
}


@cache
def runs_v61() -> tuple[Run, ...]:
    """Language model runs of v6.1 in tokens/s or samples/s."""
    with (MLPERF / "summary_v6.1.csv").open(newline="") as file:
        return tuple(_runs(_renamed(csv.DictReader(file), 0)))


@cache
def runs_before() -> tuple[Run, ...]:
    """The same of v5.1 and v6.0."""
    tables = (json.loads((MLPERF / f"summary_results_{name}.json").read_bytes()) for name in ("v5.1", "v6.0"))
    return tuple(run for table in tables for run in _runs(_renamed(table, 1)))


def _renamed(table: Iterable[Mapping[str, Any]], form: int) -> Iterator[dict[str, str]]:
    for row in table:
        whole = (
            {"Total Accelerators": int(row["a#"] or 0) * int(row["Nodes"])} if "a#" in row else {}
        )  # v5.1 has no total
        yield {word: str({**whole, **row}[names[form]]) for word, names in COLUMNS.items()}


def _runs(table: Iterable[dict[str, str]]) -> Iterator[Run]:
    for row in table:
        folder = row["location"].split("/results/")[1].split("/")[1]
        known = benchmark_named(folder)
        scenario = scenario_of(row["scenario"])
        if scenario and (known or row["unit"] == "Tokens/s") and float(row["value"]) > 0:
            yield _run(row, folder, known.id if known else folder, scenario)


def _run(row: dict[str, str], folder: str, benchmark: str, scenario: str) -> Run:
    place = [row[word] for word in ("round", "division", "submitter", "platform")]
    same: dict[str, Any] = {
        key: row[key] for key in ("submitter", "system", "platform", "round", "division", "availability")
    }
    tokens = row["accuracy"].partition("TOKENS_PER_SAMPLE: ")[2].split(" ")[0]
    return published_run(
        float(row["value"]),
        metric=_metric(scenario, row["unit"]),
        subject="/".join(("mlperf-inference", *place, folder, scenario, "run_1")),
        sha256="",
        scenario=scenario,
        benchmark=benchmark,
        model=folder,
        accuracy_track="99.9" if benchmark.endswith("-99.9") else "99",
        accuracy_tokens_per_sample=float(tokens) if tokens else None,
        accelerator=accelerator_family(row["accelerator"]),
        accelerators=int(float(row["accelerators"] or 0)) or None,
        weight_precision=row["precision"],
        power_run=row["power"] == "True",
        **same,
    )


def _metric(scenario: str, unit: str) -> str:
    rate = "tokens" if unit == "Tokens/s" else "samples"
    return f"loadgen-{'offline' if scenario == 'offline' else 'completed'}-{rate}-rate"
