"""A measured run beside a simulated one: a verdict with the caveat, and whether what was measured lies inside."""

import pytest

from caveat.errors import EXIT_YES
from caveat.loopback import behaviour_of, start_process
from tests.simulator.models import document

WORDS = ("--rate", "40", "--duration", "2s", "--input", "60", "--output", "16")


@pytest.fixture(scope="module")
def server():
    """In a process of its own."""
    with start_process(behaviour_of({"ttft_s": 0.03, "itl_s": 0.0102})) as running:
        yield running


@pytest.fixture
def pair(caveat, server, tmp_path):
    """(a measured run, a simulated one) of the same words."""
    (tmp_path / "small.toml").write_text(document().replace('name = "small"', 'name = "loopback"'))
    measured = caveat("measure", server.url, *WORDS, "--no-calibrate", "--no-probe", "--json")
    simulated = caveat("simulate", tmp_path / "small.toml", *WORDS, "--draws", "4", "--extrapolate", "--json")
    return tuple(done.json["runs"][0]["id"] for done in (measured, simulated))


def test_a_model_is_checked_by_comparing_it_with_what_was_measured(caveat, pair):
    """Comparable with caveats, which say that a model computed one side; the ranges stand beside what was measured."""
    done = caveat("compare", *pair, "--json")
    against = {one["rule"] for one in done.json["findings"] if one["severity"] not in ("comparable-with-caveats",)}
    assert against <= {"validity"}  # a busy machine makes a measured run invalid, and that alone
    assert (done.code == EXIT_YES) is (not against)
    assert any("A model computed what it says" in one["message"] for one in done.json["findings"])
    found = done.json["prediction"]
    assert (found["same_plan"], found["other_load"]) == (True, [])
    by_metric = {one["metric"]: one for one in found["metrics"]}
    assert {"caveat-request-rate", "caveat-error-rate"} <= set(by_metric)
    for one in by_metric.values():
        assert one["inside"] is (one["low"] <= one["measured"] <= one["high"])
    assert done.json["measured_difference"]


def test_the_table_counts_what_lies_inside(caveat, pair):
    """Whichever side comes first."""
    for order in (pair, pair[::-1]):
        shown = caveat("compare", *order).out
        assert "what was measured, against the model's ranges" in shown
        assert "of the same plan" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rate", "20", *WORDS[2:]), "rate asked for: 40 measured, 20 predicted"),
        ((*WORDS[:4], "--input", "200", *WORDS[6:]), "mean input length: 60 measured, 200 predicted"),
        (("--concurrency", "4", *WORDS[2:]), "predicted"),
    ],
)
def test_a_prediction_of_another_load_is_neither_right_nor_wrong(caveat, pair, tmp_path, words, said):
    """Nothing is counted, and the difference is named; the values still stand side by side."""
    simulated = caveat("simulate", tmp_path / "small.toml", *words, "--draws", "2", "--extrapolate", "--json")
    other = simulated.json["runs"][0]["id"]
    shown = " ".join(caveat("compare", pair[0], other).out.split())
    assert "a prediction of another load" in shown and said in shown
    assert " inside, of " not in shown
    found = caveat("compare", other, pair[0], "--json").json["prediction"]
    assert found["same_plan"] is False and any(said in one for one in found["other_load"])
    assert found["metrics"] and {one["inside"] for one in found["metrics"]} == {None}


def test_another_seed_is_the_same_load(caveat, pair, tmp_path):
    """Its values are counted, and the plans are said to differ."""
    argv = ("simulate", tmp_path / "small.toml", *WORDS, "--seed", "7", "--draws", "2", "--extrapolate", "--json")
    shown = caveat("compare", pair[0], caveat(*argv).json["runs"][0]["id"]).out
    assert "of another plan of the same load" in " ".join(shown.split())


def test_two_measured_runs_are_no_prediction(caveat, pair):
    """Null for a machine, nothing on the screen."""
    done = caveat("compare", pair[0], pair[0])
    assert "against the model's ranges" not in done.out
    assert caveat("compare", pair[0], pair[0], "--json").json["prediction"] is None
