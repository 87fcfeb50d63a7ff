"""publish.curve_points: the points of a sweep, or why they are none."""

import msgspec
import pytest

from caveat.errors import CannotSayError, RefusedError, UsageError
from caveat.publish.curve_points import curve_of, curve_sentences, hardware
from tests.publish.drawn import point, sweep


def test_points_stand_in_the_order_of_what_was_asked_and_by_accelerator():
    """A user's rate is one over the median time per token."""
    points = curve_of(sweep()).points
    assert [(p.label, p.user, p.system) for p in points] == [
        ("1 in flight", 100, 50),
        ("8 in flight", 80, 200),
        ("64 in flight, not valid", 40, 450),
    ]
    assert [p.limits for p in points] == ["pass", "pass", "fail"]


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


def test_without_limits_none_is_met_or_missed():
    """Which is not the same as not knowing."""
    curve = curve_of([point(n, 100 * n, 0.01, tpot_limit_s=None, limits="unknown") for n in (1, 2)])
    assert [p.limits for p in curve.points] == ["not applicable"] * 2
    assert curve_sentences(curve)[1].startswith("no latency limits were set; ")


def test_axes_begin_at_zero_or_use_their_space():
    """Points that differ little stand on an axis a fifth wide, and a limit near them on the same."""
    curve = curve_of([point(n, 100 * n, 0.01 + n / 1e6) for n in (1, 2, 3)])
    low, high = curve.user_scale["domain"]
    assert (curve.limit_drawn, low) == (50, pytest.approx(46, abs=1))
    assert high > 100
    assert curve.system_scale["domain"][0] == 0


def test_undisclosed_hardware_is_said_once():
    """Not as undisclosed times undisclosed."""
    assert hardware(curve_of(sweep()).points[0].figure) == "2 x H100"
    runs = [point(n, 100, 0.01, accelerators=None, accelerator=None) for n in (1, 2)]
    assert hardware(curve_of(runs).points[0].figure) == "undisclosed hardware"
