"""Several runs on the screen and as JSON: repeats with their mean, and what an interruption left undone."""

import json

import pytest

from caveat.cli.measured_repeats import points, repeats_json
from caveat.cli.measured_sweep import print_sweep, report
from caveat.cli.turns import Turn
from caveat.figures import Check, Provenance, Row, Run, conditions_of
from caveat.loadgen import Endpoint, Spec
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload

LENGTHS = Separate(input=Fixed(value=10), output=Fixed(value=2))


def turn_at(point, rate=4.0):
    workload = Workload(arrivals=Poisson(rate_qps=rate), lengths=LENGTHS, limits=Limits(requests=20))
    return Turn(point, Spec(endpoint=Endpoint(url="http://127.0.0.1:9"), workload=workload))


def run_of(number, rate=4.0, *, plan="", failed=()):
    checks = tuple(Check(aspect=aspect, outcome="fail", sentence="It did.") for aspect in failed)
    rows = (
        Row(metric="caveat-request-rate", value=rate + number, n=20),
        Row(metric="caveat-ttft.p50", value=0.1 * (1 + number), n=20),
    )
    return Run(
        subject=f"measured/{number}",
        conditions=conditions_of({"target_qps": rate, "plan": plan or f"plan {number}", "loop": "open"}),
        provenance=Provenance(origin="measured", sources=()),
        rows=rows,
        validity=checks,
    )


@pytest.fixture
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_repeats_end_with_a_mean_and_no_curve(capsys, wide):
    """One point gives no curve; the interval, the spread and what they are made of stand there."""
    order, runs = [turn_at(0)] * 3, [run_of(number) for number in range(3)]
    report(order, runs, interrupted=False, full=False, as_json=False)
    said = capsys.readouterr().out
    assert "over 3 runs: 4 requests/s" in said
    assert "curve" not in said
    row = next(line.split() for line in said.splitlines() if line.startswith("caveat-request-rate "))
    assert row == ["caveat-request-rate", "5", "2.516", "to", "7.484", "1", "4", "6", "3"]
    assert "draw of its own" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 100


def test_one_plan_and_invalid_runs_are_said(capsys, wide):
    """An interval over one draw is about one draw."""
    runs = [run_of(0, plan="one"), run_of(1, plan="one", failed=["client health"])]
    print_sweep(runs, repeated=points([turn_at(0)] * 2, runs))
    said = " ".join(capsys.readouterr().out.split())
    assert "sent one plan: the interval says nothing of another draw" in said
    assert "1 of 2 runs are not valid" in said
    assert "NO: client health" in said


def test_what_was_not_measured_is_named(capsys, wide):
    """After an interruption: how many, and which."""
    order = [turn_at(0, 1.0), turn_at(1, 2.0), turn_at(2, 8.0)]
    report(order, [run_of(0, 1.0)], interrupted=True, full=False, as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "Interrupted: 2 of 3 runs were not made (2 requests/s, 8 requests/s)" in said
    report(order, [run_of(0, 1.0)], interrupted=True, full=False, as_json=True)
    content = json.loads(capsys.readouterr().out)
    assert (content["interrupted"], content["not_measured"]) == (True, ["2 requests/s", "8 requests/s"])
    assert (len(content["runs"]), content["repeats"]) == (1, [])


def test_repeats_for_a_machine_are_derived_and_name_their_runs():
    """Points that have one run are none of them; null where one run says nothing."""
    runs = [run_of(0), run_of(1), run_of(2, 8.0)]
    (found,) = repeats_json(points([turn_at(0), turn_at(0), turn_at(1, 8.0)], runs))
    assert found["runs"] == [run.id for run in runs[:2]]
    assert (found["asked"], found["own_draws"], found["derived"], found["not_valid"]) == ("4 requests/s", True, True, 0)
    rate = found["rows"][0]
    assert {key: rate[key] for key in ("metric", "unit", "n", "mean", "min", "max")} == {
        "metric": "caveat-request-rate",
        "unit": "{request}/s",
        "n": 2,
        "mean": 4.5,
        "min": 4.0,
        "max": 5.0,
    }
    assert rate["low"] < 4.5 < rate["high"]
