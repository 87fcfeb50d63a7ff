from caveat.caveats.good_for_like_with_like import CAVEAT as LIKE
from caveat.caveats.good_for_spotting_a_fault import CAVEAT
from caveat.caveats.one_tuned_configuration import CAVEAT as TUNED
from tests.builders import published_run

RIVALS = tuple(
    published_run(value, platform=f"p{value}", submitter=f"S{value}", engine=f"engine {value}")
    for value in (100.0, 97.0, 50.0)
)


def test_results_on_like_hardware_are_set_against_the_best():
    """The best itself is no evidence of a band; equal evidence gives the spread and the contests."""
    evidence = CAVEAT.evidence(RIVALS)
    assert evidence.numbers == {"n": 2, "groups": 1, "tenth": "55 %", "half": "74 %"}
    assert evidence.tables[0].rows == (("v6.1", "2", "50 %", "55 %", "74 %"),)
    assert TUNED.evidence(RIVALS).numbers == {"groups": 1, "n": 3, "median": 2.0, "largest": 2.0, "engines": 3}
    assert LIKE.evidence(RIVALS).numbers == {"n": 3, "contests": 1, "of": 3}
    assert LIKE.evidence(RIVALS).tables[0].rows == (("v6.1", "server", "1", "3", "3"),)
