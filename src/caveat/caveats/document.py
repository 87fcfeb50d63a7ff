"""A caveat's page as plain data, for `--json`: prose filled, evidence with its numbers as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from caveat.caveats.caveat import Caveat, filled
from caveat.figures import Run

EXPLAIN_FORMAT = "caveat-explain/1"


def document(caveat: Caveat, runs: Sequence[Run]) -> dict[str, Any]:
    """The page with the evidence of these runs. `shown` is null where no figure is here to show it with.

    Texts are not escaped: whoever renders them does that.
    """
    evidence = caveat.evidence(runs)
    numbers = {**caveat.given, **evidence.numbers}
    return {
        "format": EXPLAIN_FORMAT,
        "id": caveat.id,
        "title": caveat.title,
        "direction": caveat.direction,
        "sections": [{"heading": heading, "text": filled(prose, caveat.given)} for heading, prose in caveat.sections],
        "shown": filled(caveat.shown, numbers) if evidence.n else None,
        "evidence": msgspec.to_builtins(evidence),
    }
