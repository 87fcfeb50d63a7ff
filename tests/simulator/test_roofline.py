"""Roofline: seconds by cause, and the pieces that they become."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CannotSayError, InputError
from caveat.facts import MODELS, accelerator_named
from caveat.simulator.multipliers import Multipliers
from caveat.simulator.roofline import Basis, Roofline, step_time

ONE = Multipliers(memory=1.0, prefill=1.0, layer_s=0.0, sequence_s=0.0)


def roofline(**changes) -> Roofline:
    settings = {"accelerator": "H100-SXM", "model": "llama2-70b", "tensor_parallel": 4, "precision": "bf16"}
    return Roofline(**{**settings, **changes})


def test_a_dense_model_reads_all_its_weights_and_computes_two_operations_a_parameter():
    """Llama 2 70B on four H100, by hand: 138 GB at 13.4 TB/s, 138 GFLOP a token at 3.96 PFLOPS."""
    basis = roofline().basis()
    assert basis.weights_s == pytest.approx(2 * 68.977e9 / (4 * 3.35e12))
    assert basis.experts_s == 0.0
    assert basis.context_token_s == pytest.approx(327_680 / (4 * 3.35e12))
    assert basis.prompt_token_s == pytest.approx(2 * 68.977e9 / (4 * 989e12))
    assert basis.prompt_pair_s == pytest.approx(4 * 64 * 128 * 80 / (4 * 989e12))
    assert basis.layers == 80


@pytest.mark.parametrize(
    ("changes", "field", "factor"),
    [
        ({"precision": "fp8"}, "weights_s", 0.5),
        ({"precision": "fp8"}, "prompt_token_s", 989 / 1979),
        ({"precision": "fp4"}, "prompt_token_s", 989 / 1979),
        ({"precision": "int4"}, "prompt_token_s", 1.0),
        ({"kv_precision": "fp8"}, "context_token_s", 0.5),
        ({"precision": "fp8"}, "prompt_pair_s", 1.0),
        ({"precision": "fp8", "kv_precision": "fp8"}, "prompt_pair_s", 1.0),
        ({"tensor_parallel": 8}, "weights_s", 0.5),
        ({"tensor_parallel": 8}, "prompt_pair_s", 0.5),
    ],
)
def test_precision_and_spread_scale_what_they_should(changes, field, factor):
    """FP4 weights on an H100, which lacks FP4 arithmetic, are computed in FP8; INT4 weights in bf16. Attention is bf16
    whatever the weights."""
    assert getattr(roofline(**changes).basis(), field) == pytest.approx(factor * getattr(roofline().basis(), field))


def test_a_mixture_reads_the_experts_that_its_tokens_are_sent_to():
    """Mixtral: one token reads its active parameters, very many read all of them."""
    basis = roofline(model="mixtral-8x7b").basis()
    bandwidth = 4 * 3.35e12
    assert basis.read_s(1) == pytest.approx(2 * 12.88e9 / bandwidth, rel=1e-6)
    assert basis.read_s(1e4) == pytest.approx(2 * 46.703e9 / bandwidth, rel=1e-6)
    assert basis.experts_touched(2) == pytest.approx(1 - 0.75**2)


@pytest.mark.parametrize(
    ("model", "active"), [("mixtral-8x7b", 12.88), ("deepseek-r1", 36.625), ("gpt-oss-120b", 5.131)]
)
def test_a_prompt_token_is_computed_by_the_experts_that_it_is_sent_to(model, active):
    """Two operations for each active parameter, not for all of them; gpt-oss in the FP8 that an H100 has."""
    basis = roofline(model=model, precision="fp8", tensor_parallel=8).basis()
    assert basis.prompt_token_s == pytest.approx(2e9 * active / (8 * 1979e12))


@given(
    model=st.sampled_from([one.id for one in MODELS if one.experts]),
    sequences=st.integers(0, 400),
    prompt_tokens=st.integers(0, 4000),
)
def test_the_pieces_of_a_mixture_lie_just_below_the_curve(model, sequences, prompt_tokens):
    """Never above it and never more than one part in 100 below."""
    basis = roofline(model=model).basis()
    tokens = sequences + prompt_tokens
    found = step_time(basis, ONE).seconds(sequences=sequences, context_tokens=0, prompt_tokens=prompt_tokens)
    exact = basis.read_s(tokens) + basis.prompt_s * prompt_tokens
    assert exact * 0.99 <= found <= exact * 1.001


@given(basis_share=st.floats(0.001, 0.9), memory=st.floats(0.1, 5))
def test_pieces_join_without_a_jump(basis_share, memory):
    """Where one ends and the next begins both say the same."""
    basis = Basis(
        weights_s=1e-3,
        experts_s=1e-2,
        routed_share=basis_share,
        context_token_s=1e-8,
        prompt_token_s=1e-6,
        prompt_pair_s=1e-12,
        layers=10,
    )
    pieces = step_time(basis, Multipliers(memory=memory, prefill=2, layer_s=3e-5, sequence_s=2e-5)).pieces
    for before, after in itertools.pairwise(pieces):
        ends = [one.step_s + one.sequence_s * after.from_tokens for one in (before, after)]
        assert ends[0] == pytest.approx(ends[1], rel=2e-3)


def test_four_multipliers_make_the_step_time_of_a_dense_model():
    """m1 (weights + KV) + m2 arithmetic + m3 layers + m4 sequences."""
    basis = roofline().basis()
    m = Multipliers(memory=1.6, prefill=2.0, layer_s=30e-6, sequence_s=20e-6)
    steps = step_time(basis, m)
    assert len(steps.pieces) == 1
    assert steps.seconds(sequences=10, context_tokens=5000, prompt_tokens=100, prompt_pairs=2e4) == pytest.approx(
        1.6 * (basis.weights_s + 5000 * basis.context_token_s)
        + 2.0 * (100 * (basis.prompt_token_s + basis.exchange_token_s) + 2e4 * basis.prompt_pair_s)
        + 80 * 30e-6
        + 10 * 20e-6
    )


def test_the_kv_cache_is_what_the_weights_leave():
    """90 % of 320 GB less 138 GB, in tokens of 328 kB."""
    assert roofline().kv_tokens() == int((0.9 * 320e9 - 2 * 68.977e9) / 327_680)


def test_weights_that_do_not_fit_are_refused_with_the_numbers():
    """Nobody serves 138 GB from one H100."""
    with pytest.raises(CannotSayError, match=r"138 GB of weights do not fit into 90% of 1 x 80 GB of H100-SXM"):
        roofline(tensor_parallel=1).kv_tokens()


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"tensor_parallel": 0}, InputError, "tensor_parallel: found 0"),
        ({"precision": "fp7"}, InputError, "precision: found 'fp7', expected one of bf16"),
    ],
)
def test_settings_out_of_range_are_refused(changes, error, said):
    """Found, expected."""
    with pytest.raises(error, match=said):
        roofline(**changes)


@pytest.mark.parametrize("changes", [{"accelerator": "H900"}, {"model": "llama9-1t"}])
def test_what_the_tables_lack_is_not_guessed(changes):
    """The error names what there is."""
    with pytest.raises(CannotSayError) as caught:
        roofline(**changes).basis()
    assert "one of" in caught.value.next


def test_an_accelerator_of_ones_own_may_stand_in_for_a_name():
    """A record in the form of the table."""
    own = accelerator_named("H100-SXM")
    assert roofline(accelerator=own).basis() == roofline().basis()
