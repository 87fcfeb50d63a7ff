"""A fit finds the process that made a trace, and says what it does not reproduce."""

import msgspec
import pytest

from caveat.errors import CannotSayError
from caveat.workload import (
    Arrivals,
    Constant,
    Diurnal,
    FitResult,
    Fixed,
    Gamma,
    Geometric,
    Limits,
    Lognormal,
    Mmpp,
    Poisson,
    Prefixes,
    Separate,
    Sessions,
    Sine,
    State,
    Think,
    Weibull,
    Workload,
    fit_trace,
    read_trace,
    recording_of,
)
from tests.workload.traces.samples import AZURE, SECOND, mooncake, needs_traces, recording

CHAT = Separate(input=Lognormal(mean=300.0, cv=1.2), output=Lognormal(p50=100.0, p90=400.0), correlation=0.4)


def fitted(arrivals: Arrivals, lengths=CHAT, seed: int = 3, **more) -> FitResult:
    made = Workload(arrivals=arrivals, lengths=lengths, limits=Limits(duration_s=1500.0), seed=seed, **more)
    return fit_trace(recording_of(made.plan()))


@pytest.mark.parametrize(
    "arrivals",
    [
        Constant(4.0),
        Poisson(4.0),
        Gamma(4.0, cv=2.5),
        Weibull(4.0, cv=2.5),
        Mmpp((State(20.0, 25.0), State(1.0, 50.0))),
        Diurnal(Sine(4.0, swing=0.9, period_s=500.0)),
    ],
    ids=lambda one: one.__struct_config__.tag,
)
def test_the_process_that_made_a_trace_is_found(arrivals):
    """The simplest that passes; every one before it failed by some test."""
    result = fitted(arrivals)
    assert result.workload.arrivals.__struct_config__.tag == arrivals.__struct_config__.tag
    assert result.arrivals[-1].passed
    assert not any(candidate.passed for candidate in result.arrivals[:-1])
    assert all(test.p_value is not None for candidate in result.arrivals for test in candidate.tests)
    assert result.misses == ()


def test_parameters_come_back():
    """Rate, cv and states within what a short trace can tell."""
    gamma = fitted(Gamma(4.0, cv=2.5)).workload.arrivals
    assert isinstance(gamma, Gamma)
    assert gamma.rate_qps == pytest.approx(4.0, rel=0.15)
    assert gamma.cv == pytest.approx(2.5, rel=0.1)
    mmpp = fitted(Mmpp((State(20.0, 25.0), State(1.0, 50.0)))).workload.arrivals
    assert isinstance(mmpp, Mmpp)
    assert mmpp.states[0].rate_qps == pytest.approx(20.0, rel=0.15)
    assert mmpp.states[0].mean_s == pytest.approx(25.0, rel=0.6)


def test_lengths_that_made_a_trace_are_found():
    """Fixed, log-normal with their correlation, counted pairs where neither fits."""
    assert fitted(Poisson(4.0), Separate(input=Fixed(512), output=Fixed(64))).workload.lengths == Separate(
        input=Fixed(512), output=Fixed(64)
    )
    lengths = fitted(Poisson(4.0)).workload.lengths
    assert isinstance(lengths, Separate)
    assert lengths.correlation == pytest.approx(0.4, abs=0.06)
    made = [(100, 1000) if n % 2 else (5000, 10) for n in range(400)]
    trace = recording([n * SECOND for n in range(400)], [a for a, _ in made], [b for _, b in made])
    assert [one.kind for one in fit_trace(trace).lengths] == ["fixed", "lognormal", "joint"]


def test_conversations_and_prompts_are_found():
    """Turns, think time, growth, and how popular shared prompts are."""
    result = fitted(
        Poisson(1.0),
        sessions=Sessions(Geometric(3.0), think=Think(5.0)),
        prefixes=Prefixes(prompts=3, tokens=Fixed(512), zipf=1.0),
    )
    found = result.workload
    assert found.sessions is not None
    assert found.sessions.grows
    assert found.sessions.think.mean_s == pytest.approx(5.0, rel=0.15)
    assert found.prefixes is not None
    assert found.prefixes.prompts == 3
    assert found.prefixes.zipf == pytest.approx(1.0, abs=0.25)
    assert isinstance(found.arrivals, Poisson)
    assert found.arrivals.rate_qps == pytest.approx(1.0, rel=0.15)


def test_a_result_is_json_and_back():
    """Workload, tests and sentences."""
    result = fitted(Poisson(4.0))
    assert msgspec.json.decode(msgspec.json.encode(result), type=FitResult) == result


def test_too_little_is_refused():
    """And a trace in which no time passes."""
    with pytest.raises(CannotSayError, match="5 requests"):
        fit_trace(recording(range(5)))
    with pytest.raises(CannotSayError):
        fit_trace(recording([0] * 100))


@needs_traces
def test_what_the_public_trace_has_beyond_our_vocabulary_is_said():
    """Its rate drifts, and its prompts share far more than a system prompt."""
    result = fit_trace(mooncake())
    assert isinstance(result.workload.arrivals, Diurnal)
    assert any("37.4% in the trace" in miss for miss in result.misses)
    assert any("spread evenly within the clock's steps of 3 s" in note for note in result.notes)


def test_what_comes_on_top_and_what_was_not_tested_is_said():
    """Shared beginnings are not in the lengths; nobody asked about the order of lengths."""
    result = fitted(Poisson(4.0), prefixes=Prefixes(prompts=1, tokens=Fixed(512)))
    assert any("shared beginnings of 512 tokens on average, in 100.0% of requests" in note for note in result.notes)
    assert any("come together in time" in one for one in result.not_tested)
    assert any("a cache that forgets" in one for one in result.not_tested)
    assert result.passed


def test_a_tail_that_is_not_reproduced_fails():
    """One prompt in twenty is a thousand times as long as the middle one."""
    lengths = [100 if n % 20 else 100_000 for n in range(4000)]
    trace = recording([n * SECOND for n in range(4000)], lengths)
    (fixed, *_) = fit_trace(trace).lengths
    (tail,) = (test for test in fixed.tests if test.name == "p99 of input tokens")
    assert (tail.passed, tail.observed, tail.expected) == (False, 100_000.0, 100.0)


@needs_traces
@pytest.mark.full
def test_busy_stretches_of_the_public_azure_trace_need_a_curve_of_the_rate():
    """Two states forget too soon: the counts of a minute are still tied after five."""
    result = fit_trace(read_trace(AZURE).recording)
    mmpp = next(one for one in result.arrivals if one.kind == "mmpp")
    assert "autocorrelation at 60 s, lag 5" in [test.name for test in mmpp.tests if not test.passed]
    assert isinstance(result.workload.arrivals, Diurnal)
