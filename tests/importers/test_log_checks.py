"""Validity from a log: one entry for each thing that could be wrong."""

import pytest

from caveat.facts import benchmark_named
from caveat.importers.mlperf.accuracy_report import AccuracyReport
from caveat.importers.mlperf.joined_log import joined
from caveat.importers.mlperf.loadgen_log import LoadgenLog, LoggedError
from caveat.importers.mlperf.log_checks import checks_of
from caveat.importers.mlperf.log_rows import rows_of
from tests.importers.loadgen_files import values

GOOD = AccuracyReport(
    path="accuracy.txt", scores={"rouge1": 44.5, "rouge2": 22.1, "rougeL": 28.9}, tokens_per_sample=283.0
)


def checks(scenario="server", *, accuracy=GOOD, errors=(), closed=True, **changes):
    said = values("Offline" if scenario == "offline" else "Server", **changes)
    log = joined(LoadgenLog(kind="log-detail", path="log", values=said, errors=errors), None)
    assert log is not None
    found = checks_of(
        log,
        rows_of(log, scenario),
        accuracy,
        benchmark=benchmark_named("llama2-70b-99"),
        round_name="v6.0",
        scenario=scenario,
        closed=closed,
    )
    return {check.aspect: check for check in found}


def outcomes(*args, **changes):
    return {aspect: check.outcome for aspect, check in checks(*args, **changes).items()}


def test_a_clean_run_passes_everything():
    """Of each scenario that which applies to it."""
    assert outcomes() == dict.fromkeys(
        (
            "harness verdict",
            "minimum duration",
            "minimum queries",
            "early stopping (TTFT)",
            "early stopping (TPOT)",
            "errors",
            "latency limits",
            "accuracy",
            "output length",
            "consistency",
        ),
        "pass",
    )
    assert outcomes("offline") == dict.fromkeys(
        (
            "harness verdict",
            "minimum duration",
            "minimum queries",
            "errors",
            "accuracy",
            "output length",
            "consistency",
        ),
        "pass",
    )


def test_the_open_division_is_not_held_to_the_closed_ones_demands():
    """No accuracy target, no length, no cap."""
    assert {"accuracy", "output length"}.isdisjoint(outcomes(closed=False, accuracy=None))


@pytest.mark.parametrize(
    ("changes", "aspect"),
    [
        ({"result_validity": "INVALID"}, "harness verdict"),
        ({"result_min_duration_met": False}, "minimum duration"),
        ({"effective_min_duration_ms": 120_000}, "minimum duration"),
        ({"result_min_queries_met": False}, "minimum queries"),
        ({"result_perf_constraints_met": False}, "latency limits"),
        ({"result_first_token_99__00_percentile_latency_ns": 2_000_000_000}, "latency limits"),
        ({"early_stopping_tpot_result": " * Need to process at least 662 queries"}, "early stopping (TPOT)"),
        ({"early_stopping_ttft_result": " * Would need to run at least 61 more queries."}, "early stopping (TTFT)"),
        ({"result_mean_latency_ns": 90_000_000_000}, "consistency"),
        ({"result_first_token_max_latency_ns": 80_000_000_000}, "consistency"),
        ({"result_completed_samples_per_sec": 130.0}, "consistency"),
        ({"result_completed_tokens_per_second": 200_000.0}, "consistency"),
        ({"accuracy": AccuracyReport(path="", scores={**GOOD.scores, "rougeL": 28.0})}, "accuracy"),
        ({"accuracy": AccuracyReport(path="", scores=GOOD.scores, tokens_per_sample=400.0)}, "output length"),
    ],
)
def test_each_fault_fails_its_own_aspect(changes, aspect):
    """With a sentence where the log gives more than a yes or no; a p99 at its limit is not below it."""
    found = outcomes(**changes)
    assert found[aspect] == "fail"


def test_a_window_that_contradicts_the_count_is_inconsistent():
    """Offline: samples are rate times the longest latency."""
    assert checks("offline", result_samples_per_second=500.0)["consistency"].outcome == "fail"


def test_an_untested_percentile_is_unknown_for_itself_only():
    """LoadGen skips the TTFT test when the TPOT test has failed."""
    check = checks(early_stopping_ttft_result="")["early stopping (TTFT)"]
    assert (check.outcome, check.metrics) == ("unknown", ("loadgen-ttft.p99",))


def test_limits_are_told_with_the_distance_to_them():
    """The sentence travels with the figure."""
    assert checks()["latency limits"].sentence == "p99 TTFT 700 ms of 2 s, p99 TPOT 70 ms of 200 ms"


@pytest.mark.parametrize(
    ("texts", "concerned", "spared"),
    [
        (["first token was not reported"], "loadgen-ttft.p99", "loadgen-completed-samples-rate"),
        (["n_tokens argument missing"], "loadgen-completed-tokens-rate", "loadgen-ttft.p99"),
        (["n_tokens is 0", "no first_token"], "loadgen-tpot.p99", "loadgen-latency.p99"),
        (["n_tokens is 0", "ran out of fish"], "loadgen-latency.p99", None),
        ([], "loadgen-latency.p99", None),
    ],
)
def test_errors_of_a_valid_run_fail_the_metrics_that_they_concern(texts, concerned, spared):
    """All of them where it is unclear."""
    check = checks(errors=tuple(LoggedError("error_runtime", text, 1) for text in texts), num_errors=9)["errors"]
    assert check.outcome == "fail"
    assert check.concerns(concerned)
    assert spared is None or not check.concerns(spared)


def test_accuracy_that_was_not_found_is_unknown():
    """Not a failure, and not a pass."""
    assert outcomes(accuracy=None)["accuracy"] == "unknown"
    assert outcomes(accuracy=AccuracyReport(path="", scores={"rouge1": 44.5}))["accuracy"] == "unknown"


def test_more_kinds_of_errors_than_are_kept_concern_everything():
    """Whatever the kept ones say, the others may say more."""
    kept = tuple(LoggedError("error_runtime", f"no first token, {letter}", 1) for letter in "abcdefghijklmnopqrst")
    assert checks(errors=kept[:-1], num_errors=19)["errors"].metrics != ()
    assert checks(errors=kept, num_errors=30)["errors"].metrics == ()
