import pytest

from caveat.caveats.tail_inside_the_rate import CAVEAT
from tests.caveats.cases import offline
from tests.caveats.ledger import latencies, small_ledger


def test_the_last_tenth_of_the_samples_is_set_against_a_tenth_of_the_window():
    """590 of 640 s and 540 of 600 s: the last tenth took 7.8 and 10 percent."""
    evidence = CAVEAT.evidence(small_ledger())
    assert evidence.numbers == {"n": 2, "at_once": 0, "median": "8.9 %", "largest": "10 %"}
    assert evidence.tables[0].rows == (("llama2-70b-99.9", "2", "7.8 %", "8.9 %", "10 %"),)


@pytest.mark.parametrize("rows", [(), latencies(1.0, 2.0, 4.0)[:2], latencies(0.0, 0.0, 0.0)])
def test_a_log_without_the_percentiles_is_no_evidence(rows):
    """Nor is a latency of zero."""
    assert CAVEAT.evidence((offline(rows=rows),)).n == 0


def test_answers_handed_over_together_show_no_tail():
    """Some systems report everything at the end: counted apart, since such a log cannot say."""
    evidence = CAVEAT.evidence((offline(rows=latencies(600.0, 600.0, 600.0)),))
    assert evidence.numbers == {"n": 1, "at_once": 1, "median": None, "largest": None}
