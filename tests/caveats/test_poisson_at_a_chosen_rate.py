import pytest

from caveat.caveats.poisson_at_a_chosen_rate import CAVEAT
from tests.builders import published_run
from tests.caveats.cases import offline


def test_the_rates_that_were_asked_for():
    """The sample file's rate is counted; an Offline target is not a rate of arrivals."""
    runs = (
        published_run(platform="a", target_qps=0.31, completed_qps=0.31),
        published_run(platform="b", target_qps=3650.0, completed_qps=3285.0),
        published_run(platform="c", target_qps=0.5),
        published_run(platform="d"),
        offline(target_qps=9999.0),
    )
    evidence = CAVEAT.evidence(runs)
    numbers = dict(evidence.numbers)
    assert "the 2 runs that print both: 0.9 at least, 0.95 in the middle, 1 at most" in str(numbers.pop("completed"))
    assert numbers == {"n": 3, "lowest": pytest.approx(0.31), "highest": 3650.0, "at_sample": 1}
    assert evidence.tables[0].rows == (("llama2-70b-99.9", "server", "3", "0.31", "0.5", "3,650"),)
