import pytest

from caveat.caveats.shape_slack import CAVEAT
from caveat.importers import read
from tests.builders import MLPERF, NO_SHARED, published_run


def test_lengths_of_two_kinds_of_run_are_never_mixed():
    """One length of a performance run and two of accuracy runs give one group, of the two."""
    runs = (
        published_run(platform="a", accuracy_tokens_per_sample=267.0),
        published_run(platform="b", accuracy_tokens_per_sample=290.8),
        published_run(platform="c", accuracy_tokens_per_sample=None, output_tokens={"mean": 100.0}),
    )
    evidence = CAVEAT.evidence(runs)
    performance, accuracy = evidence.tables
    assert performance.rows == ()
    assert accuracy.rows == (("v6.1", "llama2-70b-99.9", "2", "267.0", "290.8", "8.9 %"),)
    assert evidence.numbers == {"n": 3, "contests": 1, "widest": "8.9 %"}


def test_one_length_has_no_slack():
    """Unknown, not zero."""
    assert CAVEAT.evidence((published_run(),)).numbers["widest"] is None


@pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)
def test_the_slack_of_a_published_round():
    """v6.1, llama2-70b-99.9: 267.0 to 290.8 tokens a sample over the 87 closed ones of 88 rows."""
    rows = CAVEAT.evidence(read([MLPERF / "summary_v6.1.csv"]).runs).tables[1].rows
    assert ("v6.1", "llama2-70b-99.9", "87", "267.0", "290.8", "8.9 %") in rows
