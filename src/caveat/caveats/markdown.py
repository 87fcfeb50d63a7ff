"""A caveat's page as Markdown: four sections of prose, then what the ledger shows and from how many figures.

Text from outside (systems, submitters) is escaped, so that a page may be rendered anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from caveat.caveats.caveat import Caveat, filled
from caveat.caveats.evidence import Evidence, Number, Table, number_words, plain
from caveat.figures import Run

NOTHING = "No figures here to show it with."

_SPECIAL = re.compile(r"([\\`*_\[\]|~])")


def page(caveat: Caveat, runs: Sequence[Run]) -> str:
    """The page with the evidence of these runs, in Markdown, ending with a newline."""
    evidence = caveat.evidence(runs)
    parts = [
        f"# {caveat.title}",
        f"`{caveat.id}`",
        *(f"## {heading}\n\n{filled(prose, caveat.given, _words)}" for heading, prose in caveat.sections),
        *(_table(table) for table in evidence.rules if table.rows),
        "## Evidence from this ledger",
        *_evidence(caveat, evidence),
    ]
    return "\n\n".join(parts) + "\n"


def _evidence(caveat: Caveat, evidence: Evidence) -> Iterable[str]:
    if not evidence.n:
        return (NOTHING,)
    shown = filled(caveat.shown, {**caveat.given, **evidence.numbers}, _words)
    tables = (_table(table) for table in evidence.tables if table.rows)
    rounds = ", ".join(f"{escaped(name)}: {count:,}" for name, count in evidence.counted.items())
    return (shown, *tables, f"Computed from {evidence.n:,} figures of this ledger ({rounds}).")


def _words(value: Number) -> str:
    return escaped(number_words(value))


def _table(table: Table) -> str:
    lines = [
        _line(table.columns),
        _line(["---"] * len(table.columns)),
        *(_line([escaped(cell) for cell in row]) for row in table.rows),
    ]
    return f"**{table.title}**\n\n" + "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text from outside as harmless Markdown on one line: no markup, no HTML, no control characters."""
    flat = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", flat)
