"""All switches of a fleet together: nobody is lost without a row, and nothing is left behind."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.simulator.assembly import FleetShape
from caveat.simulator.failures import Failures
from caveat.simulator.live import Live
from caveat.simulator.samples import Rows
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import affine
from tests.simulator.strategies import fleets, plans, routings, schedulers, step_times


@settings(max_examples=40, deadline=None)
@given(step_times, schedulers(longest=100), plans(), routings, fleets(), st.none() | st.integers(1, 12))
def test_every_request_has_one_row_and_nothing_is_left(step_time, scheduler, plan, routing, fleet, limit):
    """Answers are whole; at the end no replica has anything under way, and no block is held."""
    replicas, shape = fleet
    switches = {name: getattr(shape, name) for name in FleetShape.__struct_fields__}
    server = SimulatedServer(step_time, scheduler, replicas=replicas, routing=routing, limit=limit, **switches)
    rows = Rows(closed=plan.concurrency is not None)
    made, _ = server._fleet(plan, rows)
    for _ in made.run():
        pass
    table = rows.batch().to_pydict()
    assert sorted(table["request"]) == list(range(len(plan.at_ns)))
    for number, error, given_tokens in zip(
        table["request"], table["error_class"], table["output_tokens_usage"], strict=True
    ):
        assert given_tokens == (None if error else plan.output_tokens[number])
    assert made.outstanding == 0
    assert [(one.outstanding, one.queued_tokens, one.kv.used, one.waiting) for one in made.replicas] == [
        (0, 0, 0, 0)
    ] * replicas
    assert made.refused + made.lost == sum(error is not None for error in table["error_class"])


def test_a_fleet_with_switches_is_not_run_in_real_time():
    """It would not tell whom it refuses."""
    switched = SimulatedServer(affine(1), failures=Failures())
    assert SimulatedServer(affine(1)).shape.plain and not switched.shape.plain
    with pytest.raises(UsageError, match="switches of the fleet"):
        Live(switched)
