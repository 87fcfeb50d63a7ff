"""The prescribed wordings."""

import pytest

from caveat.facts import (
    CAUTION_SENTENCE,
    ROUNDS,
    SUITE_NAME,
    TRADEMARK_LEGEND,
    UNVERIFIED_SENTENCE,
    UNVERIFIED_WORD,
    VERIFIED_SENTENCE,
    VERIFIED_WORDS,
    derived_basis,
    result_url,
    versioned_suite,
)
from caveat.facts.citation import AS_OF, SOURCE


def test_the_fixed_sentences_are_as_prescribed():
    """Word for word as in the messaging guidelines."""
    assert UNVERIFIED_SENTENCE == "Result not verified by MLCommons Association."
    assert VERIFIED_SENTENCE == "Result verified by MLCommons Association."
    assert CAUTION_SENTENCE == (
        "Unverified results have not been through an MLPerf® review and may use measurement methodologies and/or "
        "workload implementations that are inconsistent with the MLPerf specification for verified results."
    )
    assert TRADEMARK_LEGEND == (
        "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association in the "
        "United States and other countries. All rights reserved. Unauthorized use strictly prohibited. See "
        "www.mlcommons.org for more information."
    )
    assert UNVERIFIED_WORD == "unverified"
    assert VERIFIED_WORDS == ("verified", "official")


def test_the_suite_carries_the_registered_sign_and_its_version():
    """The name is not altered."""
    assert SUITE_NAME == "MLPerf® Inference"
    assert versioned_suite("v6.1") == "MLPerf® Inference v6.1"


def test_a_derived_value_states_its_basis_and_is_unverified():
    """It is neither official nor verified, and says how it was made."""
    sentence = derived_basis("Tokens/s per accelerator", "tokens/s divided by 8 accelerators")
    assert sentence.startswith("Tokens/s per accelerator is not the primary metric of MLPerf® Inference.")
    assert "tokens/s divided by 8 accelerators" in sentence
    assert "neither official nor verified" in sentence
    assert sentence.endswith(UNVERIFIED_SENTENCE)


def test_braces_in_a_metric_or_formula_are_only_text():
    """Units such as {token}/s may stand in both."""
    assert "{token}/s" in derived_basis("Rate in {token}/s", "a {token}/s")


@pytest.mark.parametrize("name", [one.name for one in ROUNDS])
def test_every_round_has_its_place_of_results(name):
    """The official repository."""
    assert result_url(name) == f"https://github.com/mlcommons/inference_results_{name}"


def test_an_unknown_round_has_no_place():
    """No address is made up."""
    assert result_url("v7.0") is None
    assert result_url("") is None


def test_the_wordings_are_dated_and_sourced():
    """Guidelines change."""
    assert AS_OF == "2026-04-28"
    assert "mlcommons/policies" in SOURCE
