"""What stands against a verdict, from logs and counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.official import OfficialCounts, OfficialRun
from caveat.loadgen.official.bridge import MODES, SCENARIOS
from caveat.loadgen.official.outcome import problems_of, read_detail, verdict_of
from tests.loadgen.official.runs import SEEDS, settings

ASKED = settings(target_qps=200.0, min_duration_s=3.0, min_queries=100)
SAID = {
    "effective_scenario": SCENARIOS["server"],
    "effective_test_mode": MODES["performance"],
    **{f"effective_{name.removesuffix('_seed')}_rng_seed": seed for name, seed in SEEDS.items()},
    "effective_min_duration_ms": 3000,
    "effective_performance_sample_count": 64,
    "effective_sample_concatenate_permutation": False,
    "requested_use_token_latencies": True,
    "requested_server_ttft_latency": 2_000_000_000,
    "requested_server_tpot_latency": 2_000_000_000,
    "requested_server_target_latency_ns": 0,
    "generated_query_count": 601,
    "generated_query_duration": 3000770763,
    "num_errors": 0,
}
GOOD = OfficialCounts(issued=601, completed=601)


def test_a_run_as_it_was_asked_for_has_no_problem():
    """Every key that is looked at agrees."""
    assert problems_of(ASKED, SAID, GOOD, ()) == ()


@pytest.mark.parametrize("key", SAID)
def test_every_key_that_differs_is_a_problem(key):
    """Seeds of another round, limits of LoadGen's own, another schedule, errors."""
    (found,) = problems_of(ASKED, {**SAID, key: 7}, GOOD, ())
    assert "7" in found


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"issued": 600, "completed": 600}, "issued 600 queries of 601"),
        ({"issued": 601, "completed": 600}, "601 samples were issued and 600 came to an end"),
        ({"issued": 601, "completed": 600, "failed": 1}, "1 of 601 requests failed"),
        ({"issued": 601, "completed": 601, "without_usage": 3}, "3 answers came without a usage record"),
        ({"issued": 601, "completed": 601, "single_token": 3}, "3 answers had fewer than two tokens"),
    ],
)
def test_every_count_that_loadgen_has_no_word_for_is_a_problem(counts, says):
    """A sentence with the numbers."""
    (found,) = problems_of(ASKED, SAID, OfficialCounts(**counts), ())
    assert says in found


def test_a_log_that_is_not_there_is_a_problem(tmp_path):
    """And nothing else is guessed from it."""
    said = read_detail(tmp_path / "none.txt")
    assert said == {} and verdict_of(said) is None
    assert problems_of(ASKED, said, None, ("RuntimeError: x",)) == (
        "LoadGen left no detail log.",
        "The callback of LoadGen failed: RuntimeError: x",
    )


def test_a_detail_log_is_read_by_its_first_values(tmp_path):
    """Lines of other kinds are passed over."""
    lines = [
        ":::MLLOG " + json.dumps({"key": "result_validity", "value": "VALID", "time_ms": 1}),
        ":::MLLOG " + json.dumps({"key": "result_validity", "value": "INVALID"}),
        ":::MLLOG [1]",
        ":::MLLOG {",
        "something else",
    ]
    (tmp_path / "log").write_text("\n".join(lines))
    assert read_detail(tmp_path / "log") == {"result_validity": "VALID"}
    assert verdict_of({"result_validity": "VALID"}) == "VALID"
    assert verdict_of({"result_validity": "perhaps"}) is None


@pytest.mark.parametrize(
    ("verdict", "problems", "limits", "valid"),
    [
        ("VALID", (), (), True),
        ("INVALID", (), (), False),
        (None, (), (), False),
        ("VALID", ("x",), (), False),
        ("VALID", (), ("x",), False),
    ],
)
def test_a_run_is_valid_only_where_nothing_stands_against_it(tmp_path, verdict, problems, limits, valid):
    """Neither in LoadGen's word, nor in the counts, nor in the client."""
    files = dict.fromkeys(("folder", "summary", "detail", "accuracy", "order", "samples"), tmp_path)
    run = OfficialRun(
        **files,
        verdict=verdict,
        exit=0,
        counts=GOOD,
        start_spread_s=None,
        health=None,
        problems=problems,
        client_limits=limits,
    )
    assert run.valid is valid


@given(st.binary(max_size=200))
def test_no_bytes_in_a_log_do_harm(tmp_path_factory, data):
    """Whatever stands behind the mark, a mapping comes of it."""
    path = tmp_path_factory.mktemp("log") / "detail"
    path.write_bytes(b":::MLLOG " + data)
    assert all(isinstance(key, str) for key in read_detail(path))
