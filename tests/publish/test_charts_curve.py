"""publish.charts_curve: what the system gives against what each user sees."""

import json

import altair
import msgspec
import pytest

from caveat.errors import CannotSayError, RefusedError, UsageError
from caveat.publish.charts_curve import curve_chart, curve_of, curve_sentences
from tests.publish.drawn import HOSTILE, golden, point, settled, sweep, texts


def test_the_specification_is_the_same_on_every_machine():
    """Golden JSON, not golden pixels."""
    assert settled(curve_chart(curve_of(sweep()))) == json.loads(golden("curve_chart.json").read_text())


def test_the_specification_keeps_to_the_schema_of_vega_lite():
    """Checked by Altair, which carries the schema."""
    assert altair.Chart.from_dict(curve_chart(curve_of(sweep()))).to_dict()["width"] == 820


def test_points_stand_in_the_order_of_what_was_asked_and_by_accelerator():
    """A user's rate is one over the median time per token."""
    points = curve_of(sweep()).points
    assert [(p.label, p.user, p.system) for p in points] == [
        ("1 in flight", 100, 50),
        ("8 in flight", 80, 200),
        ("64 in flight, not valid", 40, 450),
    ]
    assert [p.limits for p in points] == ["pass", "pass", "fail"]


def test_an_unknown_number_of_accelerators_divides_nothing():
    """The whole system's rate, and the axis says so."""
    runs = [point(1, 100, 0.01, accelerators=None), point(8, 400, 0.02, accelerators=None)]
    curve = curve_of(runs)
    assert [p.system for p in curve.points] == [100, 400]
    assert "of the whole system (number of accelerators undisclosed)" in " ".join(texts(curve_chart(curve)))


def test_a_rate_is_a_label_too():
    """Open loops are labelled with the rate that was asked for."""
    runs = [point(1, 100, 0.01, concurrency=None, loop="open", target_qps=rate) for rate in (0.5, 4)]
    assert [p.label for p in curve_of(runs).points] == ["0.5 requests/s", "4 requests/s"]


@pytest.mark.parametrize(
    "changes",
    [
        {"accelerator": "B200"},
        {"model": "other"},
        {"tpot_limit_s": 0.05},
        {"loop": "open"},
        {"output_tokens_requested": {"mean": 500.0}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_unlike_runs_are_no_curve(changes):
    """The refusal names the condition and both values."""
    with pytest.raises(RefusedError, match=f"not one sweep: {next(iter(changes))}: found ") as refused:
        curve_of([point(1, 100, 0.01, output_tokens_requested={"mean": 100.0}), point(8, 400, 0.02, **changes)])
    assert refused.value.code == "not-one-sweep" or changes.keys() == {"output_tokens_requested"}


def test_lengths_that_differ_by_chance_are_one_workload_and_the_range_is_said():
    """Twenty draws of a law do not have its mean."""
    runs = [
        point(n, 100, 0.01, output_tokens_requested={"mean": mean}, output_tokens={"mean": mean})
        for n, mean in ((1, 96.0), (8, 100.0))
    ]
    assert curve_sentences(curve_of(runs))[-1].endswith("; mean output 96 to 100.0 tokens")


def test_an_unknown_mean_output_is_not_zero():
    """It is said to be undisclosed."""
    assert curve_sentences(curve_of(sweep()))[-1].endswith("; mean output of a request undisclosed")


def test_one_run_is_no_curve():
    """Nor is one run twice."""
    with pytest.raises(UsageError, match="two runs or more"):
        curve_of([sweep()[0]] * 2)


def test_tokens_that_nobody_counted_make_no_point():
    """Chunks are not tokens."""
    blind = msgspec.structs.replace(point(4, 1, 1), rows=(), primary=None)
    curve = curve_of([*sweep(), blind])
    assert (len(curve.points), curve.left_out) == (3, (blind.id[:10],))
    assert f"left out, without a rate or a median time per token: {blind.id[:10]}" in curve_sentences(curve)
    with pytest.raises(CannotSayError, match=f"no output rate in {blind.id[:10]}: two points make a curve"):
        curve_of([sweep()[0], blind])


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
    assert title["text"].startswith("[DERIVED]  [NOT VALID]  ")
    above = " ".join(title["subtitle"])
    for said in (
        "caveat-output-tokens-rate-usage / 2 accelerators (a claim)",
        "1 / caveat-tpot-usage.p50",
        "latency limits: 2 met, 1 missed",
        "per-accelerator-is-derived",
        "validity: 2 pass, 1 fail",
    ):
        assert said in above
