"""JSONL of prompts for load generators, without times: vLLM's custom sets and ShareGPT conversations. Lengths only.

Prompts are measured at 4 bytes a token and dropped. Of a ShareGPT conversation the first two turns are taken, as
vLLM and SGLang take them: the prompt and its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from caveat.workload.traces.findings import Findings
from caveat.workload.traces.foreign import Format, Head
from caveat.workload.traces.lines import LineFile, Piece
from caveat.workload.traces.raw import Raw, tokens_column

_BYTES_A_TOKEN = 4
_TURNS = ("conversations", "conversation")
_TIMES = ("timestamp", "created", "time", "ts", "arrival_time", "delay")


def _recognises(head: Head) -> bool:
    custom = isinstance(head.fields.get("prompt"), str) and "output_tokens" in head.fields
    sharegpt = any(isinstance(head.fields.get(name), list) for name in _TURNS)
    return (custom or sharegpt) and not any(name in head.fields for name in _TIMES)


def _read(file: LineFile, findings: Findings) -> Iterator[Raw]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    for piece in file.pieces():
        rows = list(_rows(piece, decoder, findings))
        if rows:
            lines, input_tokens, output_tokens = zip(*rows, strict=True)
            yield Raw(
                line=np.array(lines, np.int64),
                time=np.zeros(len(rows)),
                input_tokens=tokens_column(input_tokens),
                output_tokens=tokens_column(output_tokens),
            )


def _rows(
    piece: Piece, decoder: msgspec.json.Decoder[dict[str, Any]], findings: Findings
) -> Iterator[tuple[int, object, object]]:
    for number, line in enumerate(piece.data.split(b"\n"), piece.first_line):
        if not line.strip():
            continue
        try:
            fields = decoder.decode(line.decode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            findings.add("line-malformed", number)  # the decoder's words may quote the line
            continue
        findings.add("text-dropped", number)
        findings.add("tokens-estimated", number)
        yield number, *_lengths(fields)


def _lengths(fields: Mapping[str, Any]) -> tuple[object, object]:
    turns = next((fields[name] for name in _TURNS if isinstance(fields.get(name), list)), None)
    if turns is not None:
        texts = [turn.get("value", turn.get("content")) if isinstance(turn, dict) else None for turn in turns[:2]]
        return tuple(_estimate(text) for text in [*texts, None, None][:2])  # type: ignore[return-value]
    return _estimate(fields.get("prompt")), fields.get("output_tokens")


def _estimate(text: object) -> int | None:
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN) if isinstance(text, str) and text else None


LENGTHS_ONLY = Format(
    name="lengths-only",
    title="prompts for load generators without times (vLLM custom, ShareGPT JSONL)",
    recognises=_recognises,
    read=_read,
    unit="s",
    timed=False,
)
