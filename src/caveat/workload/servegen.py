"""ServeGen's parameter files: a folder of clients, each with its rate and burstiness every ten minutes.

`chunk-N-trace.csv` has no header: start of a window (s), rate (requests/s), CV of the gaps, fitted family, shape,
scale. `chunk-N-dataset.json` holds histograms of input and output lengths every six hours, each a table from length
to probability written as text inside a JSON string. There are no rows of requests in either.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from caveat.errors import InputError
from caveat.workload.bounds import MAX_CV, MAX_TOKENS, MIN_CV, increasing
from caveat.workload.gaps import ExponentialGaps, GammaGaps, Gaps, WeibullGaps, weibull_cv
from caveat.workload.lengths import Histogram
from caveat.workload.pairs import Separate
from caveat.workload.superposition import Client, Superposition
from caveat.workload.varying import Window, Windows

TRACE_NAME = re.compile(r"chunk-(\d{1,6})-trace\.csv")
_ENTRY = re.compile(r"(\d{1,9}): ([0-9.eE+-]{1,40})")
_MAX_FILE_BYTES = 64 << 20
_MAX_WINDOWS = 100_000
_COUNTED = 1_000_000
"""Probabilities become whole counts of this many: what is rarer than one in two million is dropped."""


@dataclass(frozen=True, slots=True)
class ServegenClients:
    """The clients of a folder; `without_lengths` names those that have no histograms and were left out."""

    arrivals: Superposition
    without_lengths: tuple[str, ...]


def read_servegen(
    folder: Path, *, from_s: float = 0.0, until_s: float | None = None, rate_scale: float = 1.0
) -> ServegenClients:
    """The clients of a folder between two times, which become 0 and the end; rates times `rate_scale`.

    A rate is the counted one and the family gives the spread only, since fitted scales do not always agree with the
    rate. A client's lengths are those of its six-hour windows in the stretch, weighted by the requests expected in
    each, and do not change within it; input and output are drawn independently, as their histograms are.
    InputError for a folder without clients, or a file that cannot be read, with its line.
    """
    clients, missing = [], []
    for path in _trace_files(folder):
        windows = _windows(path, from_s, until_s, rate_scale)
        if windows is None:
            continue
        name = path.name.removesuffix("-trace.csv")
        lengths = _lengths(path.with_name(f"{name}-dataset.json"), windows, from_s)
        if lengths is None:
            missing.append(name)
        else:
            clients.append(Client(arrivals=windows, lengths=lengths, name=name))
    if not clients:
        raise InputError(
            f"{folder.name}: no client with requests and lengths from {from_s:g} s",
            code="servegen",
            next="expected chunk-N-trace.csv with chunk-N-dataset.json; try another stretch of time",
        )
    return ServegenClients(Superposition(tuple(clients)), tuple(missing))


def _trace_files(folder: Path) -> list[Path]:
    numbered = [(TRACE_NAME.fullmatch(path.name), path) for path in folder.glob("chunk-*-trace.csv")]
    return [path for _, path in sorted((int(match[1]), path) for match, path in numbered if match)]


def _windows(path: Path, from_s: float, until_s: float | None, rate_scale: float) -> Windows | None:
    try:
        rows = list(_rows(path))
    except csv.Error as error:
        raise _wrong(path, 1, str(error)) from error
    if not rows:
        raise InputError(f"{path.name}: no windows", code="servegen", next="expected a line for every ten minutes")
    increasing(f"{path.name}: start of a window", [row.start_s for row in rows])
    step_s = rows[1].start_s - rows[0].start_s if len(rows) > 1 else 600.0
    end_s = min(rows[-1].start_s + step_s, until_s if until_s is not None else math.inf) - from_s
    kept = [
        Window(max(row.start_s - from_s, 0.0), row.rate_qps * rate_scale, row.gaps)
        for row in rows
        if row.start_s + step_s > from_s and row.start_s - from_s < end_s
    ]
    return Windows(tuple(kept), end_s) if any(window.rate_qps > 0 for window in kept) else None


def _rows(path: Path) -> Iterator[Window]:
    with _bounded(path).open(encoding="utf-8", errors="replace", newline="") as lines:
        for number, cells in enumerate(csv.reader(lines), 1):
            if number > _MAX_WINDOWS:
                raise _wrong(path, number, f"more than {_MAX_WINDOWS:,} windows")
            try:
                start, rate, _, family, shape, _ = cells
                rate_qps = float(rate)
                gaps = _gaps(family, float(shape)) if rate_qps > 0 else ExponentialGaps()
                yield Window(float(start), rate_qps, gaps)
            except (ValueError, ArithmeticError, InputError) as error:
                raise _wrong(path, number, str(error)) from error


def _gaps(family: str, shape: float) -> Gaps:
    """The fitted family with its spread, within the bounds of a CV; a fit to one gap or none says nothing."""
    if not 0 < shape < math.inf:
        raise ValueError(f"shape {shape!r}")
    match family:
        case "Gamma":
            return GammaGaps(min(max(1.0 / math.sqrt(shape), MIN_CV), MAX_CV))
        case "Weibull":
            return WeibullGaps(min(max(weibull_cv(min(1.0 / shape, 20.0)), MIN_CV), MAX_CV))
    raise ValueError(f"family {family!r}, expected Gamma or Weibull")


def _lengths(path: Path, windows: Windows, from_s: float) -> Separate | None:
    if not path.is_file():
        return None
    try:
        tables = msgspec.json.decode(_bounded(path).read_bytes(), type=dict[str, dict[str, str]])
        by_start = sorted((float(start), table) for start, table in tables.items())
    except (msgspec.MsgspecError, ValueError) as error:
        raise _wrong(path, 1, str(error)) from error
    starts = [start_s - from_s for start_s, _ in by_start]
    weights = _requests_in(windows, starts)
    input_shares, output_shares = (
        _mixed(
            [(weight, _probabilities(table.get(key, ""))) for weight, (_, table) in zip(weights, by_start, strict=True)]
        )
        for key in ("input_tokens", "output_tokens")
    )
    if not input_shares or not output_shares:
        return None
    return Separate(input=_histogram(input_shares), output=_histogram(output_shares))


def _requests_in(windows: Windows, starts: list[float]) -> list[float]:
    """Requests expected from each start to the next."""
    until = [windows.expected(start_s) if start_s > 0 else 0.0 for start_s in starts]
    return [end - start for start, end in zip(until, [*until[1:], windows.expected(windows.end_s)], strict=True)]


def _probabilities(text: str) -> dict[int, float]:
    return {int(length): float(probability) for length, probability in _ENTRY.findall(text)}


def _mixed(parts: list[tuple[float, dict[int, float]]]) -> dict[int, float]:
    """Windows' tables added up by their requests, to a sum of 1; empty if none has any."""
    shares: dict[int, float] = {}
    for weight, table in parts:
        for length, probability in table.items():
            if 1 <= length <= MAX_TOKENS and 0 < probability <= 1 and weight > 0:
                shares[length] = shares.get(length, 0.0) + weight * probability
    total = sum(shares.values())
    return {length: share / total for length, share in sorted(shares.items())}


def _histogram(shares: dict[int, float]) -> Histogram:
    """Exact lengths as bins of one token, with empty bins between."""
    edges: list[int] = []
    counts: list[int] = []
    for length, share in shares.items():
        if edges and edges[-1] != length:
            counts.append(0)
            edges.append(length)
        elif not edges:
            edges.append(length)
        counts.append(round(share * _COUNTED))
        edges.append(length + 1)
    return Histogram(tuple(edges), tuple(counts))


def _bounded(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path.name}: not a file", code="servegen", next="expected the file itself")
    size = path.stat().st_size
    if size > _MAX_FILE_BYTES:
        raise InputError(
            f"{path.name}: {size:,} bytes", code="servegen", next=f"expected at most {_MAX_FILE_BYTES:,} bytes"
        )
    return path


def _wrong(path: Path, line: int, found: str) -> InputError:
    return InputError(
        f"{path.name}, line {line}: {found[:120]!r}",
        code="servegen",
        next="expected start_s, rate, cv, family, shape, scale (trace) or tables of lengths by start_s (dataset)",
    )
