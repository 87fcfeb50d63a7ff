"""Whether a fit is worth a model: what no engine gives is refused with what was seen, and what load costs is not made
up."""

import numpy as np
import pyarrow as pa
import pytest

from caveat.errors import CannotSayError
from caveat.simulator.calibrate import calibrate
from caveat.simulator.calibration import from_samples
from caveat.simulator.fit_problem import Problem
from caveat.simulator.fit_runs import seen_run
from caveat.simulator.fit_search import search
from caveat.simulator.fit_steps import FitForm
from caveat.simulator.fit_verdict import fitted, refuse_hopeless
from caveat.simulator.measured import priors_of
from caveat.simulator.model_file import Overheads, Residual, SchedulerTable
from caveat.simulator.routers import Routing
from tests.simulator.engines import SLOTS, plan_of, samples_of

WIDE = SchedulerTable(max_num_seqs=256)


def numbers(table, name):
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False), float)


def with_column(table, name, values):
    field, unknown = table.schema.field(name), ~np.isfinite(values)
    column = pa.array(np.where(unknown, 0, values).astype(np.int64), field.type, mask=unknown)
    return table.set_column(table.column_names.index(name), field, column)


def mock(rate_per_s, *, ttft_s, token_s, seed=1, requests=26):
    """Samples of an endpoint that answers after so long, whatever else is under way: numbers, or functions of (rng,
    how many)."""
    table, rng = samples_of(plan_of(rate_per_s, requests, seed)).sort_by("request"), np.random.default_rng(seed)
    drawn = [law(rng, len(table)) if callable(law) else np.full(len(table), law) for law in (ttft_s, token_s)]
    sent = numbers(table, "ready_ns")
    first = sent + drawn[0] * 1e9
    last = first + drawn[1] * 1e9 * (numbers(table, "output_tokens_usage") - 1)
    times = {"sent_ns": sent, "first_byte_ns": first, "first_token_ns": first, "last_token_ns": last, "end_ns": last}
    for name, values in times.items():
        table = with_column(table, name, values)
    return table


def two(**delays):
    """At two rates."""
    return [mock(rate, seed=seed, **delays) for seed, rate in ((1, 5.0), (2, 20.0))]


def calibrated(runs, scheduler=WIDE):
    return calibrate("mock", runs, np.random.default_rng(1), date="2026-11-30", scheduler=scheduler, draws=20)


def scattered(median_s, sd):
    return lambda rng, count: median_s * np.exp(rng.normal(0, sd, count))


FULL = pytest.mark.full
DELAYS = [(0.1, 1e-4), (1.0, 1e-6), (2e-4, 1e-9)]


@pytest.mark.parametrize(("ttft_s", "token_s"), [*DELAYS, (0.05, 1e-2)])
def test_a_search_ends_at_the_delays_and_never_beyond_the_run(ttft_s, token_s):
    """Wherever it looks: no overhead of a hundred million seconds, also where first tokens all overlap."""
    runs = [seen_run(mock(rate, seed=seed, ttft_s=ttft_s, token_s=token_s)) for seed, rate in ((1, 200.0), (2, 1000.0))]
    priors = priors_of(runs[0].answers)
    problem = Problem(runs, FitForm(), priors, WIDE.scheduler(Overheads(intake_s=0.0)), 1, Routing())
    found = search(problem, small_below=())
    fits = fitted(problem, found.theta, Residual(), np.random.default_rng(1))
    assert all(one.explained for one in fits)
    refuse_hopeless(problem, fits)
    for far in (found.theta + 40, np.full(5, 700.0), np.full(5, -700.0)):  # no trial of a search is refused
        assert all(np.isfinite(times.ttft_s).all() for times in problem.times(far))


@FULL
@pytest.mark.parametrize(("ttft_s", "token_s"), DELAYS)
def test_fixed_delays_give_their_own_model_and_nothing_is_made_up_of_load(ttft_s, token_s):
    """However far a first token is from a step: bounded, explained, predicted from each other, and said that load cost
    nothing."""
    found = calibrated(two(ttft_s=ttft_s, token_s=token_s))
    assert found.model.overheads.intake_s == pytest.approx(ttft_s, rel=0.05)
    step = found.model.step_time.step_time()
    assert step.seconds(sequences=2, context_tokens=200) == pytest.approx(token_s, rel=0.05)
    assert all(one.explained for one in found.fits) and len(found.fits) == 4
    assert all(one.holds for one in found.held_out)
    assert any("a run at a higher load would tell" in note for note in found.model.provenance.note)


@pytest.mark.full
def test_scatter_that_no_queue_explains_is_noise_of_single_requests():
    """Delays at random, 30 % either way: the model has their median, and its noise their width."""
    found = calibrated(two(ttft_s=scattered(0.1, 0.3), token_s=scattered(0.01, 0.2), requests=60))
    assert found.model.residual.ttft_sd == pytest.approx(0.3, abs=0.12)
    assert all(abs(one.off_p50) < 0.25 for one in found.fits)


@pytest.mark.parametrize(
    ("delays", "said"),
    [
        ({"ttft_s": 1e-4, "token_s": 1e-2}, "first tokens came after 100 µs and others every 10 ms"),
        ({"ttft_s": scattered(0.1, 1.5), "token_s": scattered(0.01, 1.5)}, "delays at random"),
    ],
)
@pytest.mark.parametrize("known", [False, pytest.param(True, marks=FULL)])
def test_what_no_engine_gives_is_refused_with_what_was_seen(delays, said, known):
    """By the simulation, and by rows alone where the limit of the batch is not known."""
    with pytest.raises(CannotSayError, match=said) as refused:
        if known:
            calibrated(two(**delays))
        else:
            from_samples("mock", two(**delays), np.random.default_rng(1), date="2026-11-30")
    assert refused.value.code == "not-an-engine"


def test_rows_alone_do_not_stand_for_waiting():
    """Under load first tokens wait: a model without a queue is refused, with the way out; at low load it is given."""
    told = {"rng": np.random.default_rng(1), "date": "2026-11-30"}
    with pytest.raises(CannotSayError, match="nobody waits for a seat") as refused:
        from_samples("bent", [samples_of(plan_of(rate, 80, 1)) for rate in (1.0, 3.0)], **told)
    assert "max_num_seqs" in refused.value.next
    model = from_samples("bent", [samples_of(plan_of(rate, 50, 3)) for rate in (0.2, 0.5)], **told)
    assert any("run 2 is explained" in note for note in model.provenance.note)
    assert any("no run was predicted from the others" in note for note in model.provenance.note)


def test_a_stated_limit_below_what_was_seen_at_once_is_refused():
    """Dozens of answers gave tokens at the same time; no eight seats do that."""
    with pytest.raises(CannotSayError, match=r"answers were giving tokens at once.* allow 8"):
        calibrated([mock(500.0, ttft_s=0.05, token_s=0.02, requests=60)], SLOTS)


def test_a_client_that_read_late_is_not_learned_as_a_server():
    """Half of the first tokens waited for it a fifth of their time."""
    run = mock(5.0, ttft_s=0.1, token_s=0.01)
    late = with_column(run, "stall_ns", np.full(len(run), 2e7))
    with pytest.raises(CannotSayError, match="the client was the bottleneck") as refused:
        calibrated([late])
    assert refused.value.code == "client-limited"


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("output_tokens_usage", 1.0, "26 have one token"),
        ("output_tokens_usage", 0.0, "26 have no token in them"),
        ("first_token_ns", np.nan, "26 have no time of a first token"),
    ],
)
def test_a_run_without_two_tokens_says_what_is_missing(column, value, said):
    """Whole answers, empty ones, and single tokens."""
    run = mock(5.0, ttft_s=0.1, token_s=0.01)
    with pytest.raises(CannotSayError, match=said):
        calibrated([with_column(run, column, np.full(len(run), value))])


@pytest.mark.full
def test_runs_that_contradict_each_other_are_refused():
    """Slower by half at the lower rate: the endpoint was not the same."""
    runs = [mock(5.0, ttft_s=0.3, token_s=0.05, seed=1), mock(20.0, ttft_s=0.05, token_s=0.01, seed=2)]
    with pytest.raises(CannotSayError, match="run 1 was offered less than run 2 and took 5"):
        calibrated(runs)
