from caveat.caveats.offline_is_not_serving import CAVEAT
from tests.caveats.ledger import small_ledger


def test_offline_rates_are_counted_with_their_partners_and_their_waiting():
    """Three Offline rates, all with a Server partner; two logs say how long the median request took."""
    evidence = CAVEAT.evidence(small_ledger())
    assert (evidence.numbers["offline"], evidence.numbers["partnered"]) == (3, 3)
    assert "In the 2 of these runs" in str(evidence.numbers["waiting"])
    assert "300 s to 310 s after it was offered" in str(evidence.numbers["waiting"])
    assert evidence.tables[0].rows == (("llama2-70b-99.9", "3", "3", "0"),)
