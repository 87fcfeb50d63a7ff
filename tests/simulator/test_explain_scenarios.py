"""The highest rate of a scenario is judged without its warm-up; a prefix hit has no part in it, which is said."""

import math

import pytest

from caveat.measure import Slo
from caveat.simulator import Question, explain
from caveat.simulator.outcome import Times
from caveat.workload import Fixed, Separate
from tests.simulator.models import small

ASKED = Question(
    lengths=Separate(input=Fixed(value=50), output=Fixed(value=20)),
    server=Slo(ttft_s=1.0),
    interactive=None,
    set_size=200,
    served_s=0,
    scales=(1,),
    batch_limits=(16,),
)


def test_what_came_while_the_fleet_filled_does_not_count(monkeypatch):
    """Two seatfuls of requests are served first: limits and times are those of the requests after them alone."""
    judged, plain = [], Times.keeps

    def keeps(self, slo):
        judged.append(self)
        return plain(self, slo)

    monkeypatch.setattr(Times, "keeps", keeps)
    point = explain(small(), ASKED).points[0]
    assert point.server.requests_per_s > 0
    warm = math.ceil(2 * point.seats)
    for one in judged:
        whole = warm + len(one.due_s)
        assert len(one.due_s) == 4000
        assert one.due_s.min() > 0.5 * one.due_s.max() * warm / whole


@pytest.mark.parametrize(
    ("hit", "said"), [("0.6", "0.6"), ('"unknown"', "unknown"), ("{low = 0.1, high = 0.2}", "a range")]
)
def test_a_prefix_hit_is_not_used_and_the_answer_says_so(hit, said):
    """All prompts are different; without a hit there is nothing to say."""
    note = f"the model's prefix_hit ({said}) is not used: these prompts are computed whole"
    found, plain = explain(small(hit=hit), ASKED), explain(small(), ASKED)
    assert note in found.notes
    assert not any("prefix_hit" in one for one in plain.notes)
    assert found.points == plain.points
