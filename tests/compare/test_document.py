"""Verdicts as JSON: one pair flat, several as a list, always with conditions."""

from caveat.compare import verdicts, verdicts_json
from tests.compare.figures_of_two import full


def test_the_document_of_two_is_flat_and_keeps_the_conditions():
    """The JSON shape of one pair."""
    left, right = full(3000.0), full(2000.0, availability="preview")
    found = verdicts_json(verdicts([left, right]))
    assert found | {"figures": None} == {
        "format": "caveat-verdict/1",
        "left": left.id,
        "right": right.id,
        "verdict": "comparable-with-caveats",
        "ratio": 1.5,
        "ratio_of": "left / right",
        "difference": "difference",
        "shape_slack": 0.0,
        "per_accelerator": None,
        "findings": [
            {
                "rule": "availability",
                "severity": "comparable-with-caveats",
                "message": "The availability differs: available on the left, preview on the right. "
                "Categories that differ must be stated beside the figures.",
                "left": "available",
                "right": "preview",
                "remedy": "state both categories, or take the available result of a later round",
            }
        ],
        "figures": None,
    }
    assert found["figures"][0] == {
        "id": left.id,
        "metric": "loadgen-completed-tokens-rate",
        "value": 3000.0,
        "unit": "{token}/s",
        "validity": "pass",
        "conditions": left.conditions.flat(),
    }


def test_the_document_of_several_lists_the_pairs():
    """The JSON shape of three figures."""
    found = verdicts_json(verdicts([full(1.0), full(2.0), full(4.0)]))
    assert list(found) == ["format", "pairs"]
    assert [pair["ratio"] for pair in found["pairs"]] == [0.5, 0.25, 0.5]
