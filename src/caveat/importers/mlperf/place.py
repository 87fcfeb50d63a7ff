"""Where a result stands in a submission tree, and the subject that follows from it.

Layout (inference_policies, and the trees of v4.1 to v6.1):
    {division}/{submitter}/results/{platform}/{model}/{scenario}/performance/run_1/...
Published summaries name the same place in their Location column, so that a log and its row share a subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from caveat.facts import scenario_of
from caveat.importers.mlperf.stated_text import harmless

DIVISIONS = ("closed", "open", "network")
UNKNOWN_ROUND = "unknown-round"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A result's place. `model` is the folder's name, `scenario` one of ours ('server')."""

    division: str
    submitter: str
    platform: str
    model: str
    scenario: str

    def subject(self, round_name: str | None) -> str:
        """The subject of the run: stable over sources and versions."""
        return "/".join(
            (
                "mlperf-inference",
                round_name or UNKNOWN_ROUND,
                self.division,
                self.submitter,
                self.platform,
                self.model,
                self.scenario,
                "run_1",
            )
        )

    @property
    def location(self) -> str:
        """The place as published trees write it, from the division on."""
        return f"{self.division}/{self.submitter}/results/{self.platform}/{self.model}/{self.scenario}"


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a local path stands: the scenario folder that it is or lies in, and what follows below it.

    `published` is the scenario folder's path from the division on, in the spelling of its folders. Names in `place`
    and `published` are made harmless; `folder` is the path to open.
    """

    place: Place
    folder: Path
    published: str
    inside: tuple[str, ...]

    @property
    def submitter_folder(self) -> Path:
        """The folder of the submitter, beside whose `results` stand `systems` and `measurements`."""
        return self.folder.parents[3]

    @property
    def names(self) -> tuple[str, str, str]:
        """(platform, model, scenario) as the file system spells them."""
        platform, model, scenario = self.folder.parts[-3:]
        return platform, model, scenario


def place_of(path: str) -> Place | None:
    """The place that a path or a Location column names; None where it names none.

    Reads from the last `results` folder, so that a tree may lie anywhere.
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    at = results_index(parts)
    return None if at is None or len(parts) < at + 4 else _place(parts, at)


def spot_of(path: Path) -> Spot | None:
    """The spot of an absolute path at or below a scenario folder; None for every other path."""
    parts = path.parts
    at = results_index(parts)
    place = None if at is None or len(parts) < at + 4 else _place(parts, at)
    if at is None or place is None:
        return None
    end = at + 4
    return Spot(
        place=place,
        folder=Path(*parts[:end]),
        published=harmless("/".join(parts[at - 2 : end])),
        inside=parts[end:],
    )


def results_index(parts: Sequence[str]) -> int | None:
    """Index of the last `results` folder of a path, if it stands in a submitter's folder; None otherwise."""
    at = len(parts) - 1 - parts[::-1].index("results") if "results" in parts else -1
    return at if at >= 2 and parts[at - 2] in DIVISIONS else None


def _place(parts: Sequence[str], at: int) -> Place | None:
    platform, model, folder = parts[at + 1 : at + 4]
    scenario = scenario_of(folder)
    if scenario is None:
        return None
    submitter, platform, model = (harmless(name) or "unnamed" for name in (parts[at - 1], platform, model))
    return Place(division=parts[at - 2], submitter=submitter, platform=platform, model=model, scenario=scenario)
