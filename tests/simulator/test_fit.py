"""The parts of a fit: runs as plans, what is compared, draws, and what is left over."""

import numpy as np
import pytest

from caveat.simulator.fit_noise import residual_of
from caveat.simulator.fit_problem import ALIGNED_FROM, Problem, parts_of
from caveat.simulator.fit_runs import MOST_ANSWERS, seen_run, served
from caveat.simulator.fit_search import Smooth, draws_of, search, smoothed
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.measured import priors_of
from caveat.simulator.routers import Routing
from caveat.simulator.step_time import Piece, StepTime
from caveat.workload import Concurrency
from tests.simulator.engines import BENT, SCHEDULER, plan_of, samples_of

PLAIN = StepTime(pieces=(Piece(step_s=8e-3, sequence_s=1e-3, prompt_token_s=1e-4, context_token_s=1e-6),))


def problem_of(*tables) -> Problem:
    """With the scheduler of the engine."""
    runs = [seen_run(one) for one in tables]
    return Problem(runs, FitForm(), priors_of(runs[0].answers), SCHEDULER, 1, Routing())


def test_a_run_served_by_the_model_that_made_it_is_the_run_itself():
    """To a nanosecond of the samples, which whole femtoseconds are cut to; the overhead of the model is in it."""
    run = seen_run(samples_of(plan_of(0.8, 60, 4)))
    again = served(run, BENT, SCHEDULER)
    assert again.ttft_s == pytest.approx(run.seen.ttft_s, abs=3e-9)
    assert again.token_s == pytest.approx(run.seen.token_s, abs=3e-9, nan_ok=True)


def test_a_closed_loop_is_replayed_at_the_moments_of_its_sending():
    """Then it is the same run, without anything of the loop."""
    run = seen_run(samples_of(plan_of(1.0, 40, 4, arrivals=Concurrency(requests=4))))
    again = served(run, BENT, SCHEDULER)
    assert again.ttft_s == pytest.approx(run.seen.ttft_s, abs=3e-9)
    assert run.in_flight == pytest.approx(4.0, rel=0.1)


def test_shifted_arrivals_stay_in_order_and_near():
    """And what was seen of them stays."""
    run = seen_run(samples_of(plan_of(0.8, 60, 4)))
    moved = run.shifted(0.01, np.random.default_rng(1))
    assert np.all(np.diff(moved.sent_s) >= 0)
    assert np.max(np.abs(moved.sent_s - run.sent_s)) <= 0.02
    assert moved.seen is run.seen


def test_of_a_long_run_the_first_answers_are_simulated_and_all_are_rows():
    """A fit serves them some thousand times."""
    run = seen_run(samples_of(plan_of(0.8, MOST_ANSWERS + 50, 4)))
    assert (len(run), len(run.answers.sent_s)) == (MOST_ANSWERS, MOST_ANSWERS + 50)
    assert len(next(run.blocks())) == len(run.seen.ttft_s) == MOST_ANSWERS


def test_requests_are_held_against_themselves_unless_their_order_is_lost():
    """Under the model's own times all are aligned; shuffled first tokens are compared by their distribution."""
    problem = problem_of(samples_of(plan_of(0.8, 80, 4)))
    true = np.log([22e-3, 3.2e-3, 3e-6, 5e-3, 8e-3])
    assert [part.aligned for part in parts_of(problem, true)] == [True, True]
    rng = np.random.default_rng(1)
    seen = problem.runs[0].seen
    rng.shuffle(seen.ttft_s)
    parts = parts_of(problem, true)
    assert [part.aligned for part in parts] == [False, True]
    assert len(parts[0]) == 20
    assert 0 < ALIGNED_FROM < 1


@pytest.mark.full
def test_the_straight_step_of_a_large_batch_engine_is_found_without_a_second_line():
    """Both runs together give step, sequences and prompts within 5 % where batches were seen."""
    problem = problem_of(samples_of(plan_of(4.0, 40, 1), PLAIN), samples_of(plan_of(14.0, 120, 2), PLAIN))
    found = search(problem)
    assert found.problem.form == FitForm(0)
    step = found.problem.form.step_time(np.exp(found.theta))
    for sequences in (1, 3, 6):
        what = {"sequences": sequences, "context_tokens": 116 * sequences, "prompt_tokens": 10}
        assert step.seconds(**what) == pytest.approx(PLAIN.seconds(**what), rel=0.05)


def test_draws_of_what_no_row_depends_on_are_the_prior_and_others_are_sure():
    """Slopes are made: the first parameter is seen by all rows, no other by any."""
    problem = problem_of(samples_of(plan_of(0.8, 40, 4)))
    theta = problem.centre.copy()
    parts = parts_of(problem, theta)
    rows = sum(len(part) for part in parts)
    rng = np.random.default_rng(1)
    slopes = np.zeros((rows, len(theta)))
    slopes[:, 0] = 1.0
    found = search(problem, small_below=())
    found = type(found)(problem, theta, found.parts, np.full(rows, 0.1), rng.normal(0, 0.1, rows), 0.0)
    drawn = draws_of(found, Smooth(found.missed, slopes, np.zeros(rows)), rng, 400)
    assert drawn[:, 0].std() < 0.05
    for place in range(1, len(theta)):
        assert drawn[:, place].std() == pytest.approx(problem.spread[place], rel=0.15)
    assert drawn.mean(axis=0) == pytest.approx(theta, abs=0.35)


@pytest.mark.full
def test_noise_of_requests_is_found_and_a_quiet_engine_has_none():
    """Answers made slower or faster by 10 % each, on their own."""
    quiet = problem_of(samples_of(plan_of(0.3, 60, 5)))
    found = search(quiet)
    rest = residual_of(found, smoothed(found, np.random.default_rng(1)))
    assert rest.ttft_sd < 0.03
    assert rest.token_sd < 0.03
    assert 0.04 < rest.condition_sd < 0.08
    noisy = problem_of(samples_of(plan_of(0.3, 60, 5)))
    rng = np.random.default_rng(2)
    for values in (noisy.runs[0].seen.ttft_s, noisy.runs[0].seen.token_s):
        values *= np.exp(rng.normal(0, 0.1, len(values)))
    found = search(noisy)
    rest = residual_of(found, smoothed(found, np.random.default_rng(1)))
    assert 0.06 < rest.ttft_sd < 0.14
    assert 0.06 < rest.token_sd < 0.14
