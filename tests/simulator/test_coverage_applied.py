"""What was measured of intervals is found by metric, moves their ends out, and is said of whom it is."""

from importlib import import_module

import msgspec
import numpy as np
import pytest

from caveat.measure import Slo, scenario_with, workload_of_scenario
from caveat.simulator import disclosed, grades, model_named, predict
from caveat.simulator.disclosed import coverage_lines, coverage_words
from caveat.simulator.grades import Coverage
from caveat.simulator.predict_run import holds_waiting
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload
from tests.simulator.models import small

LENGTHS = Separate(input=Fixed(value=100), output=Fixed(value=20))


def plan(rate=10.0, requests=60, seed=0):
    return Workload(
        arrivals=Poisson(rate_qps=rate), lengths=LENGTHS, limits=Limits(requests=requests), seed=seed
    ).plan()


def predicted(model, plans=None, **options):
    options = {"draws": 4, "extrapolate": True, **options}
    return predict(model, plans or plan(), np.random.default_rng(0), subject="simulated/1", **options)


def entry(figure, widened_by=1.3, grade="A"):
    return Coverage(
        grade=grade,
        figure=figure,
        nominal=0.8,
        coverage=0.5,
        tested=10,
        systems=3,
        widened_by=widened_by,
        median_error=0.1,
        source="elsewhere",
    )


def test_both_ends_move_out_by_what_was_measured(monkeypatch):
    """By 1.3 for the middle of first tokens and for nothing else; the median stays, and the row says so."""
    plain = predicted(small())
    monkeypatch.setattr(grades, "coverages", lambda: (entry("ttft"),))
    moved = predicted(small())
    for key, one in plain.intervals.items():
        middle = key.startswith("caveat-ttft") and key.endswith((".p50", ".mean"))
        factor = 1.3 if middle else 1.0
        assert moved.intervals[key].median == one.median
        assert moved.intervals[key].low == pytest.approx(one.low / factor)
        assert moved.intervals[key].high == pytest.approx(one.high * factor)
    row = moved.run.row("caveat-ttft.p50")
    assert row.spread.method.endswith("; ends moved out by a factor of 1.30 (grade A)")
    assert (row.spread.low, row.spread.high) == (
        moved.intervals["caveat-ttft.p50"].low,
        moved.intervals["caveat-ttft.p50"].high,
    )
    assert "moved" not in moved.run.row("caveat-tpot-usage.p50").spread.method
    assert any("50% of 10 held-out values (3 systems)" in note for note in moved.run.notes)


def test_a_shipped_model_of_grade_c_tells_the_coverage_of_its_token_times_alone():
    """96 % of 162 values; of first tokens nothing was held out, which is said and marked unknown."""
    run = predicted(model_named("h100-llama3.1-8b")).run
    said = {note.split(": ")[1]: note for note in run.notes if note.startswith("coverage: ")}
    assert "94% of 162 held-out values (110 systems)" in said["caveat-tpot-usage.mean, caveat-tpot-usage.p50"]
    never = next(note for names, note in said.items() if "caveat-ttft.p50" in names)
    assert never.endswith("grade C: not validated: the coverage of such intervals was never measured")
    assert run.outcome("caveat-ttft.p50") == "unknown"


def test_nothing_measured_stands_beside_steps_that_have_no_draws():
    """One set of steps has no interval of its own: what scatters is the plans, and the row says that."""
    draws = msgspec.structs.replace(small().step_time, draws=None)
    model = msgspec.structs.replace(small(), step_time=draws)
    run = predicted(model, [plan(seed=seed) for seed in range(3)]).run
    method = run.row("caveat-ttft.p50").spread.method
    assert method == "80 % of 4 simulations of 3 plans of the workload; none of the model itself"
    notes = [note for note in run.notes if note.startswith("coverage: ")]
    assert "the model has one set of steps, and no interval of its own" in notes[0]
    assert "held-out values" not in " ".join(notes)


def test_of_grade_a_the_benchmarks_engine_is_named_and_the_models_own_check():
    """A file that names no run that was held against it has none; stated steps have no coverage at all."""
    words = list(coverage_words(small(), ["caveat-ttft.p50"]))
    assert "on the benchmark's engine, which is not this model's" in words[0]
    assert words[-1] == "coverage: this model's own check: none: the file names no run that was held against it unseen"
    assert coverage_lines(small())[0].startswith("on the benchmark's engine, which is not this one")
    stated = msgspec.structs.replace(small(), provenance=msgspec.structs.replace(small().provenance, origin="stated"))
    assert coverage_lines(stated) == ["never measured: nobody held out anything of stated or simulated steps"]
    assert disclosed.coverage_for(stated, "caveat-ttft.p50") == ()


def test_near_saturation_a_scenario_tells_no_waiting_of_its_own_either():
    """LoadGen's names as ours, nor what certifies them; token times stay."""
    rules = scenario_with(
        "server", ttft_s=2.0, tpot_s=0.1, min_duration_s=1.0, min_queries=64, percentile=0.9, set_size=64
    )
    offered = workload_of_scenario(rules, LENGTHS, target_qps=300.0, seed=0)
    found = predicted(small(), offered.plan(), scenario=rules)
    assert found.load.fraction.median > 1.5
    assert [row.metric for row in found.run.rows if "ttft" in row.metric or "latency" in row.metric] == []
    assert found.run.row("loadgen-tpot.p99") is not None
    judged = {check.aspect: check for check in found.run.validity}
    assert (judged["early stopping (TTFT)"].outcome, judged["steady state"].outcome) == ("unknown", "unknown")
    assert holds_waiting("loadgen-query-latency.p50")


def test_the_probability_is_of_draws_and_not_of_the_best_guess(monkeypatch):
    """Of four draws three keep the limit: 0.75, whatever the best guess does."""
    answers = iter([True, True, False, True])
    monkeypatch.setattr(import_module("caveat.simulator.predict"), "keeps", lambda *_: next(answers))
    assert predicted(small(), slo=Slo(tpot_s=1.0)).slo_probability == 0.75


@pytest.mark.parametrize(
    ("hit", "caching"), [('"unknown"', None), ("0.0", "off"), ("0.3", "on"), ("{low = 0.0, high = 0.0}", "off")]
)
def test_prefix_caching_is_on_off_or_not_known(hit, caching):
    """The word unknown is no share above 0."""
    run = predicted(small(hit=hit), prefix_hit=0.0 if caching is None else None).run
    assert run.conditions.get("prefix_caching") == caching
