"""metrics: every metric is one definition, complete and apart from all others."""

import pytest

from caveat.figures import METRICS, metric
from caveat.units import Unit

EVERY = list(METRICS.values())


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.key)
def test_a_metric_says_all_that_makes_it_a_definition(one):
    """Name, definition, statistic, unit, window, meaning and source are never empty."""
    assert all((one.name, one.definition, one.statistic, one.unit, one.window, one.meaning, one.source))
    assert one is metric(one.key)


def test_no_two_keys_mean_the_same():
    """Name, definition and statistic together are as unique as the key."""
    meanings = {(one.name, one.definition, one.statistic, one.unit) for one in EVERY}
    assert len(meanings) == len(METRICS)


def test_times_are_seconds_and_lower_is_better():
    """A latency that is stored in another unit would be compared as if it were seconds."""
    timed = [one for one in EVERY if one.name.startswith("time_") or one.name.endswith("_latency")]
    assert {(one.unit, one.better) for one in timed} == {(Unit.SECOND, "lower")}


def test_whoever_counts_tokens_is_named():
    """A rate of tokens without a token source could be anybody's."""
    counted = [one for one in EVERY if "token" in one.unit]
    assert counted
    assert [one.key for one in counted if one.token_source == "none"] == []


def test_percentiles_say_by_which_method():
    """p99 of LoadGen is a rank without interpolation; nothing that is no percentile has a method."""
    for one in EVERY:
        is_percentile = one.statistic.startswith("p") and one.statistic[1:2].isdigit()
        assert (one.percentile_method != "none") == is_percentile, one.key
    assert metric("loadgen-ttft.p99").percentile_method == "sorted[floor(n*p)], no interpolation"


def test_names_follow_the_conventions_of_the_field():
    """OpenTelemetry's server-side words where it has them, else the report format's of the field."""
    assert metric("loadgen-ttft.p99").name == "time_to_first_token"
    assert metric("loadgen-tpot.p99").name == "time_per_output_token"
    assert metric("loadgen-latency.p99").name == "request_latency"
    assert metric("loadgen-completed-tokens-rate").name == "output_token_rate"


@pytest.mark.parametrize(
    ("key", "formula"),
    [
        ("loadgen-offline-tokens-rate", "output tokens of all samples / longest sample latency"),
        ("loadgen-completed-tokens-rate", "output tokens of all samples / time to the completion of the last issued"),
        ("loadgen-completed-samples-rate", "(samples - 1) / time to the completion of the last issued query"),
        ("loadgen-scheduled-samples-rate", "(samples - 1) / scheduled time of the last query"),
        ("loadgen-stream-samples-rate", "(queries - 1) / issue time of the last query"),
        ("loadgen-offline-tokens-rate-inferred", "69 x samples/s"),
        ("loadgen-tpot.p99", "(sample latency - TTFT) / (tokens - 1) in whole nanoseconds"),
    ],
)
def test_a_meaning_is_the_formula_of_the_harness(key, formula):
    """Token rates count all samples, sample rates of open loops leave one out: the formulas differ, and say so."""
    assert formula in metric(key).meaning


def test_a_key_that_is_no_metric_is_a_mistake_of_code():
    """Keys come from code; a misspelt one is a KeyError."""
    with pytest.raises(KeyError):
        metric("ttft")
