"""The folder of an official run.

mlperf_log_summary.txt, mlperf_log_detail.txt, mlperf_log_accuracy.json   LoadGen's own, for the importer
settings.json     what was asked for, without keys and without anybody's prompts
order.json        the sample index of every request, in the order in which LoadGen issued them
samples.parquet   caveat-samples/1 of the same requests, numbered in that order
"""

from __future__ import annotations

import hashlib
from array import array
from pathlib import Path

import msgspec

from caveat.errors import InputError, RefusedError
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.official.settings import OfficialSettings

SUMMARY, DETAIL, ACCURACY = "mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"
SETTINGS, ORDER, SAMPLES = "settings.json", "order.json", "samples.parquet"


class SampleOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Which samples LoadGen chose, by its own shuffle, which no standard fixes: to be replayed, it must be kept."""

    format: str = "caveat-loadgen-order/1"
    scenario: str
    samples_per_query: int
    indices: list[int]


def new_folder(folder: Path, settings: OfficialSettings, endpoint: Endpoint) -> None:
    """Make the folder and write what was asked for. RefusedError where anything lies in it, InputError for a disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise RefusedError(f"{folder}: found files in it, expected a new folder", next="name another folder")
        (folder / SETTINGS).write_bytes(msgspec.json.format(msgspec.json.encode(_described(settings, endpoint))))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}, expected a folder to write into") from error


def _described(settings: OfficialSettings, endpoint: Endpoint) -> dict[str, object]:
    asked = msgspec.to_builtins(settings)
    texts = asked.pop("prompts")
    if texts:
        digest = hashlib.sha256(msgspec.json.encode(texts)).hexdigest()
        asked["prompts"] = {"count": len(texts), "sha256": digest}
    return {"format": "caveat-official-settings/1", "settings": asked, "endpoint": endpoint.describe()}


def write_order(folder: Path, settings: OfficialSettings, indices: array[int]) -> None:
    """Keep the order."""
    each = settings.samples_per_query if settings.scenario == "multi-stream" else 1
    order = SampleOrder(scenario=settings.scenario, samples_per_query=each, indices=indices.tolist())
    (folder / ORDER).write_bytes(msgspec.json.encode(order))
