"""The fixed wordings that a citation of MLPerf Inference results needs, as MLCommons prescribes them.

The quoted sentences are prescribed and therefore given as prescribed; a renderer must not reword them. Rule
letters (C2, K6, D1) are those of this project's notes on citing: C for citing one result, K for comparing two,
D for derived values.
"""

from __future__ import annotations

from caveat.facts.rounds import round_named

AS_OF = "2026-04-28"
SOURCE = (
    "mlcommons/policies MLPerf_Results_Messaging_Guidelines.adoc: rules @ c195f80 (2026-04-28), wordings read @ c0d89de"
)

SUITE_NAME = "MLPerf® Inference"
"""How the suite is written: with the registered sign, unaltered, followed by version and benchmark (C6)."""

UNVERIFIED_WORD = "unverified"
"""Stands beside every score that MLCommons has not reviewed (C3)."""

VERIFIED_WORDS = ("verified", "official")
"""Words that only a reviewed result of the primary metric may carry (C4, D1)."""

UNVERIFIED_SENTENCE = "Result not verified by MLCommons Association."
"""Footnote of every result that was not reviewed (C3)."""

VERIFIED_SENTENCE = "Result verified by MLCommons Association."
"""Optional footnote of a reviewed result (C4)."""

CAUTION_SENTENCE = (
    "Unverified results have not been through an MLPerf® review and may use measurement methodologies and/or "
    "workload implementations that are inconsistent with the MLPerf specification for verified results."
)
"""Footnote wherever a verified result stands beside an unverified one (K6)."""

TRADEMARK_LEGEND = (
    "The MLPerf name and logo are registered and unregistered trademarks of MLCommons Association in the United "
    "States and other countries. All rights reserved. Unauthorized use strictly prohibited. "
    "See www.mlcommons.org for more information."
)
"""Footnote wherever the name appears (C2)."""

DERIVED_BASIS = (
    "{metric} is not the primary metric of MLPerf® Inference. It was derived as {formula}; the result is neither "
    "official nor verified."
)
"""Our sentence for text and footnote of a derived or secondary value (D1); for `derived_basis`."""


def derived_basis(metric: str, formula: str) -> str:
    """The basis of a derived value with the sentence that it is unverified. The metric begins the sentence."""
    return f"{DERIVED_BASIS.format(metric=metric, formula=formula)} {UNVERIFIED_SENTENCE}"


def versioned_suite(round_name: str) -> str:
    """The suite with its version, such as `MLPerf® Inference v6.0`."""
    return f"{SUITE_NAME} {round_name}"


def result_url(round_name: str) -> str | None:
    """The public repository of a round's results at MLCommons, or None for a round that the tables lack.

    The place where a result was really retrieved, and when, belongs to its provenance; this is its official home.
    """
    if round_named(round_name) is None:
        return None
    return f"https://github.com/mlcommons/inference_results_{round_name}"
