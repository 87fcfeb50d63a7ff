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
    assert found["same_plan"] is True
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


def test_two_measured_runs_are_no_prediction(caveat, pair):
    """Null for a machine, nothing on the screen."""
    done = caveat("compare", pair[0], pair[0])
    assert "against the model's ranges" not in done.out
    assert caveat("compare", pair[0], pair[0], "--json").json["prediction"] is None
