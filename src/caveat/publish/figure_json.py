"""A figure as JSON: the value never stands without its conditions, validity, provenance and caveats."""

from __future__ import annotations

from typing import Any

import msgspec

from caveat.figures import TABLE, Figure
from caveat.publish.carried import carried

FORMAT = "caveat-figure/1"


def figure_json(figure: Figure) -> dict[str, Any]:
    """One figure with all that makes it true. Shape: see docs/json.md."""
    run, row = figure.run, figure.row
    known, applicable = figure.conditions.disclosed()
    return {
        "format": FORMAT,
        "id": figure.id,
        "subject": run.subject,
        "value": row.value,
        "unit": str(figure.metric.unit),
        "n": row.n,
        "spread": msgspec.to_builtins(row.spread),
        "primary": figure.is_primary,
        "metric": msgspec.to_builtins(figure.metric),
        "conditions": msgspec.to_builtins(figure.conditions.known),
        "undisclosed": [c.key for c in TABLE if figure.conditions.state(c.key) == "undisclosed"],
        "not_applicable": list(figure.conditions.not_applicable),
        "disclosed": {"known": known, "applicable": applicable},
        "claims": msgspec.to_builtins(figure.conditions.claims),
        "conflicts": list(figure.conditions.conflicts()),
        "validity": {"outcome": figure.outcome, "entries": msgspec.to_builtins(figure.validity)},
        "provenance": msgspec.to_builtins(figure.provenance),
        "derived": figure.provenance.origin == "derived" or figure.metric.source.startswith("derived"),
        "notes": [*row.notes, *run.notes],
        "replaces": run.replaces,
        "caveats": [{"id": name, "sentence": sentence} for name, sentence in carried(figure)],
    }
