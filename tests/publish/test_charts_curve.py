"""publish.charts_curve: what the system gives against what each user sees, drawn."""

import json

import altair
import pytest

from caveat.errors import RefusedError
from caveat.publish.charts_curve import curve_chart
from caveat.publish.charts_style import INK
from caveat.publish.curve_points import curve_of
from tests.publish.drawn import HOSTILE, golden, point, settled, sweep, texts


def test_the_specification_is_the_same_on_every_machine():
    """Golden JSON, not golden pixels."""
    assert settled(curve_chart(curve_of(sweep()))) == json.loads(golden("curve_chart.json").read_text())


def test_the_specification_keeps_to_the_schema_of_vega_lite():
    """Checked by Altair, which carries the schema."""
    assert altair.Chart.from_dict(curve_chart(curve_of(sweep()))).to_dict()["width"] == 780


def test_an_unknown_number_of_accelerators_divides_nothing():
    """The whole system's rate, and the axis says so."""
    runs = [point(1, 100, 0.01, accelerators=None), point(8, 400, 0.02, accelerators=None)]
    curve = curve_of(runs)
    assert [p.system for p in curve.points] == [100, 400]
    assert "of the whole system (number of accelerators undisclosed)" in " ".join(texts(curve_chart(curve)))


def test_hostile_names_are_harmless():
    """On the chart and in a refusal."""
    spec = curve_chart(curve_of([point(n, 100, 0.01, model=HOSTILE) for n in (1, 2)]))
    assert [text for text in texts(spec) if not text.isprintable()] == []
    with pytest.raises(RefusedError) as refused:
        curve_of([point(1, 100, 0.01, model=HOSTILE), point(2, 100, 0.01)])
    assert refused.value.message.isprintable()


def test_the_head_says_that_the_axes_are_derived():
    """The marks of every point stand in the title."""
    title = curve_chart(curve_of(sweep()))["title"]
    assert title["text"].startswith("[DERIVED]  [1 OF 3 NOT VALID]  ")
    above = " ".join(title["subtitle"])
    for said in (
        "caveat-output-tokens-rate-usage / 2 accelerators (a claim)",
        "1 / caveat-tpot-usage.p50",
        "latency limits: 2 met, 1 missed",
        "per-accelerator-is-derived",
        "validity: 2 pass, 1 fail",
    ):
        assert said in above


def layers(spec, mark):
    """The layers of one kind of mark."""
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


def looks(spec):
    """Words of the legend -> outline, fill and stroke of a point."""
    encoding = layers(spec, "point")[0]["encoding"]
    channels = [encoding[name]["scale"] for name in ("shape", "fill", "stroke")]
    return dict(zip(channels[0]["domain"], zip(*(channel["range"] for channel in channels), strict=True), strict=True))


def test_a_point_that_is_not_valid_is_hollow_and_crossed_and_the_legend_says_so():
    """Its outline and colour say that it missed its limits, as they do of a valid one."""
    found = looks(curve_chart(curve_of(sweep())))
    assert list(found) == ["limits met", "limits missed, not valid"]
    (outline, fill, stroke), (crossed, hollow, other) = found.values()
    assert (fill, hollow) == (stroke, "#ffffff")
    assert other != stroke
    assert (outline.count("M"), crossed.count("M")) == (1, 3)


def test_unknown_validity_is_hollow_without_a_cross():
    """And a run without limits has none to meet."""
    free = {"tpot_limit_s": None, "limits": "unknown"}
    found = looks(curve_chart(curve_of([point(n, 100 * n, 0.01, outcome="unknown", **free) for n in (1, 2)])))
    assert {words: (look[0].count("M"), look[1]) for words, look in found.items()} == {
        "no limits set, validity unknown": (1, "#ffffff")
    }


def test_labels_say_what_was_asked_and_a_crowded_chart_leaves_some_out_and_says_so():
    """None is laid over another."""
    (three,) = layers(curve_chart(curve_of(sweep())), "text")[-1:]
    assert [value["words"] for value in three["data"]["values"]] == ["1 in flight", "8 in flight", "64 in flight"]
    spec = curve_chart(curve_of([point(n, 500 + n / 100, 0.01) for n in range(1, 61)]))
    named = len(layers(spec, "text")[-1]["data"]["values"])
    assert 0 < named < 60
    assert f"{60 - named} of 60 points have no label for want of room" in spec["title"]["subtitle"]


def test_the_limit_is_named_above_the_plot_and_what_misses_it_is_shaded():
    """Up to where the median misses it."""
    spec = curve_chart(curve_of(sweep()))
    (shade,) = layers(spec, "rect")
    assert shade["data"]["values"] == [{"user": 0, "to": 50}]
    (named,) = (layer for layer in layers(spec, "text") if "limit" in str(layer["data"]))
    assert named["mark"]["y"] < 0


def test_a_limit_far_off_does_not_squeeze_the_points_together():
    """It is said where it lies instead, and the axis says where it begins."""
    spec = curve_chart(curve_of([point(n, 100 * n, 0.005 + n / 1e6) for n in (1, 2, 3)]))
    assert layers(spec, "rect") == []
    said = " ".join(texts(spec))
    assert "TPOT limit 20 ms, 50 tokens/s per user: off the axis, to the left" in said
    axis = layers(spec, "line")[0]["encoding"]["x"]
    assert axis["scale"]["domain"][0] > 150
    assert "not at 0" in axis["axis"]["title"][-1]


def test_the_title_is_red_only_where_no_point_is_valid():
    """One of three is counted in the mark."""
    assert curve_chart(curve_of(sweep()))["title"]["color"] == INK
    none = curve_chart(curve_of([point(n, 100 * n, 0.01, outcome="fail") for n in (1, 2)]))["title"]
    assert (none["text"].startswith("[DERIVED]  [NOT VALID]  "), none["color"] != INK) == (True, True)
