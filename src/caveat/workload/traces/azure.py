"""Azure's LLM inference traces of 2023 and 2024: CSV with ISO times and two lengths; no sessions, no prefixes."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.workload.traces.csvs import CsvColumns, read_columns
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import Raw

_COLUMNS = CsvColumns(time="TIMESTAMP", input="ContextTokens", output="GeneratedTokens")


def _recognises(head: Head) -> bool:
    return set(_COLUMNS.names().values()) <= set(head.header)


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    return read_columns(_COLUMNS, file, findings)


AZURE = Format(
    name="azure", title="Azure LLM inference CSV (2023, 2024)", recognises=_recognises, read=_read, time="TIMESTAMP"
)
