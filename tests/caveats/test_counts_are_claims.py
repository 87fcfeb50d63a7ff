from caveat.caveats.counts_are_claims import CAVEAT
from tests.builders import published_run
from tests.caveats.cases import contested


def test_contested_counts_are_listed_with_both_claims():
    """One line a system, however many figures it has."""
    runs = (contested(), contested(scenario="interactive"), published_run(platform="other"))
    evidence = CAVEAT.evidence(runs)
    assert evidence.numbers == {"n": 2, "systems": 1, "of": 3}
    assert evidence.tables[0].rows == (
        ("v6.1", "AMD", "87xMI355X", "accelerators", "88 by nodes x accelerators; 87 by accelerator text", "2"),
    )
