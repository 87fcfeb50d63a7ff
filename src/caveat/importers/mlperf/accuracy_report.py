"""Reads accuracy.txt: the output of the evaluation scripts, with the scores somewhere near its end.

Shapes seen: dictionaries of Python with plain, quoted or numpy numbers, JSON, a bare `'exact_match': 83.4`, and
`accuracy=97.8%`; between progress bars, test logs and thousands of single scores.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import msgspec

from caveat.errors import InputError, Problem
from caveat.importers.mlperf.bounded_file import scan_lines
from caveat.importers.mlperf.problems import problem

# name in the report -> name of the score, as in facts: the checker's key
SCORES: dict[str, str] = {
    "rouge1": "rouge1",
    "rouge2": "rouge2",
    "rougeL": "rougeL",
    "rougeLsum": "rougeLsum",
    "gsm8k": "gsm8k",
    "mbxp": "mbxp",
    "exact_match": "exact_match",
    "f1": "F1_HIERARCHICAL",
}
_LENGTH = "tokens_per_sample"
_NUMBER = r"[-+]?\d{1,20}(?:\.\d{0,30})?(?:e[-+]?\d{1,3})?"
_NAME = "|".join((*SCORES, _LENGTH))
_NAMED = re.compile(
    rf"""['"](?P<name>{_NAME})['"]\s*:\s*(?:np\.\w{{1,20}}\()?['"]?(?P<value>{_NUMBER})(?![\w.])""",
    re.IGNORECASE,
)
_PERCENT = re.compile(rf"\baccuracy\s*=\s*(?P<value>{_NUMBER})\s*%", re.IGNORECASE)
_BY_NAME = {name.casefold(): score for name, score in SCORES.items()}
_MAX_BYTES = 256 << 20


class AccuracyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the evaluation said. `scores` by the checker's keys; `tokens_per_sample` is the accuracy run's own mean.

    `line` is where the scores stand; of several score lines the last counts, as in the submission checker.
    """

    path: str
    sha256: str = ""
    line: int = 0
    scores: dict[str, float] = {}
    tokens_per_sample: float | None = None
    problems: tuple[Problem, ...] = ()


def read_accuracy(path: Path, shown: str) -> AccuracyReport:
    """The report at `path`, called `shown` in problems and sources. Never raises for what a file holds."""
    reading = _Reading()
    try:
        scanned = scan_lines(path, reading.take, max_bytes=_MAX_BYTES)
    except InputError as error:
        return AccuracyReport(path=shown, problems=(problem(error.code, shown, detail=error.message),))
    problems = () if reading.scores else (problem("accuracy-unrecognised", shown, found=reading.last),)
    return AccuracyReport(
        path=shown,
        sha256=scanned.sha256,
        line=reading.line,
        scores=reading.scores,
        tokens_per_sample=reading.length,
        problems=problems,
    )


class _Reading:
    """The scores of the last line that has any."""

    def __init__(self) -> None:
        self.line = 0
        self.scores: dict[str, float] = {}
        self.length: float | None = None
        self.last = b""

    def take(self, number: int, line: bytes) -> None:
        """One line of the file; a progress bar's carriage returns make several."""
        for part in line.split(b"\r"):
            if part.strip() and not part.startswith(b"hash="):
                self.last = part[:200]
                self._part(number, part.decode("utf-8", "replace"))

    def _part(self, number: int, text: str) -> None:
        named = {match["name"].casefold(): float(match["value"]) for match in _NAMED.finditer(text)}
        named = {name: value for name, value in named.items() if math.isfinite(value)}
        length = named.pop(_LENGTH, None)
        scores = {_BY_NAME[name]: value for name, value in named.items()}
        if percent := _PERCENT.search(text):
            scores["accuracy"] = float(percent["value"])
        if scores:
            self.line, self.scores = number, scores
            self.length = length if length and length > 0 else None
