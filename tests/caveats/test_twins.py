from typing import Any

import pytest

from caveat.caveats.twins import are_twins, counted_once, same_log, track_pairs
from caveat.figures import Run
from tests.builders import published_run


def rows(loose: dict[str, Any], strict: dict[str, Any]) -> tuple[Run, Run]:
    """The two rows of one system in v6.0."""
    return (
        published_run(round="v6.0", benchmark="llama2-70b-99", accuracy_track="99", **loose),
        published_run(round="v6.0", **strict),
    )


@pytest.mark.parametrize(
    ("loose", "strict", "by_log", "twins"),
    [
        ({"fingerprint": "aa"}, {"fingerprint": "aa"}, True, True),
        ({"fingerprint": "aa"}, {"fingerprint": "bb"}, False, False),
        ({}, {"fingerprint": "bb"}, None, True),
        ({"value": 100.0}, {"value": 100.0001}, None, True),
        ({"value": 100.0}, {"value": 100.1}, None, False),
        ({"value": 100.0, "metric": "loadgen-completed-samples-rate"}, {"value": 100.0}, None, False),
    ],
)
def test_twins_are_told_by_their_logs_else_by_their_values(loose, strict, by_log, twins):
    """A log settles it; without one, equal values of one metric must do."""
    one, other = rows(loose, strict)
    assert same_log(one, other) is by_log
    assert are_twins(one, other) is twins
    assert counted_once((one, other)) == ([other] if twins else [one, other])


def test_rows_of_two_systems_are_no_pair():
    """Equal values of two platforms are a coincidence, of two scenarios another result."""
    one, other = rows({"platform": "A"}, {"platform": "B"})
    assert track_pairs((one, other)) == []
    one, other = rows({"scenario": "interactive"}, {})
    assert track_pairs((one, other)) == []


def test_the_stricter_row_stands_second_in_any_order():
    """So that it is the one that is kept."""
    one, other = rows({}, {})
    assert track_pairs((one, other)) == track_pairs((other, one)) == [(one, other)]


def test_a_benchmark_without_tracks_has_no_twins():
    """Nor has a run of an unknown benchmark."""
    runs = [published_run(benchmark="llama3.1-8b"), published_run(benchmark="something else", platform="x")]
    assert counted_once(runs) == runs
