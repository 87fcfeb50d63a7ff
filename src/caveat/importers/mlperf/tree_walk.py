"""Finds the scenario folders below a path: each directory is listed once.

Links are followed inside the tree, never in circles and never out of it: a link to `/` is no submission.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from caveat.errors import Problem
from caveat.facts import benchmark_named, is_other_benchmark
from caveat.importers.mlperf.place import DIVISIONS, Spot, results_index, spot_of
from caveat.importers.mlperf.problems import problem

MAX_DEPTH = 40  # folders below the root: real trees need nine
_SKIPPED = frozenset(("code", "src", "compliance", "measurements", "systems", "documentation", "__pycache__"))
_NO_LANGUAGE, _NO_SCENARIO, _NO_RUN = "benchmark of another field", "folder of no scenario", "folder without run_1"
_OUTSIDE = "link out of the tree"
_ENDPOINTS = "result of the Endpoints harness"


class Walk:
    """One walk. `found` are the spots seen, `problems` and `passed_over` what was met on the way."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found: list[Spot] = []
        self.problems: list[Problem] = []
        self.passed_over: Counter[str] = Counter()
        self._seen: set[tuple[int, int]] = set()

    def spots(self) -> list[Spot]:
        """Every scenario folder of a language benchmark that has a performance/run_1, in the order of names."""
        pending = [self.root]
        while pending:
            folder = pending.pop()
            if len(folder.parts) - len(self.root.parts) > MAX_DEPTH or not self._is_new(folder):
                continue
            at = results_index(folder.parts)
            depth = -1 if at is None else len(folder.parts) - 1 - at
            if depth == 2 and not self.is_language(folder.name):
                continue
            if depth == 3:
                self._scenario(folder)
            else:
                pending += reversed(self._children(folder, depth))
        self.found.sort(key=lambda spot: spot.folder)
        return self.found

    def is_language(self, model: str) -> bool:
        """Whether the folder's name is a language benchmark's or a name of the submitter's own."""
        other = benchmark_named(model) is None and is_other_benchmark(model)
        if other:
            self.passed_over[_NO_LANGUAGE] += 1
        return not other

    def _scenario(self, folder: Path) -> None:
        spot = spot_of(folder)
        if spot is None:
            self.passed_over[_NO_SCENARIO] += 1
        elif (folder / "performance" / "run_1").is_dir():
            self.found.append(spot)
        elif (folder / "performance" / "result_summary.json").exists():
            self.passed_over[_ENDPOINTS] += 1
        else:
            self.passed_over[_NO_RUN] += 1

    def _children(self, folder: Path, depth: int) -> list[Path]:
        """Folders to look into: below `results` all, in a submitter's folder its results, elsewhere all but code."""
        try:
            with os.scandir(folder) as entries:
                folders = [(entry.is_symlink(), entry.name) for entry in entries if _is_folder(entry)]
        except OSError as error:
            shown = str(folder.relative_to(self.root.parent))
            self.problems.append(problem("folder-unreadable", shown, detail=error.strerror or ""))
            return []
        folders = [(link, name) for link, name in folders if not link or self._inside(folder / name)]
        names = [name for _, name in sorted(folders)]  # links last: the folder itself gives the names
        if depth < 0 and folder.parent.name in DIVISIONS and "results" in names:
            names = ["results"]
        elif depth < 0:
            names = [name for name in names if name not in _SKIPPED and not name.startswith(".")]
        return [folder / name for name in names]

    def _inside(self, link: Path) -> bool:
        """Whether a link stays in the tree."""
        inside = link.resolve().is_relative_to(self.root.resolve())
        self.passed_over[_OUTSIDE] += not inside
        return inside

    def _is_new(self, folder: Path) -> bool:
        try:
            status = folder.stat()
        except OSError:
            return False
        identity = (status.st_dev, status.st_ino)
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether the entry is a folder or a link to one; what cannot be told is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False
