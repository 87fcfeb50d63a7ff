"""Two logs of one run."""

import pytest

from caveat.importers.mlperf.joined_log import joined
from caveat.importers.mlperf.loadgen_log import LoadgenLog
from tests.importers.loadgen_files import SAMPLES, values


def detail(**changes):
    return LoadgenLog(kind="log-detail", path="detail", sha256="d", values=values(**changes))


def summary(**changes):
    said = values(**changes)
    return LoadgenLog(kind="log-summary", path="summary", sha256="s", values=said, lines=dict.fromkeys(said, 1))


TOKENS = "result_completed_tokens_per_second"
SAMPLES_RATE = "result_completed_samples_per_sec"


def test_the_finer_copy_of_a_server_rate_is_taken():
    """Large rates from the summary with its two decimals, small ones from the detail log with its six digits."""
    both = joined(
        detail(**{TOKENS: 624929, SAMPLES_RATE: 0.313245}),
        summary(**{TOKENS: 624929.29, SAMPLES_RATE: 0.31}),
    )
    assert both is not None
    assert (both.log.number(TOKENS), both.source_of(TOKENS)) == (624929.29, 0)
    assert (both.log.number(SAMPLES_RATE), both.source_of(SAMPLES_RATE)) == (0.313245, 1)
    assert both.differing == ()
    assert both.fingerprint == "d"


def test_two_logs_that_differ_say_so_and_the_detail_log_is_believed():
    """Beyond rounding they are not logs of one run."""
    both = joined(detail(**{TOKENS: 624929}), summary(**{TOKENS: 700000.0}))
    assert both is not None
    assert both.differing == (TOKENS,)
    assert both.log.number(TOKENS) == 624929
    assert [(problem.code, problem.found) for problem in both.problems()] == [("logs-differ", "700000.0 and 624929")]


@pytest.mark.parametrize("kind", ["detail", "summary"])
def test_one_log_is_enough(kind):
    """v6.1 in part has summaries only."""
    log = detail() if kind == "detail" else summary()
    one = joined(log if kind == "detail" else None, log if kind == "summary" else None)
    assert one is not None
    assert one.logs == (log,)
    assert (one.detail is None) == (kind == "summary")
    assert one.fingerprint == log.sha256


def test_a_log_without_a_verdict_is_none():
    """It broke off, or is of an accuracy run."""
    assert joined(detail(result_validity=None), None) is None
    left = joined(detail(result_validity=None), summary())
    assert left is not None
    assert [log.kind for log in left.logs] == ["log-summary"]


def test_what_only_the_summary_says_is_added():
    """Old detail logs have no count of errors."""
    both = joined(detail(num_errors=None), summary())
    assert both is not None
    assert (both.log.count("num_errors"), both.source_of("num_errors")) == (0, 0)


@pytest.mark.parametrize(
    ("logged", "samples"),
    [(3 * SAMPLES, 3 * SAMPLES), (52800, 3 * SAMPLES), (None, 3 * SAMPLES), (1000, 1000)],
)
def test_offline_counts_whole_passes(logged, samples):
    """Old logs give the count before padding, summaries none: rate times window tells. Other counts stay."""
    log = LoadgenLog(kind="log-detail", path="detail", values=values("Offline", generated_samples_per_query=logged))
    one = joined(log, None)
    assert one is not None
    assert one.samples == samples
