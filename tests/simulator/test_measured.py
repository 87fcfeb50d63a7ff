"""Measured samples as evidence, held against a modelled server whose step is known."""

import numpy as np
import pytest

from caveat.errors import CannotSayError
from caveat.measure import Kept
from caveat.simulator.calibration import from_samples
from caveat.simulator.capacity import interval_of, largest_rate, mean_step_s
from caveat.simulator.measured import NAMES, answers_of, evidence_of, piece_of, priors_of
from caveat.simulator.model_file import decode_model, encode_model
from caveat.simulator.posterior import fit
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.step_time import Piece, StepTime
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.workload import Limits, Lognormal, Poisson, Separate, Workload

TRUE = Piece(step_s=8e-3, prompt_token_s=5e-5, sequence_s=1e-4, context_token_s=2e-8)
INTAKE_S = 0.012


@pytest.fixture(scope="module")
def samples():
    """400 requests at a fifth of what the server carries."""
    workload = Workload(
        arrivals=Poisson(rate_qps=4.0),
        lengths=Separate(input=Lognormal(mean=500, cv=1), output=Lognormal(mean=200, cv=0.7)),
        limits=Limits(requests=400),
        seed=3,
    )
    sink = Kept()
    SimulatedServer(StepTime(pieces=(TRUE,)), Scheduler(intake_s=INTAKE_S)).offer(workload.plan(), sink, VirtualClock())
    return sink.table()


def test_a_known_step_is_found_again_and_holds_at_loads_that_were_not_seen(samples):
    """From about 10 sequences to 64 within 4 %, capacity at 256 within 6 %; prompts and overhead within 10 %."""
    answers = answers_of(samples)
    found = fit(evidence_of(answers), np.random.default_rng(1), priors=priors_of(answers))
    true, steps, mix = StepTime(pieces=(TRUE,)), StepTime(pieces=(piece_of(found.mode),)), answers.mix
    assert found.names == NAMES
    for sequences in (1, 8, 30, 64):
        assert mean_step_s(steps, mix, sequences) == pytest.approx(mean_step_s(true, mix, sequences), rel=0.04)
    assert largest_rate(steps, mix, 256) == pytest.approx(largest_rate(true, mix, 256), rel=0.06)
    assert steps.pieces[0].prompt_token_s == pytest.approx(TRUE.prompt_token_s, rel=0.1)
    assert found.overhead_s == pytest.approx(INTAKE_S, rel=0.1)


def test_a_model_from_samples_is_of_grade_a_and_says_what_it_does_not_know(samples):
    """It round-trips; its draws hold the true step; nothing was validated yet."""
    model = from_samples("engine", samples, np.random.default_rng(1), date="2026-11-30")
    assert decode_model(encode_model(model)) == model
    assert (model.grade, model.provenance.origin, model.not_known) == (
        "A",
        "measured",
        ("scheduler.max_num_seqs", "prefix_hit"),
    )
    mix = answers_of(samples).mix
    seen = mean_step_s(StepTime(pieces=(TRUE,)), mix, 40)
    found = interval_of(mean_step_s(one.step_time, mix, 40) for one in model.step_time.draws_of())
    assert found.low <= seen <= found.high
    assert model.validated.outside({"rate_per_s": 4.0})
    both = from_samples("engine", [samples, samples], np.random.default_rng(1), date="2026-11-30")
    assert both.step_time.piece.step_s == pytest.approx(model.step_time.piece.step_s, rel=0.05)


def test_too_few_answers_teach_nothing(samples):
    """The error says how many there are."""
    with pytest.raises(CannotSayError, match="found 5 answers"):
        answers_of(samples.slice(0, 5))


def test_the_mix_of_the_answers_is_that_of_the_requests(samples):
    """Tokens as the server counted them."""
    mix = answers_of(samples).mix
    wanted = samples.column("input_tokens_wanted").to_numpy()
    assert mix.input_tokens == pytest.approx(wanted.mean())
    assert mix.prompt_tokens == pytest.approx(mix.input_tokens)
