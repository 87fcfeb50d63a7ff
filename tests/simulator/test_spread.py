"""Spread: keys and values on several accelerators, and what they send each other; numbers by hand."""

import pytest

from caveat.errors import InputError
from caveat.facts import accelerator_named, model_named
from caveat.simulator.evidence import step_coefficients
from caveat.simulator.length_mix import mix_of_means
from caveat.simulator.multipliers import Multipliers
from caveat.simulator.roofline import Roofline, step_time
from caveat.simulator.spread import check_spread, exchange_token_s, kv_copies, pair_operations

LLAMA, DEEPSEEK = model_named("llama2-70b"), model_named("deepseek-r1")
H100 = accelerator_named("H100-SXM")


@pytest.mark.parametrize(("degree", "copies"), [(1, 1), (4, 1), (8, 1), (16, 2), (64, 8)])
def test_whole_heads_of_keys_are_divided_and_then_held_again(degree, copies):
    """Llama 2 70B has eight: beyond eight accelerators each is held on several."""
    assert kv_copies(LLAMA, degree) == copies


def test_a_latent_is_held_everywhere_unless_attention_is_data_parallel():
    """DeepSeek R1 on eight accelerators: eight copies, or one."""
    assert kv_copies(DEEPSEEK, 8) == 8
    assert kv_copies(DEEPSEEK, 8, data_parallel=True) == 1
    one, other = (
        Roofline(
            accelerator="H200-SXM",
            model="deepseek-r1",
            tensor_parallel=8,
            precision="fp8",
            attention_data_parallel=apart,
        )
        for apart in (False, True)
    )
    assert one.kv_tokens() == int((0.9 * 8 * 141e9 - 671.026e9) / (8 * 70_272))
    assert other.kv_tokens() == int((0.9 * 8 * 141e9 - 671.026e9) / 70_272)
    assert one.basis().context_token_s == pytest.approx(70_272 / 4.8e12)
    assert other.basis().context_token_s == pytest.approx(70_272 / (8 * 4.8e12))


def test_past_the_heads_of_keys_more_accelerators_read_no_faster():
    """Each reads a whole head; what the cache holds grows by the memory that weights leave, not by the number."""
    eight, sixteen = (
        Roofline(accelerator="H100-SXM", model="llama2-70b", tensor_parallel=n, precision="bf16") for n in (8, 16)
    )
    assert sixteen.basis().context_token_s == pytest.approx(eight.basis().context_token_s)
    assert sixteen.kv_tokens() == int((0.9 * 16 * 80e9 - 2 * 68.977e9) / (2 * 327_680))


@pytest.mark.parametrize("degree", [3, 48, 128, 1024])
def test_heads_that_do_not_go_around_are_refused(degree):
    """64 heads: not three, not more than there are."""
    with pytest.raises(InputError, match=f"tensor_parallel: found {degree}, expected a divisor of the 64"):
        check_spread(LLAMA, degree)
    with pytest.raises(InputError, match="tensor_parallel"):
        Roofline(accelerator="H100-SXM", model="llama2-70b", tensor_parallel=degree, precision="bf16").basis()


def test_a_prompt_token_is_sent_twice_a_layer():
    """80 layers x 2 sums x 8,192 numbers of two bytes, three quarters of them sent by each of four, at 450 GB/s."""
    assert exchange_token_s(LLAMA, H100, 4) == pytest.approx(80 * 2 * 8192 * 2 * 0.75 / 450e9)
    assert exchange_token_s(LLAMA, H100, 1) == 0
    assert exchange_token_s(LLAMA, accelerator_named("MI300X"), 4) == 0  # no link is known


def test_what_is_sent_is_in_the_step_and_in_the_evidence_alike():
    """With prompts, under their multiplier; decoding sends little and waits, which layers carry."""
    basis = Roofline(accelerator="H100-SXM", model="llama2-70b", tensor_parallel=4, precision="bf16").basis()
    mix = mix_of_means(300, 100)
    m = Multipliers(memory=1.6, prefill=2.0, layer_s=3e-5, sequence_s=2e-5)
    row = step_coefficients(basis, mix, 32.0)
    found = step_time(basis, m).seconds(
        sequences=32, context_tokens=32 * 350, prompt_tokens=96, prompt_pairs=32 * mix.prompt_pairs_per_token
    )
    assert row[:4] @ [1.6, 2.0, 3e-5, 2e-5] == pytest.approx(found)
    assert row[1] > 96 * (basis.prompt_token_s + basis.exchange_token_s) > 96 * basis.prompt_token_s


def test_latent_attention_multiplies_longer_keys_than_values():
    """192 and 128 numbers a head; where both are alike, four operations a number."""
    assert pair_operations(DEEPSEEK) == 2 * (192 + 128) * 128 * 61
    assert pair_operations(LLAMA) == 4 * 128 * 64 * 80
