"""What the parent and the process that runs LoadGen say to each other: frames (frames.py) with JSON inside."""

from __future__ import annotations

import importlib
from typing import Any

import msgspec

from caveat.errors import UsageError
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.official.settings import OfficialSettings
from caveat.loadgen.selfcheck import ProcessReport

PROGRESS = b"G"
"""Beside the kinds of frames.py: how far it has come."""


class OfficialOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is to do. The endpoint names the key's variable; the key comes with the environment."""

    settings: OfficialSettings
    endpoint: Endpoint
    folder: str
    deadline_s: float


class OfficialProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run has come, in samples; told about once a second."""

    elapsed_s: float
    issued: int
    completed: int
    failed: int


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the process says at its end: what it counted, by the names of OfficialCounts, and about its client."""

    counts: dict[str, int]
    start_spread_s: float | None
    client: ProcessReport
    errors: tuple[str, ...]


def loadgen() -> Any:
    """The module of the package. Raises UsageError where it is not installed."""
    try:
        return importlib.import_module("mlperf_loadgen")
    except ImportError as error:
        raise UsageError(
            "official LoadGen: the package `mlcommons-loadgen` is missing",
            code="loadgen-missing",
            next="pip install 'caveat[mlperf]'",
        ) from error
