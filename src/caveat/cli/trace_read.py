"""How caveat trace reads a file: its options, what is refused before reading, and next steps in words of options."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.spec_options import factors
from caveat.errors import CaveatError, UsageError
from caveat.workload import (
    Recording,
    TraceRead,
    first_seconds,
    is_servegen,
    read_trace,
    scaled_lengths,
    servegen_recording,
    sped_up,
    thinned,
)

TraceFile = Annotated[Path, typer.Argument(help="Trace file; or a folder of ServeGen's parameters, which is drawn.")]
FormatOption = Annotated[str | None, typer.Option("--format", help="Format, where it is not recognised.")]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", help="Map of columns: time=ts,input=prompt_len,output=gen_len[,session=id].")
]
UnitOption = Annotated[str | None, typer.Option("--time-unit", help="s, ms, us or ns, where nothing says it.")]
FirstOption = Annotated[
    float | None,
    typer.Option("--first", help="Only the first so many seconds; of ServeGen's clients 3600 if left out."),
]

_MAP = "--columns time=ts,input=prompt_len,output=gen_len, with the file's own names"
_NEXT = {
    "trace-time-unit": "--time-unit s, ms, us or ns",
    "trace-column-missing": _MAP,
    "trace-column-unknown": _MAP,
}
"""What to do about an error of reading, by its code, where an option of this command does it."""


def read(
    file: Path, form: str | None, columns: str | None, time_unit: str | None, first: float | None = None
) -> TraceRead:
    """The whole trace, and of ServeGen's clients a stretch drawn with seed 0; cut to the first seconds."""
    if first is not None and not (0 < first < math.inf):
        raise UsageError(f"--first: found {first:g}, expected a number of seconds above 0", next="--first 600")
    if is_servegen(file):
        drawn = servegen_recording(file) if first is None else servegen_recording(file, duration_s=first)
        return TraceRead(drawn, ())
    try:
        found = read_trace(file, format=form, columns=column_map(columns), time_unit=time_unit)
    except CaveatError as error:
        error.next = _NEXT.get(error.code, error.next)
        raise
    return found if first is None else TraceRead(first_seconds(found.recording, first), found.problems)


def column_map(text: str | None) -> dict[str, str] | None:
    """`time=ts,input=a,output=b` as a map from our names to the file's; UsageError for anything else."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    wrong = next((part for part in pairs if not (part[0].strip() and part[1] and part[2].strip())), None)
    if wrong is not None:
        raise UsageError(f"--columns: found {''.join(wrong)[:40]!r}, expected OURS=THEIRS", next=_MAP)
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def changed(recording: Recording, *, thin: int = 1, speed: float = 1.0, scale: str | None = None) -> Recording:
    """The recording with the changes that options ask for; each stands in its source."""
    if not 0 < speed < math.inf:
        raise UsageError(f"--speed: found {speed:g}, expected a factor above 0", next="--speed 2")
    if thin != 1:
        recording = thinned(recording, thin)
    if scale is not None:
        by_input, by_output = factors(scale)
        if not (0 < by_input < math.inf and 0 < by_output < math.inf):
            raise UsageError(f"--scale: found {scale[:40]!r}, expected factors above 0", next="--scale 0.1,0.5")
        recording = scaled_lengths(recording, input=by_input, output=by_output)
    return sped_up(recording, speed) if speed != 1.0 else recording
