"""Where a result stands in a submission tree, and the subject that follows from it.

Layout (inference_policies, and the trees of v4.1 to v6.1):
    {division}/{submitter}/results/{platform}/{model}/{scenario}/performance/run_1/...
Published summaries name the same place in their Location column, so that a log and its row share a subject.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from caveat.facts import scenario_of

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


def place_of(path: str) -> Place | None:
    """The place that a path or a Location column names; None where it names none.

    Reads from the last `results` folder, so that a tree may lie anywhere.
    """
    parts = PurePosixPath(path.replace("\\", "/")).parts
    at = len(parts) - 1 - parts[::-1].index("results") if "results" in parts else -1
    if at < 2 or len(parts) < at + 4 or parts[at - 2] not in DIVISIONS:
        return None
    platform, model, folder = parts[at + 1 : at + 4]
    scenario = scenario_of(folder)
    if scenario is None:
        return None
    return Place(division=parts[at - 2], submitter=parts[at - 1], platform=platform, model=model, scenario=scenario)
