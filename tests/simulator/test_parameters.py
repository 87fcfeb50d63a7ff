"""Parameters of a model as ranges, and how they hang together."""

import pytest

from caveat.simulator import model_named, parameters_of
from tests.simulator.models import small


def test_each_parameter_has_its_range():
    """In the order of the file; a parameter that does not vary is known to a factor of one."""
    found = {one.name: one for one in parameters_of(small())}
    assert list(found) == ["step_s", "sequence_s", "context_token_s", "prompt_token_s", "overhead_s"]
    assert (found["step_s"].low, found["step_s"].high) == (0.009, 0.011)
    assert found["step_s"].factor == pytest.approx((11 / 9) ** 0.5)
    assert found["context_token_s"].factor == 1.0
    assert found["step_s"].correlation(found["context_token_s"]) == 0.0
    assert found["step_s"].correlation(found["step_s"]) == pytest.approx(1.0)


def test_a_model_that_says_nothing_of_how_sure_it_is_has_none():
    """Pieces have no draws."""
    assert parameters_of(model_named("slots8-small")) == ()
