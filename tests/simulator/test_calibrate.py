"""Calibration by simulation: a known engine is found again, and what the runs do not tell is said."""

from importlib import import_module
from types import SimpleNamespace

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from caveat.errors import CannotSayError, InputError
from caveat.simulator.around import around
from caveat.simulator.calibrate import HeldOut, calibrate
from caveat.simulator.fit_runs import seen_run
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.fit_verdict import seats_words
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.length_mix import mix_of
from caveat.simulator.load import load_of
from caveat.simulator.model_file import Model, SchedulerTable, Validated, decode_model, encode_model
from caveat.simulator.step_models import FittedSteps
from caveat.simulator.step_time import StepTime
from tests.simulator.engines import BENT, SLOTS, calibrated, plan_of, samples_of

calibrate_module = import_module("caveat.simulator.calibrate")
validated = calibrate_module._validated
TIMES = ("step_s", "sequence_s", "prompt_token_s", "context_token_s")


def test_a_bent_step_is_found_again_where_it_was_seen_and_beyond():
    """One to eight sequences within 12 %, prompts within 2 %, the overhead within 8 ms: no line goes through all."""
    model = calibrated().model
    assert isinstance(model.step_time, FittedSteps)
    assert model.step_time.small_below in (2, 3, 4)
    found = model.step_time.step_time()
    for sequences in (1, 2, 4, 6, 8):
        what = {"sequences": sequences, "context_tokens": 115 * sequences}
        assert found.seconds(**what) == pytest.approx(BENT.seconds(**what), rel=0.12)
    assert model.step_time.parameters["prompt_token_s"] == pytest.approx(5e-3, rel=0.02)
    assert model.overheads.intake_s == pytest.approx(8e-3, abs=8e-3)


def test_draws_hold_the_true_step_and_are_as_wide_as_another_condition():
    """80 % of them lie about 7 % to either side."""
    draws = calibrated().model.step_time.draws_of()
    seen = [one.step_time.seconds(sequences=4, context_tokens=460) for one in draws]
    low, high = np.percentile(seen, [10, 90])
    assert len(draws) == 200
    assert low < BENT.seconds(sequences=4, context_tokens=460) < high
    assert 1.1 < high / low < 1.4


def test_a_model_says_what_it_was_made_from_and_where_it_held():
    """Each run was predicted from the other one; the range is that of the runs, and the file reads back."""
    found = calibrated()
    model = found.model
    assert decode_model(encode_model(model)) == model
    assert (model.grade, model.provenance.origin, model.not_known) == ("A", "measured", ())
    assert [one.run for one in found.held_out] == [0, 1]
    assert all(one.holds for one in found.held_out)
    assert model.validated.outside({"rate_per_s": 0.5, "input_tokens": 100.0, "load_fraction": 0.3}) == ()
    assert model.validated.outside({"rate_per_s": 5.0})
    assert model.provenance.note[0].startswith("run 1: 40 answers")
    assert any("predicted from the others" in note for note in model.provenance.note)


def test_one_run_of_one_length_leaves_parameters_untold_and_validates_nothing():
    """With 32 tokens to each prompt of 100 a step, its sequences and their context cannot be told apart."""
    run = samples_of(plan_of(0.2, 30, 3))
    found = calibrate("one", run, np.random.default_rng(1), date="2026-11-30", scheduler=SLOTS, draws=60)
    assert found.held_out == ()
    assert found.model.validated.outside({"rate_per_s": 0.2})
    assert found.untold or found.together
    assert any(note.startswith("the run") for note in found.model.provenance.note)
    assert "2 answers were giving tokens at once, and the stated limits allow 8" in found.model.provenance.note[-1]


def test_what_the_server_found_cached_is_the_prefix_hit():
    """The modelled server counts cached tokens, and found none. Slots are the limit of the batch."""
    run = samples_of(plan_of(0.3, 25, 1))
    slots_alone = SchedulerTable(max_num_seqs="unknown", static_slots=8)
    quick = {"date": "2026-11-30", "scheduler": slots_alone, "draws": 5}
    found = calibrate("m", run, np.random.default_rng(1), **quick).model
    assert (found.prefix_hit, found.scheduler.max_num_seqs) == (0.0, 8)
    field = run.schema.field("cached_tokens_usage")
    nothing = pa.nulls(len(run), field.type)
    silent = run.set_column(run.column_names.index(field.name), field, nothing)
    assert calibrate("m", silent, np.random.default_rng(1), **quick).model.prefix_hit == "unknown"


def test_a_limit_that_nobody_knows_is_refused():
    """Waiting cannot be told from slow steps."""
    run = samples_of(plan_of(0.3, 25, 1))
    unknown = SchedulerTable(max_num_seqs="unknown")
    with pytest.raises(CannotSayError, match="max_num_seqs"):
        calibrate("m", run, np.random.default_rng(1), date="2026-11-30", scheduler=unknown)


def test_a_run_that_lost_requests_is_refused():
    """What they cost the server is not in the samples."""
    run = samples_of(plan_of(0.3, 40, 1))
    lost = ["http-500"] * 5 + [None] * (len(run) - 5)
    field = run.schema.field("error_class")
    failed = run.set_column(run.column_names.index(field.name), field, pa.array(lost, field.type))
    with pytest.raises(CannotSayError, match="5 of 40 requests"):
        calibrate("m", failed, np.random.default_rng(1), date="2026-11-30", scheduler=SLOTS)


@pytest.mark.parametrize(
    ("ttft_off", "token_off", "holds"), [(0.2, -0.2, True), (0.21, 0.0, False), (0.0, -0.21, False)]
)
def test_a_run_counts_as_validation_where_both_times_are_within_a_fifth(ttft_off, token_off, holds):
    """Either alone is enough to leave it out; and where none counts, nothing was validated."""
    assert HeldOut(run=0, ttft_off=ttft_off, token_off=token_off).holds is holds
    assert validated(calibrated().model, []) == Validated()


def test_a_held_out_run_is_no_part_of_its_own_fit(monkeypatch):
    """The search sees the other run alone; a run of an engine half as quick then comes out far off."""
    slow = StepTime(
        pieces=tuple(
            msgspec.structs.replace(piece, **{name: 2 * getattr(piece, name) for name in TIMES})
            for piece in BENT.pieces
        )
    )
    runs = [
        seen_run(samples_of(plan_of(0.3, 40, 1))),
        seen_run(samples_of(plan_of(0.3, 40, 2), step_time=slow)),
    ]
    truth = np.log([22e-3, 3.2e-3, 3e-6, 5e-3, 8e-3])
    searched = []

    def found(problem, forms=()):
        searched.append(problem.runs)
        return SimpleNamespace(problem=problem, theta=truth)

    monkeypatch.setattr(calibrate_module, "search", found)
    problem = calibrate_module._problem(runs, SLOTS, FleetTable())
    held_out = calibrate_module._without(problem, runs, FitForm(), 1)
    assert searched == [[runs[0]]]
    assert held_out.token_off < -0.3
    assert not held_out.holds


def test_the_validated_range_is_what_the_runs_span_and_a_tenth():
    """By hand: rates, means, requests under way and both ends of the load at the hit that each run had."""
    model = calibrated().model
    samples = samples_of(plan_of(0.4, 40, 1))
    tokens = samples["input_tokens_usage"].to_numpy()
    half = samples.set_column(
        samples.column_names.index("cached_tokens_usage"), "cached_tokens_usage", pa.array(tokens // 2)
    )
    runs = [seen_run(samples), seen_run(half)]
    assert runs[1].cached_share == pytest.approx(0.5, abs=0.01)
    found = validated(model, runs)
    assert found.rate_per_s == around([one.rate_per_s for one in runs])
    assert found.rate_per_s.low == pytest.approx(0.9 * min(one.rate_per_s for one in runs))
    assert found.rate_per_s.high == pytest.approx(1.1 * max(one.rate_per_s for one in runs))
    assert found.input_tokens.high == pytest.approx(1.1 * tokens.mean())
    loads = [
        load_of(
            model,
            lambda hit: mix_of(tokens.astype(np.int64), samples["output_tokens_usage"].to_numpy(), prefix_hit=hit),
            one.rate_per_s,
            prefix_hit=one.cached_share,
        ).fraction
        for one in runs
    ]
    assert loads[1].median < loads[0].median
    assert found.load_fraction.low == pytest.approx(0.9 * loads[1].low)
    assert found.load_fraction.high == pytest.approx(1.1 * loads[0].high)
    assert (found.arrival_cv.low, found.input_cv.low) == (0.0, 0.0)
    assert found.input_cv.high == pytest.approx(1.1 * (1 + 2 / np.sqrt(40)) * tokens.std() / tokens.mean())


def test_a_limit_that_no_run_came_near_is_said_to_be_taken_as_stated():
    """Nine tenths of the seats show it; less does not."""
    runs = [seen_run(samples_of(plan_of(1.4, 60, 1)))]
    assert seats_words(runs, 8) == []
    (said,) = seats_words(runs, 64)
    assert "8 answers were giving tokens at once, and the stated limits allow 64" in said


def test_fitted_steps_refuse_parameters_of_another_form():
    """The names are those of the form."""
    plain = msgspec.to_builtins(calibrated().model)
    plain["step_time"]["small_below"] = 0
    with pytest.raises(InputError, match=r"fitted.parameters: found"):
        msgspec.convert(plain, Model)
    with pytest.raises(InputError, match="small_below: found 1"):
        FitForm(1)
