"""figure: a value that cannot leave its conditions behind."""

import math
import operator
import statistics
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import NotFoundError, RefusedError
from caveat.figures import (
    TABLE,
    Check,
    Claim,
    Conditions,
    Figure,
    Provenance,
    Row,
    Run,
    Value,
    conditions_of,
    figures_of,
    primary_figure,
)
from tests.builders import published_run
from tests.strategies import runs

RATE, TTFT = "loadgen-completed-tokens-rate", "loadgen-ttft.p99"
PUBLISHED = Figure(published_run(), RATE)

HOSTILE = "</td><script>alert('x')</script>\" onload='y' \x1b[31m\u202e<b>"


def own_figure(values: dict[str, Value | None], *, origin="measured", claims=None) -> Figure:
    """A figure of no published suite."""
    run = Run(
        subject="own",
        conditions=conditions_of(values, claims=claims),
        provenance=Provenance(origin=origin, formula="f", inputs=("a",)),
        rows=(Row(metric=TTFT, value=0.2),),
    )
    return Figure(run, TTFT)


# no way to a bare number


@pytest.mark.parametrize(
    "misuse",
    [
        float,
        math.sqrt,
        lambda figure: f"{figure:.2f}",
        lambda figure: format(figure, ",d"),
        lambda figure: f"{figure:>20}",
        lambda figure: "%.2f" % figure,  # noqa: UP031  (the old way must refuse as well)
        lambda figure: np.array([figure], dtype=float),
    ],
)
def test_a_figure_refuses_to_become_a_number(misuse):
    """With a reason and a next step."""
    with pytest.raises(RefusedError, match="would lose its conditions") as refusal:
        misuse(PUBLISHED)
    assert refusal.value.next


@pytest.mark.parametrize(
    "misuse",
    [
        int,
        round,
        abs,
        complex,
        operator.index,
        operator.neg,
        lambda figure: figure + figure,
        lambda figure: figure / figure,
        lambda figure: 2 * figure,
        lambda figure: figure - 1,
        lambda figure: figure < figure,
        lambda figure: figure >= 1.0,
        lambda figure: sum([figure]),
        lambda figure: sorted([figure, figure]),
        lambda figure: max(figure, 1.0),
        lambda figure: np.float64(2.0) * figure,
        lambda figure: statistics.mean([figure, figure]),
    ],
)
def test_arithmetic_and_order_are_refused(misuse):
    """Two figures are compared by `compare`, which looks at their conditions."""
    with pytest.raises((TypeError, RefusedError)):
        misuse(PUBLISHED)


def test_a_figure_is_never_equal_to_its_value():
    """A number has no conditions."""
    assert PUBLISHED.row.value == 103275.0 != PUBLISHED


# a view of a row


def test_a_figure_is_one_row_with_all_that_belongs_to_it():
    """Value, definition, conditions, validity and provenance of its run."""
    run = published_run(
        rows=(Row(metric=TTFT, value=1.46, n=20_000),),
        validity=(
            Check(aspect="early stopping (TTFT)", outcome="fail", metrics=(TTFT,)),
            Check(aspect="review", outcome="pass"),
        ),
    )
    rate, ttft = figures_of(run)
    assert (rate.id, ttft.id) == (f"{run.id}.{RATE}", f"{run.id}.{TTFT}")
    assert (rate.short_id, len(rate.short_id)) == (f"{run.id[:10]}.{RATE}", 11 + len(RATE))
    assert (rate.text, ttft.text) == ("103,275 tokens/s", "1.46 s")
    assert (rate.outcome, ttft.outcome) == ("pass", "fail")
    assert [len(rate.validity), len(ttft.validity)] == [1, 2]
    assert (rate.is_primary, ttft.is_primary) == (True, False)
    assert (ttft.row, ttft.run, ttft.metric.key) == (run.rows[1], run, TTFT)
    assert (ttft.conditions, ttft.provenance) == (run.conditions, run.provenance)


def test_the_published_figure_comes_first():
    """Whatever the order of the rows."""
    run = published_run()
    turned = Run(
        subject=run.subject,
        conditions=run.conditions,
        provenance=run.provenance,
        rows=(Row(metric=TTFT, value=1.0), *run.rows),
        primary=RATE,
    )
    assert [figure.metric.key for figure in figures_of(turned)] == [RATE, TTFT]
    assert primary_figure(turned) == Figure(turned, RATE)
    assert primary_figure(own_figure({}).run) is None


@given(runs())
def test_figures_are_equal_by_id(run):
    """Two views of one value are one figure; two metrics are two."""
    figures = figures_of(run)
    assert figures == figures_of(run)
    assert len({*figures, *figures_of(run)}) == len(run.rows)


def test_a_metric_that_the_run_does_not_have_is_not_found():
    """The error names what there is."""
    with pytest.raises(NotFoundError, match=r"has no metric loadgen-tpot\.p99") as refusal:
        Figure(published_run(), "loadgen-tpot.p99")
    assert refusal.value.next == f"it has: {RATE}"


# words


def test_a_published_figure_says_in_one_line_what_nobody_may_leave_out():
    """Value, metric, who, what, on what, under which rules, and how valid."""
    assert str(PUBLISHED) == (
        "103,275 tokens/s (loadgen-completed-tokens-rate; AMD, Box of eight, 8 x MI355X, llama2-70b-99.9, server,"
        f" v6.1, closed, reviewed, validity pass) [{PUBLISHED.run.id[:10]}.loadgen-completed-tokens-rate]"
    )
    assert repr(PUBLISHED) == f"<Figure {PUBLISHED}>"
    assert f"{PUBLISHED}" == str(PUBLISHED)


@pytest.mark.parametrize(
    ("values", "origin", "summary"),
    [
        (
            {"model": "llama-3.1-8b", "accelerator": "H100", "accelerators": 2, "concurrency": 16, "suite": "own"},
            "measured",
            "2 x H100, llama-3.1-8b, concurrency 16, measured, validity unknown",
        ),
        (
            {"model": "m", "dataset": "tickets", "accelerator": "H100", "arrivals": "poisson", "system": "box 7"},
            "measured",
            "box 7, H100 (count undisclosed), m on tickets, poisson, measured, validity unknown",
        ),
        (
            {"accelerators": 8, "review": "simulated"},
            "simulated",
            "8 accelerators (kind undisclosed), benchmark undisclosed, scenario undisclosed, simulated,"
            " validity unknown",
        ),
        (
            {"round": "v6.1", "review": "reviewed", "benchmark": "llama2-70b-99", "scenario": "offline"},
            "derived",
            "accelerator undisclosed, llama2-70b-99, offline, v6.1, division undisclosed, derived, reviewed,"
            " validity unknown",
        ),
        (
            {},
            "measured",
            "accelerator undisclosed, benchmark undisclosed, scenario undisclosed, measured, validity unknown",
        ),
    ],
)
def test_a_summary_leaves_out_what_is_undisclosed_but_not_what_matters(values, origin, summary):
    """Hardware, workload, load and backing are named even where they are undisclosed; nothing else is."""
    assert own_figure(values, origin=origin).summary() == summary


def test_an_imported_figure_without_review_says_so():
    """Nobody is known to stand behind it."""
    figure = primary_figure(published_run(review=None))
    assert figure is not None
    assert ", closed, review undisclosed, validity pass" in figure.summary()


def test_a_contested_count_is_shown_with_all_its_claims():
    """87 in the text, 88 from the nodes: no reader takes one of them for sure."""
    figure = own_figure(
        {"accelerator": "GB200", "accelerators": 87},
        claims={"accelerators": (Claim(88, "nodes"), Claim(87, "description"))},
    )
    assert figure.summary().startswith("87 or 88 x GB200, ")


def test_a_vendors_text_obeys_no_terminal():
    """Escapes and direction overrides in names are shown, not followed."""
    figure = primary_figure(published_run(submitter=HOSTILE, system="a\nb\rc", subject="s"))
    assert figure is not None
    assert str(figure).isprintable()
    assert repr(figure).isprintable()
    assert "\\x1b[31m\\u202e" in str(figure)


# HTML


class Tags(HTMLParser):
    """Tags, attributes and text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text.append(data)


OURS = {"div", "b", "br", "small", "ul", "li", "details", "summary", "table", "tr", "td"}


def test_a_notebook_shows_the_value_with_its_conditions():
    """Every condition that applies stands in the table, the undisclosed ones as well."""
    cells = Tags(PUBLISHED._repr_html_()).text
    table = cells[cells.index("conditions") + 1 :]  # group, key, value
    shown = dict(zip(table[1::3], table[2::3], strict=True))
    assert "103,275 tokens/s" in cells
    assert PUBLISHED.summary() in cells
    assert "review: pass. reviewed, log not seen" in cells
    assert shown == {row.key: PUBLISHED.conditions.text(row.key) for row in TABLE}
    assert f"{len(PUBLISHED.conditions.known)} of {len(TABLE)} conditions disclosed" in PUBLISHED._repr_html_()


def test_a_notebook_leaves_out_what_does_not_apply_and_shows_conflicts():
    """What cannot be is no gap; what is contested is shown with its claims."""
    run = published_run()
    contested = Conditions(
        known={"accelerators": 87},
        not_applicable=("concurrency",),
        claims={"accelerators": (Claim(87, "text"), Claim(88, "<nodes>"))},
    )
    html = Figure(
        Run(subject="s", conditions=contested, provenance=run.provenance, rows=run.rows, primary=RATE), RATE
    )._repr_html_()
    assert "concurrency" not in Tags(html).text
    assert "87 (sources disagree: text: 87; <nodes>: 88)" in Tags(html).text


@given(st.text(min_size=1).filter(lambda text: text.strip() != "") | st.just(HOSTILE))
def test_a_notebook_runs_nothing_that_a_vendor_wrote(text):
    """Script tags and quotes in any name, note or sentence stay text."""
    run = Run(
        subject="s",
        conditions=conditions_of({"system": text, "submitter": text, "engine": text, "accuracy": {text: 1.0}}),
        provenance=published_run().provenance,
        rows=(Row(metric=RATE, value=1.0, notes=(text,)),),
        validity=(Check(aspect="review", outcome="pass", sentence=text),),
        notes=(text,),
    )
    html = Tags(Figure(run, RATE)._repr_html_())
    assert html.tags == OURS
    assert html.attributes == {"title"}
    assert all(piece.isprintable() for piece in html.text)
