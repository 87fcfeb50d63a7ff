"""accuracy_gate: what a timed run takes from an accuracy run, and which ones do not belong to it."""

import msgspec
import pytest

from caveat.caveats import sentences
from caveat.errors import RefusedError
from caveat.figures import Check, Figure, Provenance, Row, Run, conditions_of
from caveat.measure import unchecked, with_accuracy

RATE = "caveat-request-rate"
SAME = {"model": "m", "decoding": "temperature 0", "api": "openai-chat, streamed", "engine": "vllm 1"}
THERE = "endpoint: url http://h:1, model m, dialect openai-chat, streaming true"
GATES = (
    Check(aspect="accuracy", outcome="pass", sentence="rouge1: 80 %, 70 % demanded: reached."),
    Check(aspect="output length", outcome="fail", sentence="3 tokens/sample."),
    Check(aspect="completion", outcome="unknown", sentence="."),
)


def run_of(subject, rows, *, validity=(), notes=(THERE,), **changes):
    known = {key: value for key, value in {**SAME, **changes}.items() if value is not None}
    return Run(
        subject=subject,
        conditions=conditions_of(known),
        provenance=Provenance(origin="measured"),
        rows=rows,
        validity=validity,
        notes=notes,
        primary=rows[0].metric,
    )


def timed(**changes):
    return run_of("measured/1", (Row(metric=RATE, value=4.0),), **changes)


def scored(validity=GATES, **changes):
    reached = {"dataset": "d, 24 samples", "accuracy": {"rouge1": 80.0}, "accuracy_required": {"rouge1": 70.0}}
    return run_of(
        "measured/2", (Row(metric="caveat-rouge1.mean", value=80.0),), validity=validity, **{**reached, **changes}
    )


def ids(run):
    return [name for name, _ in sentences(Figure(run, RATE))]


def test_a_timed_run_takes_verdict_scores_and_length_and_names_the_run():
    """And nothing else: the accuracy run's own completion is not that of the timed run."""
    accuracy = scored()
    found = with_accuracy(timed(validity=(Check(aspect="client health", outcome="pass"), unchecked())), accuracy)
    assert [(check.aspect, check.outcome) for check in found.validity] == [
        ("client health", "pass"),
        ("accuracy", "pass"),
        ("output length", "fail"),
    ]
    assert found.validity[1].sentence == (
        f"Accuracy run {accuracy.id[:10]} over d, 24 samples: rouge1: 80 %, 70 % demanded: reached."
    )
    assert found.conditions.get("accuracy") == {"rouge1": 80.0}
    assert found.conditions.get("accuracy_required") == {"rouge1": 70.0}
    assert found.notes[-1] == f"accuracy run: {accuracy.id}"
    assert found.outcome(RATE) == "fail"


def test_a_figure_is_unchecked_until_then():
    """The caveat goes with the verdict."""
    assert "accuracy-unchecked" in ids(timed())
    assert "accuracy-unchecked" in ids(timed(validity=(unchecked("no references were given"),)))
    assert "accuracy-unchecked" not in ids(with_accuracy(timed(), scored()))


def test_lengths_that_were_forced_are_said():
    """The same tokens are chosen in the same way, but the timed run did not let answers end."""
    found = with_accuracy(timed(decoding="temperature 0, exact length asked for"), scored())
    assert found.validity[0].sentence.endswith("forced the length of its answers, the accuracy run did not.")


@pytest.mark.parametrize(
    ("here", "there", "what"),
    [
        ({"model": "m"}, {"model": "n"}, "model: found m in the run and n in the accuracy run"),
        ({}, {"decoding": "temperature 1"}, "decoding: found temperature 0"),
        ({"weight_precision": "fp8"}, {"weight_precision": "fp16"}, "weight_precision: found fp8"),
        ({}, {"engine": "sglang 2"}, "engine: found vllm 1"),
        ({}, {"api": "openai-completions, streamed"}, "api: found openai-chat"),
        ({}, {"notes": (THERE.replace("h:1", "h:2"),)}, "endpoint: found url http://h:1"),
        ({}, {"notes": (f'{THERE}, extra_body {{"top_k":1}}',)}, "extra_body"),
        ({}, {"notes": ()}, "found url http://h:1 in the run and nothing"),
    ],
)
def test_another_question_has_another_accuracy(here, there, what):
    """Refused, naming what differs, with both values and the way out."""
    with pytest.raises(RefusedError, match="expected one and the same") as caught:
        with_accuracy(timed(**here), scored(**there))
    assert what in caught.value.message
    assert "this very endpoint" in caught.value.next


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ({"weight_precision": "fp8"}, {}),
        ({"api": "openai-chat, whole answers"}, {}),
        ({"prefix_caching": "on"}, {"prefix_caching": "off"}),
        ({"notes": (THERE.replace("streaming true", "streaming false, key from $K, headers x: [hidden]"),)}, {}),
    ],
)
def test_what_cannot_change_an_answer_may_differ(here, there):
    """Streaming, a key, a cache that was only seen in one run, and what one of the two did not say."""
    assert with_accuracy(timed(**here), scored(**there)).validity[0].outcome == "pass"


def test_a_run_without_an_entry_of_accuracy_is_none():
    """A timed run does not vouch for another."""
    with pytest.raises(RefusedError, match="is no accuracy run"):
        with_accuracy(timed(), timed(validity=(Check(aspect="completion", outcome="pass"),)))
    with pytest.raises(RefusedError, match="is no accuracy run"):  # it carries a verdict and has no scores of its own
        with_accuracy(timed(), with_accuracy(timed(), scored()))


def test_a_newer_verdict_takes_the_place_of_an_older():
    """One run, one verdict."""
    first = with_accuracy(timed(), scored())
    missed = (msgspec.structs.replace(GATES[0], outcome="fail"),)
    second = with_accuracy(first, scored(validity=missed))
    assert [check.outcome for check in second.validity if check.aspect == "accuracy"] == ["fail"]
