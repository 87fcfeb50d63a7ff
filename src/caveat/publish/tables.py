"""Tables of figures for a terminal: what differs stands in columns, what is the same for all stands above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from caveat.figures import TABLE, Figure
from caveat.publish.carried import carried
from caveat.publish.columns import column, column_text
from caveat.publish.text import cut, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

DEFAULT_COLUMNS = ("id", "value", "benchmark", "scenario", "round", "submitter", "platform", "chips", "outcome")
_NUMERIC = {row.key for row in TABLE if row.kind in ("number", "count", "seconds")} | {"value", "n"}
_ABOVE = tuple(row.key for row in TABLE if row.group != "system" and row.kind not in ("lengths", "numbers"))
_LONGEST_CELL = 60  # characters of a short cell, whoever wrote it
_LONGEST_BELOW = 300
LONG = ("submitter", "system", "platform", "engine", "software", "subject", "location", "notes", "accelerator_stated")
"""Columns that stand on the second line of a row."""

Row = tuple[Sequence[str], str]


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


def two_line_table(heads: Sequence[str], rows: Sequence[Row], *, right: Sequence[str] = ()) -> RenderableType:
    """Rows of short cells in columns as wide as they need, each with its long text on a line of its own below.

    Names of systems are too long for a column and too telling to be cut (unless somebody wrote a novel).
    """
    from rich.cells import cell_len
    from rich.console import Group
    from rich.text import Text

    table = [[cut(printable(text), _LONGEST_CELL) for text in cells] for cells, _ in rows]
    widths = [max(map(cell_len, column)) for column in zip(heads, *table, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            " " * (width - cell_len(text)) + text if head in right else text + " " * (width - cell_len(text))
            for head, text, width in zip(heads, cells, widths, strict=True)
        )
        return "  ".join(padded).rstrip()

    text = Text(no_wrap=True, overflow="ignore")
    text.append(line(heads) + "\n", style="bold")
    text.append("─" * min(sum(widths) + 2 * len(widths) - 2, 100) + "\n")
    for cells, (_, below) in zip(table, rows, strict=True):
        text.append(line(cells) + "\n")
        if below.strip():
            text.append(f"    {cut(printable(below), _LONGEST_BELOW)}\n", style="dim")
    text.right_crop(1)
    return Group(text)  # a Text by itself would be joined with others and lose that it must not be wrapped


def figures_table(
    figures: Sequence[Figure], columns: Sequence[str] = DEFAULT_COLUMNS, *, width: int = 100
) -> RenderableType:
    """Two lines a figure: the short columns that fit, and below them the long ones and the rest by name."""
    short = _fitting(figures, [name for name in columns if name not in LONG], width)
    rows = [([_text(f, name) for name in short], _below(f, columns, short)) for f in figures]
    return two_line_table([_head(name) for name in short], rows, right=[_head(name) for name in _NUMERIC])


def _head(name: str) -> str:
    return name.replace("_", " ")


def _fitting(figures: Sequence[Figure], names: Sequence[str], width: int) -> list[str]:
    """The columns, from the left, that a screen has room for."""
    fitting: list[str] = []
    for name in names:
        width -= 2 + max([len(name), *(len(_text(figure, name)) for figure in figures)])
        if width < -2 and fitting:
            break
        fitting.append(name)
    return fitting


def _below(figure: Figure, columns: Sequence[str], short: Sequence[str]) -> str:
    long = " ".join(_text(figure, name) for name in columns if name in LONG)
    rest = [f"{_head(name)} {_text(figure, name)}" for name in columns if name not in LONG and name not in short]
    mark = ["SIMULATED"] if figure.provenance.origin == "simulated" else []
    return "   ".join([*mark, long, *rest])


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
    counts = Counter(name for figure in figures for name, _ in carried(figure))
    return [f"{name} ({count} of {len(figures)})" for name, count in counts.most_common()]


def spread_line(figures: Sequence[Figure], key: str) -> str | None:
    """`accuracy_tokens_per_sample: 267.0 to 290.8 over 88 figures (8.9 %)` where a numeric column varies.

    None also for values of unlike metrics: an Offline rate and a Server rate have no spread.
    """
    if key == "value" and len({figure.metric.key for figure in figures}) > 1:
        return None
    values = [v for f in figures if isinstance(v := column(f, key), int | float) and not isinstance(v, bool)]
    if len(values) < 2 or min(values) <= 0 or min(values) == max(values):
        return None
    low, high = min(values), max(values)
    return f"{key}: {low:,.6g} to {high:,.6g} over {len(values)} figures ({(high / low - 1) * 100:.1f} %)"
