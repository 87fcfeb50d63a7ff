"""importers: other people's result files become Runs. `read` takes any mix of files and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from caveat.errors import DocumentError, Problem
from caveat.figures import Run, merge_all
from caveat.importers.formats import FORMATS, Format, Progress, format_named, format_of
from caveat.importers.imported import Imported, together
from caveat.importers.mlperf import NO_LOG, ScheduleVerdict, check_schedules, claim_of, schedule_claims, verified
from caveat.importers.mlperf.problems import CODES as PROBLEM_CODES
from caveat.importers.mlperf.problems import problem

__all__ = [
    "FORMATS",
    "PROBLEM_CODES",
    "Format",
    "Imported",
    "Progress",
    "Schedule",
    "format_named",
    "format_of",
    "read",
    "together",
    "verify_runs",
    "verify_schedules",
]

TREE = "mlperf-tree"

# Folders of a submission tree below which no table lies: they are the many, and the tree's own reader visits them.
_WITHOUT_TABLES = frozenset(
    ("results", "measurements", "compliance", "systems", "code", "src", "documentation", ".git")
)
_TABLE_SUFFIXES = (".json", ".csv")


def read(
    paths: Sequence[Path], *, as_format: str | None = None, progress: Progress | None = None, verify: bool = False
) -> Imported:
    """Everything that the paths hold, the runs of one subject merged into one, in the order of their subjects.

    A folder is read as a submission tree and searched for tables and Run documents. `as_format` names the format
    instead of recognising it. `verify` recomputes the arrival schedules of Server logs, which takes seconds. Nothing
    is raised for what files hold: see the problems. Raises UsageError for a format that does not exist.
    """
    chosen = format_named(as_format) if as_format is not None else None
    parts = together(part for path in paths for part in _read_path(path, chosen, progress))
    runs, conflicts = _merged(parts.runs)
    if verify:
        claims = [claim for path in paths if _may_hold_logs(path) for claim in schedule_claims(path)]
        runs, differing = verified(runs, claims, progress=progress)
        conflicts = (*conflicts, *differing)
    problems = tuple(dict.fromkeys((*parts.problems, *conflicts)))
    return Imported(runs=runs, problems=problems, passed_over=parts.passed_over)


class Schedule(msgspec.Struct, frozen=True):
    """What came of playing one run's arrival schedule again: reproduced, differs, or not checkable, and why."""

    subject: str
    state: str
    detail: str


def verify_schedules(paths: Sequence[Path], *, progress: Progress | None = None) -> tuple[Schedule, ...]:
    """The schedules of all open-loop runs that the paths hold, in the order of their subjects."""
    schedules = []
    for run in read(paths, progress=progress, verify=True).runs:
        sentences = [entry.sentence for entry in run.validity if entry.aspect == "schedule"]
        if sentences:
            schedules.append(Schedule(run.subject, run.conditions.text("schedule"), "; ".join(sentences)))
    return tuple(schedules)


def verify_runs(runs: Sequence[Run]) -> tuple[Schedule, ...]:
    """The schedules of runs that are kept, played again from their conditions, in the order given."""
    claims = {run.subject: claim for run in runs if (claim := claim_of(run)) is not None}
    verdicts = check_schedules([claim for claim in claims.values() if claim.generated_duration_ns is not None])
    return tuple(_schedule(run, run.subject in claims, verdicts.get(run.subject)) for run in runs)


def _schedule(run: Run, arrives: bool, verdict: ScheduleVerdict | None) -> Schedule:
    if verdict is not None:
        return Schedule(run.subject, verdict.state, verdict.detail)
    return Schedule(run.subject, "not checkable", NO_LOG if arrives else "only open-loop runs have an arrival schedule")


def _read_path(path: Path, chosen: Format | None, progress: Progress | None) -> Iterator[Imported]:
    if not os.path.lexists(path):
        yield Imported(problems=(problem("path-missing", str(path), next="check the spelling of the path"),))
    elif chosen is not None:
        yield chosen.read(path, progress)
    elif path.is_dir():
        yield from _read_folder(path, progress)
    elif (known := format_of(path)) is not None:
        yield known.read(path, progress)
    else:
        yield Imported(problems=(_unknown(path),))


def _read_folder(folder: Path, progress: Progress | None) -> Iterator[Imported]:
    """The tables and documents in a folder, then the submission tree that it may be."""
    tables = [one.read(path, progress) for path in sorted(_files(folder)) if (one := format_of(path)) is not None]
    tree = format_named(TREE).read(folder, progress)
    if any(table.runs for table in tables):
        tree = Imported(
            runs=tree.runs,
            problems=tuple(one for one in tree.problems if one.code != "no-results"),
            passed_over=tree.passed_over,
        )
    yield from (*tables, tree)


def _files(folder: Path) -> Iterator[Path]:
    """Files that may be tables or documents, outside the folders of a tree that hold none. Links are not followed."""
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _WITHOUT_TABLES]
        yield from (Path(where, name) for name in names if name.lower().endswith(_TABLE_SUFFIXES))


def _may_hold_logs(path: Path) -> bool:
    known = format_of(path)
    return known is not None and known.name == TREE


def _merged(runs: Iterable[Run]) -> tuple[tuple[Run, ...], tuple[Problem, ...]]:
    """One run for each subject, in the order of subjects, whatever order they were read in."""
    by_subject: dict[str, list[Run]] = {}
    for run in runs:
        by_subject.setdefault(run.subject, []).append(run)
    merged: list[Run] = []
    problems: list[Problem] = []
    for subject in sorted(by_subject):
        same = by_subject[subject]
        try:
            run = merge_all(same) if len(same) > 1 else same[0]
        except DocumentError as error:
            run = same[0]
            problems.append(problem("subject-differs", _path_of(run), detail=error.message))
        merged.append(run)
        problems += _disagreements(run, same)
    return tuple(merged), tuple(problems)


def _disagreements(run: Run, parts: Sequence[Run]) -> Iterator[Problem]:
    """The values on which files that were read together differ; what one file says of itself is no news."""
    known = {entry for part in parts for entry in part.validity}
    for entry in run.validity:
        if entry.aspect == "sources agree" and entry.outcome != "pass" and entry not in known:
            yield problem("sources-differ", _path_of(run), detail=run.subject, found=entry.sentence)


def _path_of(run: Run) -> str:
    """The file that a problem with a run names; a run of one's own may have none."""
    return run.provenance.sources[0].path if run.provenance.sources else run.subject


def _unknown(path: Path) -> Problem:
    if not os.access(path, os.R_OK):
        return problem("file-unreadable", str(path))
    known = ", ".join(f"{one.name} ({one.description})" for one in FORMATS)
    return problem("format-unknown", str(path), expected=f"one of: {known}", next="name the format with --as FORMAT")
