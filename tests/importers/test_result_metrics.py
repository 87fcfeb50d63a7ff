"""LoadGen's keys and our metrics."""

from caveat.facts import BENCHMARKS, ROUNDS, result_key, scenarios
from caveat.figures import METRICS
from caveat.importers.mlperf.result_metrics import LOADGEN_METRICS, NANOSECONDS, is_stream_key, stored_value
from caveat.units import Unit


def test_every_key_has_a_metric_of_the_table_and_no_metric_two_keys():
    """So that a row's source key can be found again."""
    assert set(LOADGEN_METRICS.values()) <= set(METRICS)
    assert len(set(LOADGEN_METRICS.values())) == len(LOADGEN_METRICS)


def test_every_published_result_has_a_metric():
    """Whatever key the facts name for a round, benchmark and scenario."""
    named = {
        result_key(known.name, one.id, scenario)
        for known in ROUNDS
        for one in BENCHMARKS
        for scenario in scenarios(one.id, known.name)
    }
    assert named - {None} <= LOADGEN_METRICS.keys()


def test_nanoseconds_are_exactly_the_times():
    """Keys in nanoseconds have metrics in seconds, and no others have."""
    seconds = {key for key, metric in LOADGEN_METRICS.items() if METRICS[metric].unit is Unit.SECOND}
    assert seconds == NANOSECONDS
    assert stored_value("result_99.00_percentile_latency_ns", 1_500_000_000) == 1.5
    assert stored_value("result_tokens_per_second", 12) == 12.0


def test_traps_are_left_out():
    """One is per nanosecond, the other counts every query."""
    assert not {"result_token_throughput", "result_overlatency_query_count"} & LOADGEN_METRICS.keys()


def test_stream_keys_are_known_as_such():
    """They mean something else elsewhere."""
    assert is_stream_key("early_stopping_latency_ss")
    assert not is_stream_key("result_tokens_per_second")
