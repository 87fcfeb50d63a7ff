"""Tokens of two shapes: the sentence names the work, by its benchmark or by its lengths."""

import pytest

from caveat.caveats import sentences
from caveat.figures import Figure, Provenance, Row, Run, conditions_of


def sentence(**conditions):
    rate = "caveat-output-tokens-rate-usage"
    run = Run(
        subject="bench/x",
        conditions=conditions_of(conditions),
        provenance=Provenance(origin="measured"),
        rows=(Row(metric=rate, value=100.0),),
        primary=rate,
    )
    return dict(sentences(Figure(run, rate)))["tokens-of-two-shapes"]


@pytest.mark.parametrize(
    ("conditions", "work"),
    [
        ({"benchmark": "llama2-70b-99"}, "output tokens of llama2-70b-99; a token of another benchmark"),
        (
            {"input_tokens": {"mean": 512.0}, "output_tokens": {"mean": 128.25}},
            "output tokens of requests of 512.0 input and 128.2 output tokens on average; a token of another shape",
        ),
        ({"output_tokens": {"mean": 128.0}}, "output tokens of requests of 128.0 output tokens on average;"),
        ({"output_tokens": {"p50": 128.0}}, "output tokens of a workload whose lengths are undisclosed;"),
        ({}, "output tokens of a workload whose lengths are undisclosed;"),
    ],
)
def test_the_sentence_names_the_work(conditions, work):
    """What is known of the lengths is said, and what is not is called so."""
    assert work in sentence(**conditions)
