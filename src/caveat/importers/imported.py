"""What every importer gives back: runs, and what was wrong on the way. Nothing is raised for a bad file."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from caveat.errors import Problem
from caveat.figures import Run


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """Runs read, problems met, and files seen that hold no result (by reason, with a count)."""

    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()
    passed_over: dict[str, int] = {}


def together(parts: Iterable[Imported]) -> Imported:
    """Several results as one; runs of one subject are not merged here."""
    runs: list[Run] = []
    problems: list[Problem] = []
    passed_over: dict[str, int] = {}
    for part in parts:
        runs.extend(part.runs)
        problems.extend(part.problems)
        for reason, count in part.passed_over.items():
            passed_over[reason] = passed_over.get(reason, 0) + count
    return Imported(runs=tuple(runs), problems=tuple(problems), passed_over=passed_over)
