"""JSONL as load generators take it (AIPerf, SGLang, vLLM, LLMServingSim): sessions, delays, other names for lengths.

A later turn may have a delay (milliseconds after the answer before it) in place of a time. The answer's end is not
in the file, so such a turn is placed that long after the turn before it: as early as it can have been.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from caveat.workload.exact import Float64
from caveat.workload.plan import NO_REQUEST, Int64
from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.jsonl import JsonFields, column, first_object, raw_of, rows_of
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import UNKNOWN, Raw, tokens_column

# our field, names that generators give it
_NAMES: Mapping[str, tuple[str, ...]] = {
    "time": ("timestamp", "arrival_time_ms", "arrival_time_ns", "arrival_time", "arrived_at"),
    "input": ("input_length", "prompt_length", "input_toks", "prompt_len", "num_prefill_tokens", "input_tokens"),
    "output": ("output_length", "response_length", "output_toks", "output_len", "num_decode_tokens", "output_tokens"),
    "session": ("session_id", "conversation_id"),
    "blocks": ("hash_ids",),
}
UNITS: Mapping[str, str] = {"timestamp": "ms"}
"""Units of fields of times that these tools declare; other names say theirs or leave it open."""

_TEXT, _DELAY, _MAX = "text_input", "delay", "max_tokens"
_BYTES_A_TOKEN = 4


def _recognises(head: Head) -> bool:
    names = _names_in(head.fields)
    times = "time" in names or _DELAY in head.fields
    return times and ("input" in names or _TEXT in head.fields) and ("output" in names or _MAX in head.fields)


def _names_in(fields: Mapping[str, Any]) -> dict[str, str]:
    return {ours: theirs for ours, names in _NAMES.items() for theirs in reversed(names) if theirs in fields}


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    names = _names_in(first_object(file.head()))
    fields = JsonFields(
        time=names.get("time", "timestamp"),
        input=names.get("input", "input_length"),
        output=names.get("output", _MAX),
        session=names.get("session", "session_id"),
        blocks=names.get("blocks"),
        others=(_DELAY, _TEXT),
    )
    last: dict[int, float] = {}
    for lines, rows in rows_of(fields, file, findings):
        if rows:
            raw = raw_of(fields, lines, rows)
            raw = replace(raw, input_tokens=_with_texts(raw, rows, findings))
            yield _with_delays(raw, rows, last, findings) if raw.time.dtype == np.float64 else raw


def _with_texts(raw: Raw, rows: Sequence[Any], findings: Findings) -> Int64:
    """Lengths; where only a text was given, its bytes divided by four."""
    texts = column(rows, "other_1")
    bare = [place for place in np.flatnonzero(raw.input_tokens == UNKNOWN) if isinstance(texts[place], str)]
    if not bare:
        return raw.input_tokens
    findings.add("tokens-estimated", int(raw.line[bare[0]]), count=len(bare))
    findings.add("text-dropped", int(raw.line[bare[0]]), count=len(bare))
    lengths = raw.input_tokens.copy()
    lengths[bare] = [-(-len(texts[place].encode("utf-8", "replace")) // _BYTES_A_TOKEN) for place in bare]
    return lengths


def _with_delays(raw: Raw, rows: Sequence[Any], last: dict[int, float], findings: Findings) -> Raw:
    """Times; a turn with a delay only gets the last time of its session and the delay."""
    time: Float64 = np.asarray(raw.time, np.float64).copy()
    assert raw.session is not None
    delays = tokens_column(column(rows, "other_0"))
    for place in np.flatnonzero(raw.session != NO_REQUEST):
        session = int(raw.session[place])
        if np.isnan(time[place]) and session in last and delays[place] >= 0:
            time[place] = last[session] + float(delays[place])
            findings.add("time-from-delay", int(raw.line[place]))
        last[session] = float(time[place])
    return replace(raw, time=time)


def name_of_time(head: Head) -> str:
    """The field of times in this file."""
    return _names_in(head.fields).get("time", "timestamp")


BENCH_JSONL = Format(
    name="bench-jsonl",
    title="JSONL for load generators (AIPerf, SGLang, vLLM)",
    recognises=_recognises,
    read=_read,
    block_tokens=512,
)
