"""A run in three sentences: asked, delivered, judged; what is not known is left out, never guessed."""

import msgspec
import pytest

from caveat.cli.measured_words import asked, delivered, judged, why_not
from caveat.figures import Check, Conditions, Provenance, Row, Run, conditions_of

LIMITS = {"ttft_limit_s": 2.0, "tpot_limit_s": 0.2, "limit_percentile": 0.9}
LENGTHS = {"input_tokens_requested": {"mean": 512.0}, "output_tokens_requested": {"mean": 64.0}}


def run_of(conditions=None, rows=(), checks=()):
    return Run(
        subject="measured/1",
        conditions=conditions_of(conditions or {}),
        provenance=Provenance(origin="measured", sources=()),
        rows=tuple(rows),
        validity=tuple(Check(aspect=aspect, outcome=outcome, sentence=said) for aspect, outcome, said in checks),
    )


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [
        (
            {"target_qps": 20.0, "arrivals": "poisson", "loop": "open", **LENGTHS, **LIMITS},
            "Asked: 20 requests/s (poisson, open loop), 512 tokens in and 64 out, p90 TTFT within 2 s and TPOT within "
            "200 ms.",
        ),
        (
            {"concurrency": 8, "loop": "closed", "output_tokens_requested": {"mean": 64.0}},
            "Asked: 8 in flight (closed loop), 64 tokens out.",
        ),
        ({"arrivals": "all at once", "loop": "burst"}, "Asked: all at once, burst loop."),
        ({"target_qps": 0.5, "latency_limit_s": 20.0}, "Asked: 0.5 requests/s, latency within 20 s."),
        ({}, "Asked: undisclosed."),
    ],
)
def test_what_was_asked(conditions, sentence):
    """Load, shape and limits, as far as they are known."""
    assert asked(run_of(conditions)) == sentence


def test_what_was_delivered():
    """Rates, how many succeeded, and how near the limits came at the percentile that they are on."""
    rows = [
        Row(metric="caveat-request-rate", value=19.82, n=424),
        Row(metric="caveat-output-tokens-rate-usage", value=1269.0, n=424),
        Row(metric="caveat-error-rate", value=4 / 428, n=428),
    ]
    near = {"headroom_ttft": 0.404, "headroom_tpot": 1.2, "limit_percentile": 0.95}
    assert delivered(run_of(near, rows)) == (
        "Delivered: 19.82 requests/s, 1,269 tokens/s; 424 of 428 requests succeeded; p95 TTFT at 40 % and TPOT at "
        "120 % of their limits."
    )
    one = {"headroom_latency": 0.5}
    assert delivered(run_of(one)) == "Delivered: latency at 50 % of its limit."
    assert delivered(run_of()) == "Delivered: nothing that a figure could be made of."
    modelled = msgspec.structs.replace(run_of(None, rows[:1]), provenance=Provenance(origin="simulated", sources=()))
    assert delivered(modelled) == "Simulated: 19.82 requests/s."


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        (("pass", "pass"), "Valid: 2 of 2 checks passed."),
        (("pass", "not applicable"), "Valid: 1 of 1 check passed."),
        (("pass", "unknown"), "Valid as far as it can be told: 1 of 2 checks passed; undecided: arrivals."),
        (("unknown", "fail"), "Not valid: 0 of 2 checks passed; failed: arrivals; undecided: client health."),
    ],
)
def test_the_verdict_counts_and_names(outcomes, sentence):
    """Undecided is not passed."""
    checks = zip(("client health", "arrivals"), outcomes, ("", ""), strict=True)
    assert judged(run_of(checks=checks)) == sentence


def test_reasons_are_failures_and_of_a_scenario_how_many_more_queries_first():
    """What is undecided keeps a scenario alone from being valid."""
    checks = [("error rate", "fail", "9 failed."), ("early stopping (TTFT)", "unknown", "Would need at least 9.")]
    assert why_not(run_of(checks=checks[:1])) == ("error rate: 9 failed.",)
    scenario = run_of({"scenario": "server"}, checks=[*checks, ("minimum duration", "pass", "")])
    assert why_not(scenario)[0] == "early stopping (TTFT): Would need at least 9."
    assert len(why_not(scenario)) == 2


def test_a_run_without_conditions_is_judged():
    """An empty document is no error."""
    assert judged(msgspec.structs.replace(run_of(), conditions=Conditions())) == "Valid: 0 of 0 checks passed."
