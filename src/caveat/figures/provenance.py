"""Where a run's numbers come from: files with hashes, tools, and for derived figures the formula and inputs."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from caveat.errors import DocumentError
from caveat.figures.kinds import shortened

Origin = Literal["measured", "simulated", "imported", "derived"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)

# From richest to poorest: where two sources of one run disagree, the earlier kind is believed.
SOURCE_KINDS: tuple[str, ...] = (
    "samples",
    "log-summary",  # before the detail log: its Server rates carry two decimals, the detail log six digits
    "log-detail",
    "accuracy-report",
    "system-description",
    "measurement-description",
    "tool-result",
    "published-summary",
    "rules",
    "folder-names",
)


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One file (or rule) that says something. `place` is a row, line or key inside it; `path` is local or published.

    `sha256` is the hash of the whole file in hex, empty for rules. Paths and dates do not enter ids.
    """

    kind: str
    path: str
    sha256: str = ""
    place: str = ""
    retrieved: str = ""

    def __post_init__(self) -> None:
        if self.kind not in SOURCE_KINDS:
            found = shortened(self.kind)
            raise DocumentError(f"source: found kind {found}, expected one of {', '.join(SOURCE_KINDS)}")

    @property
    def rank(self) -> int:
        """Place in SOURCE_KINDS: smaller is richer."""
        return SOURCE_KINDS.index(self.kind)


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How the run came to be known. A derived run names its formula and the figure ids that went in."""

    origin: Origin
    sources: tuple[Source, ...] = ()
    tool: str = "caveat"
    tool_version: str = ""
    formula: str = ""
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise DocumentError(f"origin: found {shortened(self.origin)}, expected one of {', '.join(ORIGINS)}")
        if self.origin == "derived" and not (self.formula and self.inputs):
            raise DocumentError("origin: found a derived run without formula or inputs, expected both")
        if self.origin == "imported" and not self.sources:
            raise DocumentError("origin: found an imported run without sources, expected at least one")
