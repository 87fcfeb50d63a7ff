"""Reads submission trees: from a whole round down to one log file, whatever of it is there.

Results are only the logs of results/<system>/<model>/<scenario>/performance/run_1. Everything else that looks like
a log is not: compliance runs, ranging runs, repetitions, and the logs that vendors leave in their code folders.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from caveat.errors import CaveatError, InputError, Problem
from caveat.figures import Run
from caveat.importers.imported import Imported
from caveat.importers.mlperf.accuracy_report import AccuracyReport, read_accuracy
from caveat.importers.mlperf.bounded_file import read_head
from caveat.importers.mlperf.descriptions import Description, read_measurement, read_model_mapping, read_system
from caveat.importers.mlperf.evidence import Evidence, schedule_claim
from caveat.importers.mlperf.loadgen_detail import PREFIX, read_log_detail
from caveat.importers.mlperf.loadgen_log import SEEDS, LoadgenLog
from caveat.importers.mlperf.loadgen_summary import read_log_summary
from caveat.importers.mlperf.log_run import run_of
from caveat.importers.mlperf.place import Spot, spot_of
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.schedule_check import ScheduleClaim
from caveat.importers.mlperf.tree_walk import Walk

DETAIL_FILE, SUMMARY_FILE = "mlperf_log_detail.txt", "mlperf_log_summary.txt"
RUN = ("performance", "run_1")
_POWER_FOLDERS = frozenset(("power", "ranging"))
_COPY = "copy of a run that was read"

Progress = Callable[[int, int], None]


def read_tree(root: Path, *, progress: Progress | None = None) -> Imported:
    """Every run of a language benchmark at or below `root`, with what was wrong on the way. Raises nothing.

    `root` may be a tree, a part of one, or a log file that stands anywhere. `progress` hears (done, total).
    """
    path = _absolute(root)
    if not path.exists():
        return Imported(problems=(problem("path-missing", str(root)),))
    walk = Walk(path)
    reader = _Reader()
    for done, evidence in enumerate(reader.evidence(path, walk), 1):
        reader.add(evidence)
        if progress is not None:
            progress(done, max(done, len(walk.found)))
    problems = [*walk.problems, *reader.problems]
    if not reader.runs and not problems and not walk.passed_over:
        problems.append(problem("no-results", str(root)))
    return Imported(
        runs=tuple(reader.runs.values()),
        problems=tuple(problems),
        passed_over=dict(sorted((reader.passed_over + walk.passed_over).items())),
    )


def schedule_claims(root: Path) -> tuple[ScheduleClaim, ...]:
    """What the detail logs of all open-loop runs at or below `root` say of their schedules, by subject."""
    path = _absolute(root)
    claims = (schedule_claim(evidence) for evidence in _Reader(logs_only=True).evidence(path, Walk(path)))
    return tuple({claim.id: claim for claim in claims if claim is not None}.values())


class _Reader:
    """Reads scenario folders one after another; descriptions of systems are read once."""

    def __init__(self, *, logs_only: bool = False) -> None:
        self.logs_only = logs_only
        self.runs: dict[str, Run] = {}
        self.problems: list[Problem] = []
        self.passed_over: Counter[str] = Counter()
        self._systems: dict[Path, Description] = {}
        self._mappings: dict[Path, dict[str, str]] = {}

    def add(self, evidence: Evidence) -> None:
        """Keep the run of one folder, if it has one and its place is not taken."""
        try:
            run, problems = run_of(evidence)
        except CaveatError as error:  # a value that the checks of the log let through and a record refused
            run, problems = None, (problem("value-impossible", evidence.folder, detail=error.message),)
        self.problems += problems
        if run is None:
            return
        taken = self.runs.setdefault(run.subject, run)
        if taken is run:
            return
        if taken.conditions.get("fingerprint") == run.conditions.get("fingerprint"):
            self.passed_over[_COPY] += 1
        else:
            self.problems.append(problem("subject-twice", evidence.folder, found=run.subject))

    def evidence(self, path: Path, walk: Walk) -> Iterator[Evidence]:
        """What was found at the path itself or below it."""
        spot = spot_of(path)
        if spot is not None:
            if not _names_the_run(spot):
                self.problems.append(problem("not-a-result", "/".join((spot.published, *spot.inside))))
            elif walk.is_language(spot.place.model):
                yield self._of_folder(spot)
        elif path.is_file():
            yield _stray(path)
        else:
            if any((path / name).is_file() for name in (DETAIL_FILE, SUMMARY_FILE)):
                yield _stray(path)
            for found in walk.spots():
                yield self._of_folder(found)

    def _of_folder(self, spot: Spot) -> Evidence:
        run_folder, shown = spot.folder.joinpath(*RUN), "/".join((spot.published, *RUN))
        detail, summary = _logs(run_folder, shown)
        if self.logs_only:
            return Evidence(folder=shown, place=spot.place, detail=detail, summary=summary)
        return Evidence(
            folder=shown,
            place=spot.place,
            detail=detail,
            summary=summary,
            accuracy=self._accuracy(spot),
            system=self._system(spot),
            measurement=read_measurement(_measurement_files(spot), spot.published),
            model=self._official_name(spot),
            power_run=_has_power(spot),
        )

    def _system(self, spot: Spot) -> Description:
        platform = spot.place.platform
        path = spot.submitter_folder / "systems" / f"{spot.names[0]}.json"
        if path not in self._systems:
            shown = f"{spot.place.division}/{spot.place.submitter}/systems/{platform}.json"
            self._systems[path] = read_system(path, shown, platform)
            self.problems += self._systems[path].problems
        return self._systems[path]

    def _official_name(self, spot: Spot) -> str | None:
        """The name that an open submission's own mapping gives to its model."""
        if spot.place.division != "open":
            return None
        path = spot.submitter_folder / "model_mapping.json"
        if path not in self._mappings:
            shown = f"{spot.place.division}/{spot.place.submitter}/model_mapping.json"
            self._mappings[path], problems = read_model_mapping(path, shown)
            self.problems += problems
        return self._mappings[path].get(spot.names[1])

    def _accuracy(self, spot: Spot) -> AccuracyReport | None:
        folder, shown = spot.folder / "accuracy", f"{spot.published}/accuracy"
        for log in _logs(folder, shown):
            if log is not None:
                self.problems += _accuracy_log_problems(log)
        path = folder / "accuracy.txt"
        if not path.exists():
            self.problems.append(problem("accuracy-missing", shown))
            return None
        return read_accuracy(path, f"{shown}/accuracy.txt")


def _names_the_run(spot: Spot) -> bool:
    """Whether the path means the scenario's run: its folder, performance, run_1 or one of its two logs."""
    return spot.inside in ((), RUN[:1], RUN, (*RUN, DETAIL_FILE), (*RUN, SUMMARY_FILE))


def _logs(folder: Path, shown: str) -> tuple[LoadgenLog | None, LoadgenLog | None]:
    detail, summary = folder / DETAIL_FILE, folder / SUMMARY_FILE
    return (
        read_log_detail(detail, f"{shown}/{DETAIL_FILE}") if detail.exists() else None,
        read_log_summary(summary, f"{shown}/{SUMMARY_FILE}") if summary.exists() else None,
    )


def _stray(path: Path) -> Evidence:
    """A log whose path tells nothing: both logs of its folder under their usual names, or one file of any name."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir() or path.name in (DETAIL_FILE, SUMMARY_FILE):
        detail, summary = _logs(folder, ".")
        return Evidence(folder=folder.name, detail=detail, summary=summary)
    try:
        is_detail = PREFIX in read_head(path)
    except InputError:
        is_detail = True  # the reader says what is wrong with it
    if is_detail:
        return Evidence(folder=path.name, detail=read_log_detail(path, path.name))
    return Evidence(folder=path.name, summary=read_log_summary(path, path.name))


def _accuracy_log_problems(log: LoadgenLog) -> list[Problem]:
    """Accuracy folders sometimes hold a performance log, or one whose seeds are all zero."""
    mode = log.text("effective_test_mode")
    if mode is not None and mode != "AccuracyOnly":
        return [problem("accuracy-log-in-wrong-place", log.path, line=log.lines["effective_test_mode"], found=mode)]
    seeds = [log.count(key) for key in SEEDS]
    if None not in seeds and not any(seeds):
        return [problem("accuracy-seeds-unknown", log.path, found="all three are 0")]
    return []


def _measurement_files(spot: Spot) -> Iterator[tuple[Path, str]]:
    """Candidates for the measurement description, likeliest first: in the scenario folder from v6.0 on, else in the
    submitter's `measurements`, under any name.
    """
    platform, model, scenario = spot.names
    older = _same_name(spot.submitter_folder / "measurements" / platform / model, scenario)
    shown = spot.published.replace("/results/", "/measurements/", 1)
    for folder, name in ((spot.folder, spot.published), (older, shown)):
        files = _json_files(folder) if folder is not None else []
        for file in sorted(files, key=lambda file: (not _likely(file, platform), file)):
            if folder is not None:
                yield folder / file, f"{name}/{file}"


def _likely(file: str, platform: str) -> bool:
    return file == "measurements.json" or file.startswith(platform)


def _json_files(folder: Path) -> list[str]:
    return [name for name in _names(folder) if name.endswith(".json")]


def _same_name(folder: Path, name: str) -> Path | None:
    """The entry of that name, in whatever case the two trees spell it."""
    names = _names(folder)
    match = name if name in names else next((n for n in sorted(names) if n.casefold() == name.casefold()), None)
    return folder / match if match else None


def _has_power(spot: Spot) -> bool:
    return not _POWER_FOLDERS.isdisjoint(_names(spot.folder / RUN[0]))


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _absolute(path: Path) -> Path:
    """The path from the root on, links unresolved: the names on the way say what the result is."""
    return Path(os.path.normpath(path.absolute()))
