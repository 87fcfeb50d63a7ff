"""The card: one figure on one screen, nothing of it left out, nothing in it acting on the terminal."""

import msgspec
import pytest
from rich.console import Group

from caveat.caveats import sentences
from caveat.figures import TABLE, Check, Figure, Spread, figures_of, primary_figure
from caveat.publish import card
from tests.cli.acme import HOSTILE_NAMES, acme_runs, derived_run, hostile_run
from tests.publish.test_tables import shown


def text_of(figure: Figure, width: int = 100, **more) -> str:
    return shown(Group(*card(figure, width=width, **more)), width)


def primary(name: str) -> Figure:
    figure = primary_figure(acme_runs()[name])
    assert figure is not None
    return figure


def test_every_condition_has_its_place():
    """Known ones with their values, the others by name."""
    figure = primary("server")
    text = text_of(figure)
    undisclosed = text.split("\nundisclosed\n")[1].split("\n\n")[0]
    names = undisclosed.replace(",", " ").split()
    for row in TABLE:
        if figure.conditions.state(row.key) == "known":
            assert f"\n{row.key} " in text
            assert figure.conditions.text(row.key) in text
        else:
            assert row.key in names


def test_validity_provenance_other_metrics_partners_and_caveats_stand_on_it():
    """What one must see before one believes."""
    figure = primary("server")
    text = text_of(figure, partners=[primary("offline")], history=["versions: one -> two"])
    for part in (
        "100,000 tokens/s   loadgen-completed-tokens-rate",
        figure.id,
        figure.run.subject,
        "\nvalidity: pass\n",
        "ok  review  reviewed, log not seen",
        "loadgen-ttft.p99                     1.18 s  400,000",
        "\nsame system, other scenarios\n110,000 tokens/s (loadgen-offline-tokens-rate",
        "\nprovenance: imported\n",
        "published-summary  00      row 2\n    summary.csv",
        "versions: one -> two",
    ):
        assert part in text
    for name, _ in sentences(figure):
        assert f"\n{name}: " in text


def test_a_measured_run_is_whole_on_the_card_of_one_figure():
    """Intervals of its other metrics, its notes, and checks that concern other figures alone."""
    run = primary("own").run
    spread = Spread(low=0.19, high=0.21, method="m")
    other = msgspec.structs.replace(run.rows[0], metric="caveat-ttft.p50", value=0.2, spread=spread)
    check = Check(aspect="latency limits", outcome="fail", sentence="too slow", metrics=("caveat-goodput",))
    changes = {"rows": (*run.rows, other), "notes": ("salt: 7",), "validity": (*run.validity, check)}
    text = text_of(Figure(msgspec.structs.replace(run, **changes), run.rows[0].metric))
    assert "\nvalidity: pass\n" in text
    assert "NO  latency limits  too slow" in text.split("\nvalidity of other figures of the run\n")[1]
    assert "190 to 210 ms" in text.split("\nother metrics of the run\n")[1]
    assert "\nnotes\nsalt: 7\n" in text


def test_an_invalid_run_says_so_first():
    """Before any condition."""
    text = text_of(primary("invalid"))
    assert text.index("NO  harness verdict  LoadGen calls the run INVALID") < text.index("\nworkload\n")


def test_a_derived_figure_shows_its_formula_and_inputs():
    """Nobody takes it for a measurement."""
    (figure,) = figures_of(derived_run())
    assert "provenance: derived\nserver / offline\naa.x\nbb.y" in text_of(figure)


@pytest.mark.parametrize("width", [40, 80, 100])
def test_prose_fits_the_screen(width):
    """Only tables and ids may be wider than a narrow screen."""
    text = text_of(primary("own"), width)
    prose = text.split("\ncaveats\n")[1].splitlines()
    assert max(map(len, prose)) <= width


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_hostile_names_do_nothing(name):
    """Every character of the screen is printable."""
    (figure,) = figures_of(hostile_run(name))
    assert all(line.isprintable() for line in text_of(figure).split("\n"))
