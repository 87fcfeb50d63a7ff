"""Tables of figures for a terminal: what differs stands in columns, what is the same for all stands above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from caveat.caveats import sentences
from caveat.figures import TABLE, Figure
from caveat.publish.columns import column, column_text
from caveat.publish.text import cut, printable

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

DEFAULT_COLUMNS = ("id", "value", "benchmark", "scenario", "round", "submitter", "platform", "chips", "outcome")
_NUMERIC = {row.key for row in TABLE if row.kind in ("number", "count", "seconds")} | {"value", "n"}
_ABOVE = tuple(row.key for row in TABLE if row.group != "system" and row.kind not in ("lengths", "numbers"))
MOST_SENTENCES = 8


def plain_table(heads: Sequence[str], *, right: Sequence[str] = ()) -> Table:
    """An empty table in the one style: no box, a rule under the heads, cells fold rather than vanish."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in right else "left", overflow="fold")
    return table


def cell(text: str) -> Text:
    """Foreign text as a cell: never markup, never an escape sequence."""
    from rich.text import Text

    return Text(printable(text))


def figures_table(figures: Sequence[Figure], columns: Sequence[str] = DEFAULT_COLUMNS) -> Table:
    """One line a figure."""
    table = plain_table([name.replace("_", " ") for name in columns], right=[c for c in columns if c in _NUMERIC])
    for figure in figures:
        table.add_row(*(cell(_text(figure, name)) for name in columns))
    return table


def _text(figure: Figure, name: str) -> str:
    return figure.run.id[:10] if name == "id" and figure.is_primary else column_text(figure, name)


def common_conditions(figures: Sequence[Figure], shown: Sequence[str]) -> str:
    """Conditions that all figures share and no column shows: `loop open, division closed, ...`."""
    if not figures:
        return ""
    first = figures[0]
    shared = [
        f"{key} {cut(first.conditions.text(key), 40)}"
        for key in _ABOVE
        if key not in shown
        and first.conditions.state(key) == "known"
        and all(f.conditions.get(key) == first.conditions.get(key) for f in figures)
    ]
    return printable("; ".join(shared))


def caveat_lines(figures: Sequence[Figure]) -> list[str]:
    """The caveats of many figures, the commonest first: `offline-is-not-serving (12 of 12)`."""
    counts = Counter(name for figure in figures for name, _ in sentences(figure))
    return [f"{name} ({count} of {len(figures)})" for name, count in counts.most_common()]


def spread_line(figures: Sequence[Figure], key: str) -> str | None:
    """`accuracy_tokens_per_sample: 267.0 to 290.8 over 88 figures (8.9 %)` where a numeric column varies."""
    values = [v for f in figures if isinstance(v := column(f, key), int | float) and not isinstance(v, bool)]
    if len(values) < 2 or min(values) <= 0 or min(values) == max(values):
        return None
    low, high = min(values), max(values)
    return f"{key}: {low:,.6g} to {high:,.6g} over {len(values)} figures ({(high / low - 1) * 100:.1f} %)"
