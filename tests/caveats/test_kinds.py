import pytest

from caveat.caveats import kinds
from caveat.figures import Figure
from tests.builders import published_conditions
from tests.caveats.cases import INFERRED, INVALID, LENGTH, TTFT, figure, own


@pytest.mark.parametrize(
    ("metric", "rate", "tokens", "time"),
    [
        ("loadgen-completed-tokens-rate", True, True, False),
        (INFERRED, True, True, False),
        ("loadgen-completed-samples-rate", True, False, False),
        ("loadgen-offline-tasks-rate", True, False, False),
        ("caveat-output-tokens-rate-usage", True, True, False),
        ("caveat-output-tokens-rate-steady-client", True, True, False),
        ("caveat-input-tokens-rate-usage", True, False, False),
        ("caveat-total-tokens-rate-usage", True, False, False),
        (TTFT.metric, False, False, True),
        (LENGTH.metric, False, False, False),
    ],
)
def test_rates_and_times_are_told_by_their_unit(metric, rate, tokens, time):
    """A length is neither."""
    f = own(metric=metric)
    assert (kinds.is_rate(f), kinds.is_token_rate(f), kinds.is_time(f)) == (rate, tokens, time)
    assert kinds.is_performance(f) == (rate or time)


def test_published_means_somebody_elses_result_of_the_suite():
    """Our own run of its scenarios is not a published one."""
    assert kinds.is_published(figure())
    assert not kinds.is_published(own(suite="MLPerf Inference"))
    assert not kinds.is_published(own("imported", suite="another tool"))


@pytest.mark.parametrize(
    ("benchmark", "round_name", "tracks", "scenarios"),
    [
        ("llama2-70b-99", "v6.0", ("99", "99.9"), ("offline", "server", "interactive")),
        ("llama2-70b-99.9", "v6.1", ("99.9",), ("offline", "server", "interactive")),
        ("whisper", "v6.0", (), ("offline",)),
        ("unheard-of", "v6.0", (), ()),
        (None, "v6.0", (), ()),
        ("llama2-70b-99", None, (), ()),
    ],
)
def test_tracks_and_scenarios_come_from_the_rules_of_the_round(benchmark, round_name, tracks, scenarios):
    """What is not known is empty."""
    c = published_conditions(benchmark=benchmark, round=round_name)
    assert kinds.tracks(c) == tracks
    assert kinds.counts_in(c) == scenarios


def test_a_run_that_failed_has_no_published_figure():
    """Evidence rests on figures that nothing speaks against."""
    bad = figure(validity=INVALID)
    assert not kinds.is_good(bad)
    assert kinds.published(bad.run) is None
    assert isinstance(kinds.published(figure().run), Figure)
