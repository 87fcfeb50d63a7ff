"""LengthMix: means of lengths that a step depends on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.simulator.length_mix import LengthMix, mix_of, mix_of_means

LENGTHS = st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 200)), min_size=1, max_size=10)


@given(pairs=LENGTHS)
def test_context_is_that_of_a_random_moment_of_decoding(pairs):
    """Counted token by token: the context before each output token, averaged over all tokens, half a token aside."""
    inputs, outputs = np.array(pairs).T
    contexts = [i + k for i, o in pairs for k in range(o)]
    assert mix_of(inputs, outputs).context_tokens == pytest.approx(np.mean(contexts) + 0.5)


@given(pairs=LENGTHS, hit=st.floats(0, 1))
def test_pairs_are_those_of_the_computed_tokens(pairs, hit):
    """A computed token attends to everything before it; cached tokens attend to nothing."""
    inputs, outputs = np.array(pairs).T
    mix = mix_of(inputs, outputs, prefix_hit=hit)
    whole = mix_of(inputs, outputs)
    assert mix.prompt_pairs == pytest.approx(whole.prompt_pairs * (1 - hit**2), rel=1e-9, abs=1e-6)
    assert mix.prompt_tokens == pytest.approx(whole.input_tokens * (1 - hit), abs=1e-9)
    assert mix.context_tokens == whole.context_tokens


def test_two_means_are_requests_all_alike():
    """The same as a trace of equal requests."""
    assert mix_of_means(100, 40) == mix_of(np.full(7, 100), np.full(7, 40))


def test_answers_of_nothing_are_left_out_and_nothing_else_refused():
    """A failed request decodes nothing."""
    assert mix_of(np.array([10, 999]), np.array([5, 0])) == mix_of(np.array([10]), np.array([5]))
    with pytest.raises(InputError, match="no request with output"):
        mix_of(np.array([10]), np.array([0]))


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "context_tokens", "prompt_tokens", "prompt_pairs"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_no_mean_may_be_what_it_cannot_be(field, value):
    """The field is named."""
    fine = dict.fromkeys(LengthMix.__struct_fields__, 1.0)
    with pytest.raises(InputError, match=f"{field}: found"):
        LengthMix(**{**fine, field: value})
    with pytest.raises(InputError, match="prefix_hit: found 2"):
        mix_of(np.array([1]), np.array([1]), prefix_hit=2.0)
