"""The visible table of trace formats, and the choice among them. To add one: a module and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from caveat.errors import InputError, UsageError
from caveat.workload.servegen import TRACE_NAME as SERVEGEN_NAME
from caveat.workload.traces import bench_jsonl, request_log
from caveat.workload.traces.azure import AZURE
from caveat.workload.traces.bailian import BAILIAN
from caveat.workload.traces.bench_jsonl import BENCH_JSONL
from caveat.workload.traces.burstgpt import BURSTGPT
from caveat.workload.traces.foreign import Format, Head, look_at
from caveat.workload.traces.generic import generic_format
from caveat.workload.traces.lengths_only import LENGTHS_ONLY
from caveat.workload.traces.mooncake import MOONCAKE
from caveat.workload.traces.own import OWN
from caveat.workload.traces.request_log import REQUEST_LOG

FORMATS: tuple[Format, ...] = (OWN, MOONCAKE, BAILIAN, AZURE, BURSTGPT, BENCH_JSONL, REQUEST_LOG, LENGTHS_ONLY)
"""In the order in which they are tried; what none of them knows is generic, by a map of columns or usual names."""

GENERIC = "generic"


def format_of(path: Path, name: str | None = None, columns: Mapping[str, str] | None = None) -> Format:
    """The format of a file, by name or by its beginning, with the name and unit of its field of times.

    UsageError for an unknown name, InputError for a file that none of them can be.
    """
    if columns is not None and name not in (None, GENERIC):
        raise UsageError(
            f"format: found {name!r} beside a map of columns, expected one of the two",
            next="leave the format out where the columns are mapped",
        )
    head = look_at(path)
    if columns is not None or name == GENERIC:
        chosen = generic_format(path, head, columns)
    elif name is not None:
        chosen = _named(name)
    else:
        chosen = next((one for one in FORMATS if one.recognises(head)), None) or _generic(path, head)
    return _with_time(chosen, head)


def _named(name: str) -> Format:
    for one in FORMATS:
        if one.name == name:
            return one
    known = ", ".join([one.name for one in FORMATS] + [GENERIC])
    raise UsageError(f"format: found {name[:40]!r}, expected one of {known}", next="leave it out to have it recognised")


def _generic(path: Path, head: Head) -> Format:
    if SERVEGEN_NAME.fullmatch(path.name):
        raise InputError(
            f"{path.name}: found one client's parameters of ServeGen, expected requests",
            code="trace-format-unknown",
            next="give its folder, from which requests are drawn",
        )
    if not head.fields and not head.header and head.suffix != ".parquet":
        raise InputError(
            f"{path.name}: no format is recognised, expected JSON lines, CSV with a header or Parquet",
            code="trace-format-unknown",
            next="say the format, or map the columns",
        )
    return generic_format(path, head, None)


def _with_time(chosen: Format, head: Head) -> Format:
    """Two formats have several names for the field of times."""
    if chosen is BENCH_JSONL:
        name = bench_jsonl.name_of_time(head)
        return replace(chosen, time=name, unit=bench_jsonl.UNITS.get(name))
    return replace(chosen, time=request_log.name_of_time(head)) if chosen is REQUEST_LOG else chosen
