"""Mooncake JSONL: milliseconds from the start, lengths, and one id for each 512 tokens of the prompt.

An id stands for the block and everything before it, so equal ids are equal prefixes. vLLM's and SGLang's replays
read the same fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.jsonl import JsonFields, read_fields
from caveat.workload.traces.lines import LineFile
from caveat.workload.traces.raw import Raw

_FIELDS = JsonFields(time="timestamp", input="input_length", output="output_length", blocks="hash_ids")


def _recognises(head: Head) -> bool:
    other = {"chat_id", "session_id", "delay", "text_input"} & head.fields.keys()
    return {"timestamp", "input_length", "output_length"} <= head.fields.keys() and not other


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    return read_fields(_FIELDS, file, findings)


MOONCAKE = Format(
    name="mooncake",
    title="Mooncake JSONL (512-token hash blocks)",
    recognises=_recognises,
    read=_read,
    unit="ms",
    block_tokens=512,
)
