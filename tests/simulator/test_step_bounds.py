"""Step times and settings that no machine has: refused in words, and never a traceback or all of the memory."""

import pytest

from caveat.errors import InputError
from caveat.simulator import changed, load_of, server_of
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.step_time import Piece
from tests.simulator.models import small
from tests.simulator.plans import Columns, serve
from tests.simulator.test_load import mix_at
from tests.simulator.test_parts import MODEL


@pytest.mark.parametrize("value", [1e300, 2e6, -1e-9, float("nan"), float("inf")])
def test_a_step_has_a_time(value):
    """At most that of eleven days."""
    with pytest.raises(InputError, match="step time: step_s: found"):
        Piece(step_s=value)


def test_a_block_is_no_larger_than_a_replica_can_count():
    """A billion tokens a block would take eight gigabytes."""
    with pytest.raises(InputError, match="block_tokens: found 1000000000, expected a whole number from 1 to 65536"):
        Scheduler(block_tokens=10**9, kv_blocks=100)
    with pytest.raises(InputError, match="block_tokens: found 1000000000"):
        changed(small(), {"scheduler.block_tokens": "1_000_000_000"})


def test_steps_of_no_time_are_a_load_of_nothing():
    """And no division by zero."""
    assert load_of(changed(MODEL, {"step_time.pieces": "[{step_s=0.0}]"}), mix_at, 10.0).fraction.high == 0


def test_time_has_an_end():
    """A thousand steps of eleven days each are more than a sample can hold."""
    slow = changed(MODEL, {"step_time.pieces": "[{step_s=1e6}]"})
    plan = Columns([0], [10], [20_000])
    with pytest.raises(InputError, match="later than 292 years"):
        serve(server_of(slow), plan)
