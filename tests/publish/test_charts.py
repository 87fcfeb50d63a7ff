"""publish.charts: a run as a Vega-Lite specification, never without its conditions."""

import dataclasses
import hashlib
import json

import altair
import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError, UsageError
from caveat.figures import Figure, Source, conditions_of, primary_figure
from caveat.measure import series_of
from caveat.publish import plot_run
from caveat.publish.charts import run_chart
from caveat.publish.charts_style import axis_words, linear_scale, on_axis, tidy, time_scale
from caveat.publish.plot import series_of_run
from tests.builders import published_run
from tests.publish.drawn import HOSTILE, golden, run, settled, table, texts


def panels(spec):
    """Panels by title."""
    return {above(panel)[0]: panel for panel in spec["concat"]}


def above(panel):
    """The words above a panel, its title first."""
    found = [layer for layer in panel["layer"] if layer["mark"]["type"] == "text" and layer["mark"].get("y", 0) < 0]
    return [layer["data"]["values"][0]["words"] for layer in found]


def values(panel, curve):
    """The points of one curve."""
    lines = [layer for layer in panel["layer"] if layer["mark"]["type"] == "line"]
    return [point for point in lines[0]["data"]["values"] if point["curve"] == curve]


def test_the_specification_is_the_same_on_every_machine():
    """Golden JSON, not golden pixels."""
    assert settled(run_chart(*run())) == json.loads(golden("run_chart.json").read_text())


def test_the_specification_keeps_to_the_schema_of_vega_lite():
    """Checked by Altair, which carries the schema."""
    assert altair.Chart.from_dict(run_chart(*run())).to_dict()["title"]["anchor"] == "start"


def test_the_head_says_value_conditions_validity_and_caveats():
    """Whatever else is on the chart."""
    figure, series = run()
    title = run_chart(figure, series)["title"]
    above = " ".join(title["subtitle"])
    assert title["text"] == f"[NOT VALID]  {figure.text}  {figure.metric.key}"
    for said in (figure.summary(), "target qps 10", "queries 30", "validity fail", "error rate: 28 of 30"):
        assert said in above
    assert "caveats: self-reported, " in above
    assert figure.id in above


@pytest.mark.parametrize(
    ("changes", "mark"),
    [({"origin": "simulated"}, "SIMULATED"), ({"review": "unverified"}, "UNVERIFIED"), ({}, "NOT VALID")],
)
def test_what_is_not_measured_not_verified_or_not_valid_is_marked_in_the_title(changes, mark):
    """Nobody can crop the mark and keep the title."""
    assert f"[{mark}]" in run_chart(*run(**changes))["title"]["text"]


def test_a_request_that_failed_keeps_the_curve_below_one():
    """Two of thirty never had a first token."""
    panel = panels(run_chart(*run()))["Time to first token"]
    points = values(panel, "from due")
    assert (points[0]["share"], points[-1]["share"]) == (0, tidy(28 / 30))
    (line,) = (layer for layer in panel["layer"] if layer["mark"]["type"] == "line")
    assert line["encoding"]["y"]["axis"]["title"] == "share of 30 requests (2 never)"


def test_a_bin_before_a_gap_is_drawn_to_its_end():
    """The last request was due long before the last answer ended: nothing is known of the bins between."""
    figure, series = run()
    over = series.over_time
    cut = dataclasses.replace(over, ttft_p50_s=np.where(over.edges_s[:-1] < over.edges_s[2], 0.5, np.nan))
    panel = panels(run_chart(figure, dataclasses.replace(series, over_time=cut)))
    points = values(panel["Time to first token, by when requests were due"], "median")
    known = [(point["at"], point["value"]) for point in points[:4]]
    a, b, c = (tidy(float(edge)) for edge in over.edges_s[:3])
    assert known == [(a, 0.5), (b, 0.5), (c, 0.5), (c, None)]


def test_a_limit_is_drawn_where_the_conditions_have_one():
    """And only there."""
    found = panels(run_chart(*run()))
    limits = {title: {v for v in texts(panel) if v.startswith("limit ")} for title, panel in found.items()}
    assert limits["Time to first token"] == {"limit 80 ms at p90"}
    assert limits["Whole request, from due"] == set()


def test_a_limit_far_off_the_values_is_said_and_not_drawn():
    """A rule at ten times the longest would leave the curve a tenth of its panel."""
    figure, series = run()
    far = msgspec.structs.replace(
        figure.run, conditions=conditions_of({**figure.conditions.known, "ttft_limit_s": 2.0})
    )
    found = panels(run_chart(Figure(far, figure.metric.key), series))
    for title in ("Time to first token", "Time to first token, by when requests were due"):
        assert "limit 2 s at p90, off the axis" in above(found[title])
        assert not any(
            layer["mark"].get("strokeDash") == [5, 3] and "y" not in layer["mark"] for layer in rules(found[title])
        )


def rules(panel):
    """The straight lines inside a panel."""
    layers = [layer for layer in panel["layer"] if layer["mark"]["type"] == "rule"]
    return [layer for layer in layers if "value" not in layer["encoding"].get("y", {})]


def test_no_word_stands_inside_a_panel():
    """So that none can lie on a curve, whatever its shape."""
    for panel in run_chart(*run())["concat"]:
        inside = [layer["mark"] for layer in panel["layer"] if layer["mark"]["type"] == "text"]
        assert all(mark["y"] < 0 for mark in inside)


def test_a_percentile_that_the_run_could_not_state_is_not_drawn():
    """Twenty-eight values have a median and no 99th percentile."""
    panel = panels(run_chart(*run()))["Time to first token"]
    (points,) = (layer["data"]["values"] for layer in panel["layer"] if layer["mark"]["type"] == "point")
    assert len(points) == 1
    (facts,) = (words for words in above(panel) if "p50" in words)
    assert facts.startswith("p50 71 ms")
    assert "too few independent requests for p99" in facts


def test_hostile_conditions_stand_in_the_head_as_harmless_text():
    """No control character is left in any text of the specification."""
    spec = run_chart(*run(model=HOSTILE, engine=HOSTILE))
    assert [text for text in texts(spec) if not text.isprintable()] == []
    assert "\\x1b[31m" in " ".join(spec["title"]["subtitle"])


def test_a_specification_stays_small_however_long_the_run():
    """A hundred thousand requests make no more points than the eye can tell apart."""
    figure, _ = run()
    big = run_chart(figure, series_of(table(100_000, failed=0)))
    assert len(json.dumps(big)) < 300_000


def test_a_wide_range_is_logarithmic_and_a_narrow_one_uses_its_space():
    """And either says so."""
    assert (time_scale([0.0, 1.0])["type"], axis_words(time_scale([0.0, 1.0]))) == ("log", "logarithmic axis")
    narrow = time_scale([0.010, 0.012])
    assert narrow == {"domain": [0.00984, 0.01216], "nice": False, "clamp": True}
    assert axis_words(narrow) == "the axis begins at 9.84 ms, not at 0"


def test_an_axis_begins_at_zero_where_that_leaves_little_of_it_empty():
    """And noise does not fill an axis."""
    assert linear_scale(4, 10, least=0.1) == {"domain": [0, 10.8], "nice": False}
    assert axis_words(linear_scale(4, 10, least=0.1)) == ""
    assert linear_scale(100, 100, least=0.1)["domain"] == [94.2, 105.8]


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=9))
def test_every_time_lies_on_its_axis(values):
    """Only what is shorter than a microsecond stands at the edge of a logarithmic one."""
    scale = time_scale(values)
    low, high = scale["domain"]
    assert low < high
    assert all(low <= max(value, 1e-6 if scale.get("type") else 0) * (1 + 1e-5) for value in values)
    assert max(values) <= high * (1 + 1e-5)


def test_a_limit_stands_on_the_axis_within_three_times_the_values():
    """Above and below; no limit stands nowhere."""
    found = [on_axis(limit, 1.0, 2.0) for limit in (None, 0.3, 0.4, 6.0, 6.1)]
    assert found == [False, False, True, True, False]


def test_a_panel_without_values_says_why():
    """An answer that is not streamed has no first token."""
    figure, series = run()
    only = tuple(cdf for cdf in series.cdfs if cdf.definition == "caveat-latency")
    spec = run_chart(figure, dataclasses.replace(series, cdfs=only))
    assert texts(spec).count("no request has the times it needs") == 3


def test_samples_that_are_not_those_of_the_figures_are_refused(tmp_path):
    """A curve of other requests would stand under the figure's conditions."""
    figure, _ = run()
    pq.write_table(table(), tmp_path / "s.parquet")
    digest = hashlib.sha256((tmp_path / "s.parquet").read_bytes()).hexdigest()

    def kept(sha256):
        source = Source(kind="samples", path="s.parquet", sha256=sha256)
        provenance = msgspec.structs.replace(figure.run.provenance, sources=(source,))
        return msgspec.structs.replace(figure.run, samples="s.parquet", provenance=provenance)

    assert series_of_run(kept(digest), tmp_path).measured_s[0] == 1.0
    with pytest.raises(InputError, match="other samples than the figures were made of"):
        series_of_run(kept("00" * 32), tmp_path)


def test_a_run_without_samples_cannot_be_drawn(tmp_path):
    """A published number is not a distribution."""
    figure = primary_figure(published_run())
    assert figure is not None
    with pytest.raises(UsageError, match="has no samples"):
        plot_run(figure, tmp_path)


def test_times_are_kept_to_six_digits():
    """So that no machine's last digit makes another specification."""
    assert tidy(0.123456789) == 0.123457
    assert np.isfinite(tidy(1e-12))
