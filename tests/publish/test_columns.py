"""Columns: any condition, a few words about the figure, and a refusal that knows what was meant."""

import pytest

from caveat.errors import UsageError
from caveat.figures import TABLE, Claim, Figure, Run, conditions_of, primary_figure
from caveat.publish.columns import OWN, checked_columns, chips, column, column_text
from tests.builders import published_conditions, published_run


def figure_with(**changes) -> Figure:
    figure = primary_figure(published_run(**changes))
    assert figure is not None
    return figure


def test_every_condition_and_every_word_of_the_figure_is_a_column():
    """Nothing of a figure is out of reach of a table."""
    figure = figure_with(output_tokens={"mean": 283.6})
    keys = checked_columns([*OWN, *(row.key for row in TABLE), "output_tokens.mean"])
    cells = {key: (column(figure, key), column_text(figure, key)) for key in keys}
    assert all(raw is not None or key == "n" for key, (raw, _) in cells.items())
    assert cells["id"] == (figure.id, figure.short_id)
    assert cells["value"] == (103275.0, "103,275 tokens/s")
    assert cells["ttft_limit_s"] == (2.0, "2 s")
    assert cells["output_tokens.mean"] == (283.6, "283.6")
    assert cells["cooling"] == ("undisclosed", "undisclosed")


def test_a_part_that_is_not_known_is_not_zero():
    """The word for its absence stands in the cell."""
    figure = figure_with(output_tokens={"mean": 283.6})
    assert column(figure, "output_tokens.p99") == "undisclosed"
    assert column(figure, "input_tokens.p99") == "undisclosed"


@pytest.mark.parametrize(
    ("key", "found", "next_step"),
    [
        ("scenaro", "no column is called 'scenaro'", "scenario"),
        ("id.x", "no column is called 'id.x'", "id"),
        ("scenario.mean", "scenario has no parts", "write scenario"),
        ("output_tokens.p98", "output_tokens has no part 'p98'", "p99"),
        ("zzzzzzzz", "no column is called 'zzzzzzzz'", "docs/conditions.md"),
    ],
)
def test_a_column_that_does_not_exist_is_refused_with_what_was_meant(key, found, next_step):
    """A misspelt column would show "undisclosed" for ever."""
    with pytest.raises(UsageError) as refusal:
        checked_columns(["id", key])
    assert found in refusal.value.message
    assert next_step in refusal.value.next


def test_no_column_is_no_table():
    """An empty list is a mistake; a doubled name is shown once."""
    with pytest.raises(UsageError, match="no column"):
        checked_columns([])
    assert checked_columns(["id", "value", "id"]) == ("id", "value")


def test_chips_say_what_is_known_of_kind_and_count():
    """And every claim where the sources disagree."""
    assert chips(figure_with()) == "8 x MI355X"
    assert chips(figure_with(accelerators=None)) == "MI355X, count undisclosed"
    assert chips(figure_with(accelerator=None)) == "8 accelerators"
    assert chips(figure_with(accelerator=None, accelerators=None)) == "accelerators undisclosed"


def test_chips_give_both_counts_of_a_conflict():
    """Neither is believed."""
    run = published_run()
    known = published_conditions(accelerators=88).known
    claims = {"accelerators": (Claim(88, "nodes x per node"), Claim(87, "name"))}
    disputed = Run(
        subject=run.subject,
        conditions=conditions_of(known, claims=claims),
        provenance=run.provenance,
        rows=run.rows,
        primary=run.primary,
    )
    assert chips(Figure(disputed, run.rows[0].metric)) == "87 or 88 x MI355X"
