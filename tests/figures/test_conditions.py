"""conditions: one table, whole, in groups, with a line for all that the design asks for."""

import pytest

from caveat.figures import GROUPS, SCENARIOS, TABLE, conditions_of

BY_KEY = {row.key: row for row in TABLE}


def test_the_table_is_complete_and_each_key_stands_once():
    """Every line has a group of the design, a meaning that says more than the key, and values fit for its kind."""
    assert len({row.key for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert row.group in GROUPS
        assert row.meaning.casefold() not in ("", row.key.replace("_", " "))
        assert not row.allowed or row.kind == "text"
        assert row.key.endswith("_s") == (row.kind == "seconds")


def test_groups_stand_together():
    """Whoever reads the table reads it group by group."""
    order = [GROUPS.index(row.group) for row in TABLE]
    assert order == sorted(order)


@pytest.mark.parametrize(
    "key",
    [
        *("benchmark", "dataset", "input_tokens", "output_tokens", "output_tokens_requested", "output_tokens_cap"),
        *("prefix_reuse", "sessions", "modality"),
        *("scenario", "arrivals", "loop", "target_qps", "scheduled_qps", "completed_qps", "concurrency", "duration_s"),
        *("queries", "warmup", "ttft_limit_s", "tpot_limit_s", "headroom_ttft", "headroom_tpot"),
        *("model", "parameters_b", "weight_precision", "activation_precision", "kv_cache_precision"),
        *("accuracy_track", "accuracy"),
        *("submitter", "system", "accelerator", "accelerators", "nodes", "host_processor", "accelerator_interconnect"),
        *("power_w", "engine", "continuous_batching", "chunked_prefill", "prefix_caching", "speculative_decoding"),
        *("disaggregation", "multi_model_routing", "parallelism"),
        *("harness", "harness_version", "round", "division", "availability", "system_type", "review", "run_date"),
    ],
)
def test_what_the_design_asks_for_has_a_line(key):
    """A condition of the design that has no line could not be disclosed."""
    assert key in BY_KEY


def test_a_session_load_is_half_open():
    """Sessions hold back their own next request, not those of others."""
    assert conditions_of({"loop": "semi-open"}).words("loop") == "semi-open"
    assert SCENARIOS == ("offline", "server", "interactive", "single-stream", "multi-stream")
