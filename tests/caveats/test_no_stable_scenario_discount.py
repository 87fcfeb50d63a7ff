import pytest

from caveat.caveats.no_stable_scenario_discount import CAVEAT
from caveat.importers import read
from tests.builders import MLPERF, NO_SHARED
from tests.caveats.ledger import small_ledger


def test_the_distribution_stands_with_its_n_and_its_basis():
    """Never one factor: range, median, inverted pairs, floors, and the sentence that says what it is."""
    evidence = CAVEAT.evidence(small_ledger())
    numbers = dict(evidence.numbers)
    assert str(numbers.pop("basis")).startswith("A private analysis of pairs")
    assert numbers == {
        "n": 3,
        "lowest": pytest.approx(944902 / 1136100),
        "median": pytest.approx(103275 / 106517),
        "highest": pytest.approx(910621 / 894002),
        "inverted": 1,
        "share_inverted": "33 %",
        "known": 2,
        "floors": 1,
    }


@pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)
def test_the_published_table_of_a_whole_round():
    """The figures of v6.1 that were computed independently: pairs, range, median and inverted pairs."""
    runs = read([MLPERF / "summary_v6.1.csv"]).runs
    (row, _) = CAVEAT.evidence(runs).tables[0].rows
    assert (row[0], row[1], row[2], row[4], row[6], row[7]) == ("v6.1", "156", "0.381", "0.946", "1.058", "12")
