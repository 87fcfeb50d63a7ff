import msgspec
import pytest

from caveat.caveats import CATALOGUE, EXPLAIN_FORMAT, caveat_named, document
from tests.caveats.ledger import small_ledger


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_every_page_is_also_plain_data(caveat):
    """JSON there and back, with or without figures."""
    for runs in ((), small_ledger()):
        found = document(caveat, runs)
        encoded = msgspec.json.encode(found)
        assert msgspec.json.encode(msgspec.json.decode(encoded)) == encoded
        assert (found["format"], found["id"]) == (EXPLAIN_FORMAT, caveat.id)
        assert (found["shown"] is None) == (sum(found["evidence"]["counted"].values()) == 0)


def test_numbers_of_the_evidence_are_numbers():
    """A program gets 2, not a sentence with a 2 in it."""
    found = document(caveat_named("no-stable-scenario-discount"), small_ledger())
    numbers = found["evidence"]["numbers"]
    assert (numbers["n"], numbers["inverted"], numbers["floors"]) == (3, 1, 1)
    assert found["shown"].startswith("Over 3 pairs of Offline and Server the ratio runs from 0.832 to 1.019")
