"""The verdict on two figures: worst of the findings, ratio only where it may be formed, the same from both sides."""

from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.compare import (
    NO_DIFFERENCE,
    RATIO_ALLOWED,
    RULES,
    SEVERITIES,
    PerAccelerator,
    Verdict,
    exit_code,
    verdict,
    verdicts,
    worst,
)
from caveat.errors import UsageError
from caveat.facts import derived_basis
from caveat.figures import Check
from tests.compare.figures_of_two import any_figure, contested, figure, full, own

FEW = settings(max_examples=60, deadline=None)
INVALID = (Check(aspect="harness verdict", outcome="fail", sentence="INVALID"),)


def rules_of(answer: Verdict, severity: str) -> set[str]:
    return {finding.rule for finding in answer.findings if finding.severity == severity}


@pytest.mark.parametrize(
    ("left", "right", "rule"),
    [
        ({}, {"scenario": "offline"}, "scenario"),
        ({"benchmark": "llama3.1-8b", "model": "llama3.1-8b"}, {}, "benchmark-and-shape"),
        ({}, {"division": "open"}, "division"),
        ({}, {"validity": INVALID}, "validity"),
        (
            {"benchmark": "gptj-99", "model": "gptj", "round": "v4.1", "accuracy_track": "99"},
            {"benchmark": "gptj-99", "model": "gptj", "round": "v5.1", "accuracy_track": "99"},
            "round",
        ),
        ({}, {"power_run": True}, "power-run"),
        ({}, {"benchmark": "llama2-70b-99", "accuracy_track": "99"}, "accuracy-track"),
    ],
)
def test_compare_refuses(left, right, rule):
    """No ratio, and the rule that refuses is named."""
    answer = verdict(figure(1000.0, **left), figure(2000.0, **right))
    assert (answer.verdict, answer.ratio, answer.difference, answer.slack) == ("not-comparable", None, None, None)
    assert rule in rules_of(answer, "not-comparable")
    assert exit_code([answer]) == 1


@pytest.mark.parametrize(
    ("right", "rule"),
    [
        ({"availability": "preview"}, "availability"),
        ({"weight_precision": "fp8"}, "precision"),
        ({"accelerators": 72, "nodes": 9}, "scale"),
        ({}, "disclosure"),
    ],
)
def test_compare_qualifies(right, rule):
    """A ratio with a caveat."""
    answer = verdict(figure(3000.0), figure(2000.0, **right))
    assert (answer.verdict, answer.ratio) == ("comparable-with-caveats", 1.5)
    assert rule in rules_of(answer, "comparable-with-caveats")
    assert exit_code([answer]) == 0


@pytest.mark.parametrize(
    ("left", "right", "rule"),
    [
        ({"round": "v6.0"}, {"round": "v6.1"}, "round"),
        ({}, {"scenario": None}, "scenario"),
        ({}, {"benchmark": None}, "benchmark-and-shape"),
        ({}, {"accuracy_track": None}, "accuracy-track"),
        ({}, {"division": None}, "division"),
    ],
)
def test_compare_cannot_say(left, right, rule):
    """No ratio, no refusal: what is missing is named."""
    answer = verdict(figure(3000.0, **left), figure(2000.0, **right))
    assert (answer.verdict, answer.ratio) == ("unknown", None)
    assert rules_of(answer, "unknown") == {rule}
    assert exit_code([answer]) == 3


def test_unknown_comes_from_six_rules_only():
    """The table says which silence stops the answer: definition, scenario, work, track, round, division."""
    assert [rule.id for rule in RULES if rule.undisclosed == "unknown"] == [
        "metric-definition",
        "scenario",
        "benchmark-and-shape",
        "accuracy-track",
        "round",
        "division",
    ]


def test_two_figures_without_any_objection_are_comparable():
    """Everything disclosed and equal, the values apart."""
    answer = verdict(full(3000.0), full(2000.0))
    assert (answer.verdict, answer.findings) == ("comparable", ())
    assert (answer.ratio, answer.ratio_of, answer.difference, answer.slack) == (1.5, "left / right", "difference", 0.0)


def test_two_runs_of_ones_own_are_comparable():
    """An A/B test on one's own endpoint needs no review."""
    answer = verdict(own(4000.0), own(5000.0))
    assert (answer.verdict, answer.ratio, answer.difference) == ("comparable", 0.8, "difference")


def test_a_difference_within_the_slack_of_lengths_is_called_none():
    """The ratio is still given, with its slack beside it."""
    answer = verdict(
        figure(100_000.0, accuracy_tokens_per_sample=267.0), figure(105_000.0, accuracy_tokens_per_sample=290.8)
    )
    assert answer.difference == NO_DIFFERENCE
    assert answer.slack is not None
    assert isclose(answer.slack, 0.0891, abs_tol=1e-4)
    assert any(NO_DIFFERENCE in finding.message for finding in answer.findings)


def test_nothing_is_said_about_a_ratio_that_may_not_be_formed():
    """Slack and headroom are questions about a quotient."""
    answer = verdict(figure(1000.0), figure(1001.0, scenario="interactive"))
    assert {"shape-slack", "headroom"} & {finding.rule for finding in answer.findings} == set()


def test_a_ratio_of_latencies_has_no_shape_slack():
    """Slack concerns tokens/s."""
    left, right = (own(value, metric="loadgen-ttft.p99") for value in (1.0, 2.0))
    answer = verdict(left, right)
    assert (answer.ratio, answer.difference, answer.slack) == (0.5, None, None)


def test_a_value_of_zero_has_no_ratio():
    """Nothing is divided by zero, and zero is no fraction of anything."""
    assert verdict(full(0.0), full(5.0)).ratio is None
    assert verdict(full(5.0), full(0.0)).ratio is None


def test_a_ratio_per_accelerator_comes_on_request_with_its_basis():
    """8 chips at 1000 and 72 at 4500 are 2 to 1 per chip, and the sentence says what was divided by what."""
    left, right = full(1000.0), full(4500.0, accelerators=72, nodes=9)
    assert verdict(left, right).per_accelerator is None
    answer = verdict(left, right, per_accelerator=True)
    formula = "(1,000 tokens/s / 8 x MI355X, nodes 1) / (4,500 tokens/s / 72 x MI355X, nodes 9)"
    assert answer.per_accelerator == PerAccelerator(
        ratio=2.0, basis=derived_basis("The ratio of tokens/s per accelerator", formula)
    )
    assert answer.verdict == "comparable-with-caveats"


def test_a_ratio_per_accelerator_of_ones_own_runs_names_no_suite():
    """The basis of runs of no suite speaks of no suite."""
    answer = verdict(own(4000.0), own(5000.0), per_accelerator=True)
    assert answer.per_accelerator is not None
    assert answer.per_accelerator.basis == (
        "The ratio of tokens/s per accelerator is derived, not measured: "
        "(4,000 tokens/s / 8 x H100, nodes 1) / (5,000 tokens/s / 8 x H100, nodes 1)."
    )


def test_a_ratio_per_accelerator_is_refused_on_a_contested_count():
    """Who asks per accelerator about the 87 / 88 system is refused; who asks about the systems is not."""
    answer = verdict(full(1000.0), contested(2000.0), per_accelerator=True)
    assert (answer.verdict, answer.ratio, answer.per_accelerator) == ("not-comparable", None, None)
    assert rules_of(answer, "not-comparable") == {"per-accelerator"}
    assert verdict(full(1000.0), contested(2000.0)).ratio == 0.5


def test_all_pairs_in_the_order_given():
    """Three figures are three verdicts; one figure is a mistake."""
    a, b, c = full(1.0), full(2.0), full(3.0)
    assert [(v.left, v.right) for v in verdicts([a, b, c])] == [(a, b), (a, c), (b, c)]
    with pytest.raises(UsageError, match="found 1 figure, expected at least two"):
        verdicts([a])


def test_the_exit_code_is_the_worst():
    """0 yes, 1 no, 3 cannot say; no is worse than cannot say."""
    fine, unknown = verdict(full(1.0), full(2.0)), verdict(full(1.0), full(2.0, scenario=None))
    refused = verdict(full(1.0), full(2.0, division="open"))
    codes = [exit_code(answers) for answers in ([fine], [fine, unknown], [unknown, refused, fine], [])]
    assert codes == [0, 3, 1, 0]


@FEW
@given(any_figure, any_figure, st.booleans())
def test_the_verdict_does_not_depend_on_who_stands_left(left, right, per_accelerator):
    """Same verdict, findings mirrored, ratio inverted, same slack."""
    there = verdict(left, right, per_accelerator=per_accelerator)
    back = verdict(right, left, per_accelerator=per_accelerator)
    mirrored = [(f.rule, f.severity, f.right, f.left) for f in back.findings]
    assert [(f.rule, f.severity, f.left, f.right) for f in there.findings] == mirrored
    assert (there.verdict, there.slack, there.difference) == (back.verdict, back.slack, back.difference)
    assert (there.ratio is None) == (back.ratio is None)
    if there.ratio is not None and back.ratio is not None:
        assert isclose(there.ratio * back.ratio, 1.0)


@FEW
@given(any_figure, any_figure, st.booleans())
def test_the_verdict_is_the_worst_of_its_findings(left, right, per_accelerator):
    """And a ratio stands only under the two mild ones."""
    answer = verdict(left, right, per_accelerator=per_accelerator)
    assert answer.verdict == worst(answer.findings)
    assert (answer.ratio is not None) == (answer.verdict in RATIO_ALLOWED)
    assert all(SEVERITIES.index(f.severity) <= SEVERITIES.index(answer.verdict) for f in answer.findings)


@FEW
@given(any_figure, any_figure)
def test_unknown_findings_come_from_the_six_rules(left, right):
    """Whatever is undisclosed elsewhere, it is a caveat."""
    six = {"metric-definition", "scenario", "benchmark-and-shape", "accuracy-track", "round", "division"}
    assert rules_of(verdict(left, right), "unknown") <= six


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_a_figure_beside_itself_is_one_run_with_a_ratio_of_one(value):
    """Comparable, with the caveat that it says nothing."""
    answer = verdict(full(value), full(value))
    assert (answer.verdict, answer.ratio) == ("comparable-with-caveats", 1.0)
    assert "twins" in rules_of(answer, "comparable-with-caveats")


@FEW
@given(any_figure)
def test_a_figure_beside_itself_is_never_told_that_it_differs(one):
    """Only what is invalid or unknown about it may stop the answer."""
    refused = rules_of(verdict(one, one), "not-comparable")
    assert refused <= {"validity", "published-with-other"}
