"""BurstGPT CSV: seconds from the start, tokens of request and response, in newer releases a session.

Failed requests stand in it with no response tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from caveat.workload.traces.csvs import CsvColumns, header_of, read_columns
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import Raw

_NAMES = ("Timestamp", "Request tokens", "Response tokens")
_SESSION = "Session ID"


def _recognises(head: Head) -> bool:
    return set(_NAMES) <= set(head.header)


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    header, _ = header_of(file.head())
    columns = CsvColumns(
        time=_NAMES[0], input=_NAMES[1], output=_NAMES[2], session=_SESSION if _SESSION in header else None
    )
    return read_columns(columns, file, findings)


BURSTGPT = Format(name="burstgpt", title="BurstGPT CSV", recognises=_recognises, read=_read, time="Timestamp", unit="s")
