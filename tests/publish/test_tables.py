"""Tables: what differs in columns, what is the same above, and nothing that a terminal obeys."""

from io import StringIO

import pytest
from rich.console import Console

from caveat.figures import Figure, figures_of, primary_figure
from caveat.publish import caveat_lines, common_conditions, figures_table, plain_table, spread_line, two_line_table
from tests.builders import published_run
from tests.cli.acme import HOSTILE_NAMES, acme_runs, hostile_run


def shown(renderable, width: int = 100) -> str:
    """What a terminal of that width would show, without the blanks at line ends."""
    screen = Console(file=StringIO(), width=width, color_system=None, markup=False, highlight=False)
    with screen.capture() as captured:
        screen.print(renderable, crop=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def acme_figures() -> list[Figure]:
    return [figure for run in acme_runs().values() if (figure := primary_figure(run)) is not None]


def test_a_figure_takes_two_lines():
    """Short columns above, who and what below."""
    (figure,) = figures_of(published_run())
    assert shown(figures_table([figure])) == (
        "id                     value  benchmark        scenario  round  chips       outcome\n"
        "───────────────────────────────────────────────────────────────────────────────────\n"
        f"{figure.run.id[:10]}  103,275 tokens/s  llama2-70b-99.9  server    v6.1   8 x MI355X  pass\n"
        "    AMD 8xMI355X_2xEPYC_9575F"
    )


def test_columns_that_do_not_fit_are_named_below():
    """A narrow screen loses no column."""
    (figure,) = figures_of(published_run())
    text = shown(figures_table([figure], ("id", "value", "benchmark", "scenario", "submitter"), width=40), 40)
    assert text.splitlines()[2:] == [
        f"{figure.run.id[:10]}  103,275 tokens/s",
        "    AMD   benchmark llama2-70b-99.9   scenario server",
    ]


def test_a_row_without_long_text_takes_one_line():
    """No empty line stands below it."""
    assert shown(two_line_table(["a", "b"], [(["1", "x"], ""), (["22", "y"], "  ")], right=["a"])) == (
        " a  b\n─────\n 1  x\n22  y"
    )


def test_no_rows_are_a_head_alone():
    """And no error."""
    assert shown(two_line_table(["a"], [])) == "a\n─"


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_hostile_names_are_shown_and_do_nothing(name):
    """Two lines a figure whatever stands in a name, none endless."""
    (figure,) = figures_of(hostile_run(name))
    lines = shown(figures_table([figure], ("id", "value", "accelerator", "submitter", "engine"))).split("\n")
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 310


def test_markup_of_rich_is_text_in_a_plain_table():
    """Square brackets are shown as they are."""
    table = plain_table(["a"])
    table.add_row("[red]x[/]")
    assert "[red]x[/]" in shown(table)


def test_what_all_figures_share_is_said_once():
    """Only conditions that no column shows; of no figures nothing."""
    figures = [figure for run in (published_run(), published_run(1.0, nodes=2)) for figure in figures_of(run)]
    common = common_conditions(figures, ["benchmark"])
    assert "scenario server" in common
    assert "benchmark" not in common
    assert "nodes" not in common
    assert common_conditions([], []) == ""


def test_a_spread_is_that_of_like_values():
    """Acceptance of shape slack; and an Offline rate beside a Server rate has no spread."""
    figures = [
        figure
        for tokens in (267.0, 290.83)
        for figure in figures_of(published_run(accuracy_tokens_per_sample=tokens, platform=str(tokens)))
    ]
    assert spread_line(figures, "accuracy_tokens_per_sample") == (
        "accuracy_tokens_per_sample: 267 to 290.83 over 2 figures (8.9 %)"
    )
    assert spread_line(figures, "value") is None
    assert spread_line(acme_figures(), "value") is None
    assert spread_line(figures, "submitter") is None
    assert spread_line([], "value") is None


def test_caveats_of_many_figures_are_counted_commonest_first():
    """With how many of them each concerns."""
    lines = caveat_lines(acme_figures())
    counts = [int(line.split("(")[1].split(" of ")[0]) for line in lines]
    assert counts == sorted(counts, reverse=True)
    assert "offline-is-not-serving (1 of 5)" in lines
