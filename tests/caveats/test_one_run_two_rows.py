from typing import Any

from caveat.caveats.accuracy_track import CAVEAT as TRACK
from caveat.caveats.one_run_two_rows import CAVEAT
from tests.builders import published_run

LOOSE: dict[str, Any] = {"round": "v6.0", "benchmark": "llama2-70b-99", "accuracy_track": "99"}


def test_pairs_are_counted_by_what_shows_that_they_are_one_run():
    """One pair by its log, one by its value, one of two runs; the last says what the track cost."""
    runs = (
        published_run(fingerprint="aa", platform="a", **LOOSE),
        published_run(fingerprint="aa", platform="a", round="v6.0"),
        published_run(platform="b", **LOOSE),
        published_run(platform="b", round="v6.0"),
        published_run(200.0, platform="c", **LOOSE),
        published_run(190.0, platform="c", round="v6.0"),
    )
    evidence = CAVEAT.evidence(runs)
    assert evidence.numbers == {"pairs": 3, "by_log": 1, "by_value": 1, "two": 1}
    assert evidence.tables[0].rows == (("v6.0", "3", "1", "1", "1"),)
    track = TRACK.evidence(runs)
    assert track.numbers == {"pairs": 3, "apart": 1, "same": 2}
    assert track.tables[0].rows == (("v6.0", "server", "1", "0.95"),)
