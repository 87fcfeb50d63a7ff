"""Calibration by simulation: a known engine is found again, and what the runs do not tell is said."""

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from caveat.errors import CannotSayError, InputError
from caveat.simulator.calibrate import calibrate
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.model_file import Model, SchedulerTable, decode_model, encode_model
from caveat.simulator.step_models import FittedSteps
from tests.simulator.engines import BENT, SLOTS, calibrated, plan_of, samples_of


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
    assert found.model.provenance.note[-1].startswith("the run")


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


def test_fitted_steps_refuse_parameters_of_another_form():
    """The names are those of the form."""
    plain = msgspec.to_builtins(calibrated().model)
    plain["step_time"]["small_below"] = 0
    with pytest.raises(InputError, match=r"fitted.parameters: found"):
        msgspec.convert(plain, Model)
    with pytest.raises(InputError, match="small_below: found 1"):
        FitForm(1)
