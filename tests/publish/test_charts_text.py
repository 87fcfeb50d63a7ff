"""publish.charts_text: the same charts for a terminal."""

import pytest

from caveat.publish.charts import run_chart
from caveat.publish.charts_text import curve_text, run_text
from caveat.publish.curve_points import curve_of
from tests.publish.drawn import HOSTILE, below_head, golden, point, run, sweep


def test_a_run_at_a_hundred_columns():
    """Eight panels, two beside each other; the head above them is tested with the charts."""
    assert below_head(run_text(*run())) == golden("run_chart.txt").read_text()


def test_a_sweep_at_a_hundred_columns():
    """With what each letter is."""
    assert below_head(curve_text(curve_of(sweep()))) == golden("curve_chart.txt").read_text()


def test_the_head_of_the_terminal_is_that_of_the_file():
    """Word for word."""
    figure, series = run()
    said = " ".join(run_chart(figure, series)["title"]["subtitle"])
    lines = run_text(figure, series)
    above = " ".join(lines[1 : lines.index("")])
    assert above.replace(";", "").split() == said.replace(";", "").split()


@pytest.mark.parametrize("width", [40, 59, 60, 80, 100])
def test_panels_keep_to_the_screen(width):
    """One under the other where it is narrow."""
    panels = run_text(*run(), width=width)
    start = next(number for number, line in enumerate(panels) if line.startswith("TTFT from due"))
    assert max(map(len, panels[start:])) <= width


def test_plain_output_is_ascii():
    """For terminals and files that cannot write dots (units of time keep their sign, which the caller writes)."""
    lines = [*run_text(*run(), plain=True), *curve_text(curve_of(sweep()), plain=True)]
    assert [line for line in lines if not line.replace("µ", "u").isascii()] == []


def test_nothing_that_a_terminal_obeys_comes_through():
    """Hostile conditions are shown, not carried out."""
    lines = [*run_text(*run(model=HOSTILE)), *curve_text(curve_of([point(n, 1, 1, model=HOSTILE) for n in (1, 2)]))]
    assert [line for line in lines if not line.isprintable()] == []


def test_more_points_than_letters_are_still_all_listed():
    """The last ones share an asterisk."""
    lines = curve_text(curve_of([point(n, n, 0.01) for n in range(1, 61)]))
    assert sum(" in flight" in line for line in lines) == 60
    assert sum(line.startswith("*  ") for line in lines) == 8


def test_the_words_of_the_axes_keep_to_the_screen():
    """Also where a long sentence says that the number of accelerators is undisclosed."""
    curve = curve_of([point(n, 100 * n, 0.01, accelerators=None) for n in (1, 2)])
    lines = curve_text(curve, width=80)
    start = next(number for number, line in enumerate(lines) if line.startswith("up: "))
    assert "number of accelerators undisclosed" in " ".join(lines[start : start + 2])
    assert max(map(len, lines[start:])) <= 80


def test_an_axis_that_does_not_begin_at_zero_says_so():
    """And a limit that is far off is said, not drawn."""
    panel = run_text(*run())
    assert any("51.2 ms (not 0)" in line for line in panel)
    lines = curve_text(curve_of([point(n, 100 * n, 0.005) for n in (1, 2)]))
    assert lines[-1] == "|  TPOT limit 20 ms, off the axis"
    assert any(line.strip().startswith("176.8 (not 0)") for line in lines)
