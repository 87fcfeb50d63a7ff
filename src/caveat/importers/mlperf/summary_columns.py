"""Which column of a published table says what: one visible table for each form, and how a cell becomes a text.

Two families exist: the results table of a round (`summary_results.json`) and the checker's `summary.csv`. Columns
may stand in any order, some may be missing; names are compared without regard to case, blanks and underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from caveat.importers.mlperf.stated_text import stated

# What we call it: the names it goes by. Keys that are conditions carry the condition's name.
_IN_BOTH: dict[str, tuple[str, ...]] = {
    "availability": ("Availability",),
    "platform": ("Platform",),
    "scenario": ("Scenario",),
    "accuracy": ("Accuracy",),
    "host_processors_per_node": ("host_processors_per_node", "p#"),
    "location": ("Location",),
    "operating_system": ("operating_system",),
    "compliance": ("compliance",),
    "errors": ("errors",),
    "round": ("version",),
    "inferred": ("inferred",),
    "power_run": ("has_power",),
    "weight_precision": ("weight_data_types",),
    "total_accelerators": ("total_accelerators",),
}

RESULTS_TABLE: dict[str, tuple[str, ...]] = {
    **_IN_BOTH,
    "value": ("Performance_Result",),
    "unit": ("Performance_Units",),
    "power_value": ("Power_Result",),
    "power_unit": ("Power_Units",),
    "submitter": ("Submitter",),
    "division": ("Category", "Division"),
    "system_type": ("Suite",),
    "system": ("System",),
    "benchmark": ("Model",),
    "model_folder": ("UsedModel",),
    "nodes": ("Nodes",),
    "host_processor": ("Processor",),
    "accelerator_stated": ("Accelerator",),
    "accelerators_per_node": ("a#",),
    "engine": ("Software",),
    "result_id": ("ID",),
}

CHECKER_SUMMARY: dict[str, tuple[str, ...]] = {
    **_IN_BOTH,
    "value": ("Result",),
    "unit": ("Units",),
    "submitter": ("Organization",),
    "division": ("Division",),
    "system_type": ("SystemType",),
    "system": ("SystemName",),
    "benchmark": ("MlperfModel",),
    "model_folder": ("Model",),
    "nodes": ("number_of_nodes",),
    "host_processor": ("host_processor_model_name",),
    "accelerator_stated": ("accelerator_model_name",),
    "accelerators_per_node": ("accelerators_per_node",),
    "engine": ("framework",),
}

FORMS: dict[str, dict[str, tuple[str, ...]]] = {
    "results table": RESULTS_TABLE,
    "checker summary": CHECKER_SUMMARY,
}
"""The forms by name. A table has the form whose `value` column it has."""

NEEDED = ("value", "scenario")
"""Without these a table is none of ours."""


class Columns(msgspec.Struct, frozen=True):
    """The columns of one table: our name to the name in the file, for those that it has."""

    form: str
    names: dict[str, str]


def columns_of(header: Iterable[str]) -> Columns | None:
    """Match a table's column names with the forms; None where no form fits."""
    present = {_plain(name): name for name in reversed(list(header))}
    for form, table in FORMS.items():
        names = {
            key: present[_plain(name)] for key, known in table.items() for name in known if _plain(name) in present
        }
        if all(key in names for key in NEEDED):
            return Columns(form, names)
    return None


def cell_text(cell: object) -> str:
    """A cell as harmless text; empty where it states nothing or is no single value."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return (stated(cell) or "") if isinstance(cell, str | int | float) else ""


def picked(columns: Columns, cells: Mapping[str, object]) -> dict[str, str]:
    """One row under our names; cells that state nothing are left out."""
    texts = {key: cell_text(cells.get(name)) for key, name in columns.names.items()}
    return {key: text for key, text in texts.items() if text}


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "").replace("_", "")
