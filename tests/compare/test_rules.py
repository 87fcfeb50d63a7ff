"""Every rule: what it objects to, what an undisclosed value does, what it leaves alone."""

import pytest
from msgspec.structs import replace

from caveat.compare import RULES, rule_named, verdict
from caveat.facts import CAUTION_SENTENCE
from caveat.figures import METRICS, Check, Figure, Provenance, Row
from tests.compare.figures_of_two import contested, figure, full, own

CAVEAT, UNKNOWN, REFUSED = "comparable-with-caveats", "unknown", "not-comparable"


def asked(rule: str, left: Figure, right: Figure):
    return tuple(rule_named(rule).ask(left, right))


def failing(outcome, aspect="harness verdict", sentence="INVALID", metrics=()):
    return (Check(aspect=aspect, outcome=outcome, sentence=sentence, metrics=metrics),)


# rule, changes on the left, changes on the right, severity, left text, right text
DIFFERENT: tuple[tuple[str, dict[str, object], dict[str, object], str, str, str], ...] = (
    ("scenario", {}, {"scenario": "offline"}, REFUSED, "server", "offline"),
    ("benchmark-and-shape", {}, {"benchmark": "llama3.1-8b"}, REFUSED, "llama2-70b-99.9", "llama3.1-8b"),
    ("accuracy-track", {}, {"accuracy_track": "99"}, REFUSED, "99.9", "99"),
    ("round", {"round": "v5.1"}, {"round": "v6.0"}, CAVEAT, "v5.1", "v6.0"),
    ("round", {"round": "v6.0"}, {}, UNKNOWN, "v6.0", "v6.1"),
    ("round", {"round": "v6.0"}, {"round": "6th"}, UNKNOWN, "v6.0", "6th"),
    ("division", {}, {"division": "open"}, REFUSED, "closed", "open"),
    ("availability", {}, {"availability": "preview"}, CAVEAT, "available", "preview"),
    ("system-type", {}, {"system_type": "edge"}, CAVEAT, "datacenter", "edge"),
    ("power-run", {}, {"power_run": True}, REFUSED, "no", "yes"),
    ("latency-limits", {}, {"tpot_limit_s": 0.1}, REFUSED, "TTFT 2 s, TPOT 200 ms", "TTFT 2 s, TPOT 100 ms"),
    (
        "latency-limits",
        {"limit_percentile": 0.99},
        {"limit_percentile": 0.9},
        REFUSED,
        "TTFT 2 s, TPOT 200 ms at p99",
        "TTFT 2 s, TPOT 200 ms at p90",
    ),
    ("reviewed-with-unverified", {}, {"review": "unverified"}, CAVEAT, "reviewed", "unverified"),
    (
        "reviewed-with-unverified",
        {"review": "self-reported"},
        {"review": "simulated"},
        CAVEAT,
        "self-reported",
        "simulated",
    ),
    ("precision", {}, {"weight_precision": "fp8"}, CAVEAT, "fp4", "fp8"),
    ("precision", {"kv_cache_precision": "fp8"}, {"kv_cache_precision": "bf16"}, CAVEAT, "fp8", "bf16"),
    ("scale", {}, {"accelerators": 72, "nodes": 9}, CAVEAT, "8 x MI355X, nodes 1", "72 x MI355X, nodes 9"),
    (
        "scale",
        {"nodes": 2, "accelerators_per_node": 4},
        {},
        CAVEAT,
        "8 x MI355X, nodes 2",
        "8 x MI355X, nodes 1",
    ),
    ("cache-state", {"prefix_caching": "on"}, {}, CAVEAT, "on", "off"),
    ("cache-state", {"prefix_reuse": "none"}, {"prefix_reuse": "half"}, REFUSED, "none", "half"),
    ("techniques", {"speculative_decoding": "on"}, {"speculative_decoding": "off"}, CAVEAT, "on", "off"),
    (
        "headroom",
        {"headroom_ttft": 0.32, "headroom_tpot": 0.35},
        {"headroom_ttft": 0.73, "headroom_tpot": 0.76},
        CAVEAT,
        "p99 TTFT at 32 % of its limit and p99 TPOT at 35 % of its limit",
        "p99 TTFT at 73 % of its limit and p99 TPOT at 76 % of its limit",
    ),
)

UNDISCLOSED: tuple[tuple[str, dict[str, object], str], ...] = (
    ("scenario", {"scenario": None}, UNKNOWN),
    ("benchmark-and-shape", {"benchmark": None}, UNKNOWN),
    ("accuracy-track", {"accuracy_track": None}, UNKNOWN),
    ("round", {"round": None}, UNKNOWN),
    ("division", {"division": None}, UNKNOWN),
    ("availability", {"availability": None}, CAVEAT),
    ("system-type", {"system_type": None}, CAVEAT),
    ("power-run", {"power_run": None}, CAVEAT),
    ("latency-limits", {"ttft_limit_s": None, "tpot_limit_s": None}, CAVEAT),
    ("reviewed-with-unverified", {"review": None}, CAVEAT),
    ("published-with-other", {"suite": None}, REFUSED),
    ("validity", {"validity": ()}, CAVEAT),
    ("precision", {"weight_precision": None}, CAVEAT),
    ("scale", {"accelerators": None}, CAVEAT),
    ("scale", {"accelerator": None}, CAVEAT),
    ("per-accelerator", {"accelerators": None}, REFUSED),
    ("per-accelerator", {"accelerator": None}, REFUSED),
    ("disclosure", {"speculative_decoding": None}, CAVEAT),
    ("shape-slack", {"accuracy_tokens_per_sample": None, "output_tokens": None}, CAVEAT),
    ("headroom", {"headroom_ttft": None, "headroom_tpot": None}, CAVEAT),
)


@pytest.mark.parametrize(("rule", "left", "right", "severity", "left_text", "right_text"), DIFFERENT)
def test_a_difference_is_a_finding_that_names_the_rule_and_both_values(
    rule, left, right, severity, left_text, right_text
):
    """One condition differs: one finding, with both values in the texts and in the sentence."""
    (finding,) = asked(rule, figure(**left), figure(**right))
    assert (finding.rule, finding.severity, finding.left, finding.right) == (rule, severity, left_text, right_text)
    assert f"{left_text} on the left" in finding.message
    assert f"{right_text} on the right" in finding.message
    assert finding.remedy


@pytest.mark.parametrize(("rule", "right", "severity"), UNDISCLOSED)
def test_an_undisclosed_value_does_what_the_table_says(rule, right, severity):
    """The catalogue promises a severity for each rule; one silent side brings it."""
    (finding,) = asked(rule, full(1.0), full(2.0, **right))
    assert finding.severity == severity == rule_named(rule).undisclosed
    assert finding.remedy


@pytest.mark.parametrize(("rule", "right", "severity"), UNDISCLOSED)
def test_two_undisclosed_values_are_not_taken_for_equal(rule, right, severity):
    """Unknown beside unknown is unknown, never the same (two figures of no known review or suite are not published)."""
    findings = asked(rule, full(1.0, **right), full(2.0, **right))
    if rule == "published-with-other":
        assert findings == ()
    else:
        assert [finding.severity for finding in findings] == [severity]


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.about != "per accelerator"])
def test_two_runs_that_agree_in_everything_meet_no_objection(rule):
    """Every condition disclosed and equal, limits nearly reached, values far apart: nothing to say."""
    assert asked(rule, full(1000.0), full(2000.0)) == ()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.about != "per accelerator"])
def test_another_accelerator_is_no_objection(rule):
    """Hardware is what people compare."""
    assert asked(rule, full(1000.0), full(2000.0, accelerator="B200")) == ()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.about != "per accelerator"])
def test_two_runs_of_ones_own_are_compared_normally(rule):
    """No round, no division, no review: for runs of no suite these are no gaps."""
    assert asked(rule, own(4000.0), own(5000.0)) == ()


def test_runs_of_ones_own_need_not_say_that_a_round_does_not_apply():
    """Undisclosed on both sides of two runs of no suite raises no question of rounds, divisions or tracks."""
    left, right = own(4000.0, not_applicable=()), own(5000.0, not_applicable=())
    for rule in ("round", "division", "accuracy-track", "availability", "power-run", "system-type"):
        assert asked(rule, left, right) == ()


def test_metric_definition_refuses_two_formulas_and_lists_what_both_runs_hold():
    """The way out is a metric that both runs have."""
    ttft = Row(metric="loadgen-ttft.p99", value=1.0)
    left, right = figure(rows=(ttft,)), figure(scenario="offline", rows=(ttft,))
    (finding,) = asked("metric-definition", left, right)
    assert (finding.severity, finding.left, finding.right) == (
        REFUSED,
        "loadgen-completed-tokens-rate",
        "loadgen-offline-tokens-rate",
    )
    assert finding.remedy == "compare a metric that both runs hold: loadgen-ttft.p99"


def test_metric_definition_cannot_say_where_no_definition_was_stated():
    """'106,517 tokens/s' from a slide has no formula, no window and nobody who counted."""
    slide = own(106517.0, metric="undisclosed-tokens-rate")
    for other in (slide, figure()):
        (finding,) = asked("metric-definition", slide, other)
        assert finding.severity == UNKNOWN
    (finding,) = asked("token-source", slide, figure())
    assert (finding.severity, finding.left) == (CAVEAT, "undisclosed")


def test_token_source_refuses_counted_beside_assumed_and_names_assumed_beside_assumed():
    """GPT-J's tokens/s are 69 times its samples/s."""
    assumed = figure(metric="loadgen-completed-tokens-rate-inferred")
    (refused,) = asked("token-source", assumed, figure())
    (named,) = asked("token-source", assumed, assumed)
    assert (refused.severity, named.severity) == (REFUSED, CAVEAT)
    assert "assumed, not counted" in named.message


def test_benchmark_leaves_accuracy_tracks_and_folder_names_to_other_rules():
    """99 and 99.9, with or without the track in the name, are one benchmark to this rule."""
    for name in ("llama2-70b-99", "llama2-70b", "LLAMA2-70B-99.9"):
        assert asked("benchmark-and-shape", figure(), figure(benchmark=name)) == ()


def test_shape_decides_where_no_benchmark_does():
    """Mean lengths within a tenth are one shape class; beyond that, another workload; unstated, unknown."""
    near = {"output_tokens": {"mean": 140.0}}
    far = {"output_tokens": {"mean": 141.0}}
    unstated = {"output_tokens": {"p50": 128.0}}
    assert asked("benchmark-and-shape", own(), own(**near)) == ()
    (refused,) = asked("benchmark-and-shape", own(), own(**far))
    (unknown,) = asked("benchmark-and-shape", own(), own(**unstated))
    assert (refused.severity, refused.left, refused.right) == (
        REFUSED,
        "mean input 512.0 tokens, mean output 128.0 tokens",
        "mean input 512.0 tokens, mean output 141.0 tokens",
    )
    assert (unknown.severity, unknown.right) == (UNKNOWN, "mean input 512.0 tokens, mean output undisclosed")


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"model": "llama2-70b"}, REFUSED),
        ({"model": None}, UNKNOWN),
        ({"dataset": "another trace"}, CAVEAT),
    ],
)
def test_ones_own_runs_need_one_model_and_name_their_data(changes, severity):
    """Tokens of two models are not one unit; another data set of the same mean lengths is a caveat."""
    assert [f.severity for f in asked("benchmark-and-shape", own(), own(**changes))] == [severity]


def test_a_benchmark_is_not_a_shape():
    """A run of no benchmark beside a benchmark is another work, whatever its lengths."""
    (finding,) = asked("benchmark-and-shape", figure(), own())
    assert (finding.severity, finding.left, finding.right) == (REFUSED, "llama2-70b-99.9", "not applicable")


def test_accuracy_track_of_a_benchmark_without_tracks_is_no_question():
    """llama3.1-8b has one track, so an importer that says nothing about it leaves no gap."""
    left, right = (figure(value, benchmark="llama3.1-8b", accuracy_track=None) for value in (1.0, 2.0))
    assert asked("accuracy-track", left, right) == ()


def test_accuracy_track_points_to_the_other_row_where_two_rows_are_one_run():
    """One log filed on both tracks stays two benchmarks, with a way out."""
    strict = figure(fingerprint="aa")
    loose = figure(fingerprint="aa", benchmark="llama2-70b-99", accuracy_track="99")
    (finding,) = asked("accuracy-track", strict, loose)
    assert finding.severity == REFUSED
    assert "the two rows are one run" in finding.remedy


def test_rounds_are_looked_up_in_the_dated_table():
    """Inside a range they are compatible, outside they are not, beyond the table nobody knows: the date is named."""
    gptj = {"benchmark": "gptj-99", "model": "gptj", "accuracy_track": "99"}
    (inside,) = asked("round", figure(round="v4.1", **gptj), figure(round="v5.0", **gptj))
    (outside,) = asked("round", figure(round="v4.1", **gptj), figure(round="v5.1", **gptj))
    (beyond,) = asked("round", figure(round="v6.0"), figure(round="v6.1"))
    assert [finding.severity for finding in (inside, outside, beyond)] == [CAVEAT, REFUSED, UNKNOWN]
    assert all("2026-04-28" in finding.message for finding in (inside, outside, beyond))


def test_one_round_is_compatible_with_itself_beyond_the_table():
    """v6.1 beside v6.1 needs no table."""
    assert asked("round", figure(round="v6.1"), figure(round="v6.1")) == ()


def test_rounds_of_the_edge_category_are_not_in_the_table():
    """The table that caveat holds is of the datacenter suite."""
    left, right = (figure(round=name, system_type="edge") for name in ("v5.0", "v5.1"))
    (finding,) = asked("round", left, right)
    assert finding.severity == UNKNOWN
    assert "datacenter" in finding.message


def test_rounds_of_two_benchmarks_are_left_to_the_benchmark_rule():
    """The table has a row for one model."""
    assert asked("round", figure(round="v6.0"), figure(benchmark="llama3.1-8b")) == ()


def test_two_open_results_carry_a_caveat_with_what_was_submitted():
    """Each may depart from the benchmark in its own way."""
    left, right = (figure(division="open", model_submitted=name) for name in ("pruned-70b", "distilled-8b"))
    (finding,) = asked("division", left, right)
    assert (finding.severity, finding.left, finding.right) == (CAVEAT, "pruned-70b", "distilled-8b")


@pytest.mark.parametrize("types", [("datacenter", "datacenter,edge"), ("edge, datacenter", "edge")])
def test_a_system_in_both_categories_goes_with_either(types):
    """datacenter,edge shares a category with each."""
    assert asked("system-type", figure(system_type=types[0]), figure(system_type=types[1])) == ()


def test_validity_refuses_an_invalid_run_and_says_why():
    """A harness verdict of INVALID ends the comparison."""
    (finding,) = asked("validity", figure(), figure(validity=failing("fail")))
    assert (finding.severity, finding.left, finding.right) == (
        REFUSED,
        "reviewed, log not seen",
        "failed (harness verdict: INVALID)",
    )


@pytest.mark.parametrize(
    "validity",
    [failing("unknown"), failing("fail", "sources agree"), failing("fail", "schedule"), failing("not applicable")],
)
def test_validity_in_doubt_is_a_caveat(validity):
    """Entries that could not be judged, and contested sources, do not refuse."""
    (finding,) = asked("validity", figure(), figure(validity=validity))
    assert finding.severity == CAVEAT


def test_validity_counts_per_metric():
    """An error that concerns TPOT leaves the rate valid."""
    validity = (*failing("fail", metrics=("loadgen-tpot.p99",)), Check(aspect="harness verdict", outcome="pass"))
    assert asked("validity", figure(), figure(validity=validity)) == ()


def test_the_caution_sentence_is_printed_as_prescribed():
    """Reviewed beside unverified carries MLCommons' own words."""
    (finding,) = asked("reviewed-with-unverified", figure(), figure(review="unverified"))
    assert finding.message.endswith(CAUTION_SENTENCE)


def test_two_unverified_runs_raise_no_question_of_review_and_two_sellers_claims_do():
    """One's own two runs are fine; what sellers say about themselves is named."""
    assert asked("reviewed-with-unverified", own(1.0), own(2.0)) == ()
    (claims,) = asked("reviewed-with-unverified", own(1.0, review="self-reported"), own(2.0, review="self-reported"))
    assert claims.severity == CAVEAT


@pytest.mark.parametrize(
    "other",
    [
        own(),
        own(origin="simulated", suite="MLPerf Inference", review="simulated"),
        own(suite="MLPerf Endpoints", review="reviewed"),
        own(suite="another suite", review="reviewed"),
    ],
)
def test_a_published_submission_goes_with_its_own_suite_only(other):
    """Measured by other means, modelled, or of another suite: refused."""
    (finding,) = asked("published-with-other", figure(), other)
    assert finding.severity == REFUSED


def test_an_unreviewed_run_of_the_suite_is_left_to_the_caution_sentence():
    """A run of the official harness that nobody reviewed is an unverified result of the suite."""
    assert asked("published-with-other", figure(), own(suite="MLPerf Inference")) == ()


def test_one_limit_stated_on_one_side_only_is_a_caveat():
    """Equal TPOT limits, and a TTFT limit that the other side does not mention."""
    (finding,) = asked("latency-limits", figure(), figure(ttft_limit_s=None))
    assert (finding.severity, finding.right) == (CAVEAT, "TPOT 200 ms")


@pytest.mark.parametrize("key", ["ttft_limit_s", "tpot_limit_s"])
def test_limits_that_do_not_apply_beside_limits_that_do_are_different(key):
    """Not applicable is a statement, unlike silence."""
    limitless = own(not_applicable=("ttft_limit_s", "tpot_limit_s", "latency_limit_s"))
    (finding,) = asked("latency-limits", own(**{key: 1.0}), limitless)
    assert (finding.severity, finding.right) == (REFUSED, "not applicable")


def test_number_formats_are_compared_as_sets():
    """fp16,fp8 and FP8, fp16 are one statement."""
    assert asked("precision", figure(weight_precision="fp16,fp8"), figure(weight_precision="FP8, fp16")) == ()


def test_a_contested_count_is_shown_with_all_its_claims():
    """87 in the text, 88 by multiplication: neither is believed."""
    (finding,) = asked("scale", figure(), contested())
    assert finding.right == "contested (87 by text, 88 by nodes x accelerators) x MI355X, nodes 1"
    assert finding.severity == CAVEAT


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (contested(), "its sources disagree about the number of accelerators (87 by text, 88 by nodes x accelerators)"),
        (figure(accelerators=87, nodes=11), "(87 stated, 11 nodes x 8 = 88)"),
        (figure(accelerator="H200+MI350X"), "it mixes accelerators (H200+MI350X)"),
        (figure(accelerators=0), "its number of accelerators is 0"),
    ],
)
def test_no_value_per_accelerator_where_the_count_is_in_doubt(other, why):
    """A doubt about the count would be a doubt in the quotient that nobody sees."""
    (finding,) = asked("per-accelerator", figure(), other)
    assert finding.severity == REFUSED
    assert why in finding.message


def test_no_latency_per_accelerator():
    """A latency does not grow with the number of chips."""
    latency = Figure(figure(rows=(Row(metric="loadgen-ttft.p99", value=1.0),)).run, "loadgen-ttft.p99")
    (finding,) = asked("per-accelerator", latency, latency)
    assert (finding.severity, "is not a rate" in finding.message) == (REFUSED, True)


def test_an_allowed_value_per_accelerator_carries_its_basis():
    """Derived, with the formula, and never official."""
    (finding,) = asked("per-accelerator", figure(accelerators=8), figure(accelerators=72, nodes=9))
    assert finding.severity == CAVEAT
    assert "72 x MI355X, nodes 9" in finding.message
    assert "neither official nor verified" in finding.message


def test_caching_beside_silence_is_a_caveat_and_silence_beside_silence_is_disclosures():
    """Prefix caching on, and nothing said on the other side."""
    silent = {"prefix_caching": None}
    (finding,) = asked("cache-state", figure(prefix_caching="on"), figure(**silent))
    assert (finding.severity, finding.right) == (CAVEAT, "undisclosed")
    assert asked("cache-state", figure(**silent), figure(**silent)) == ()


@pytest.mark.parametrize("key", ["prefix_reuse", "sessions"])
def test_reuse_stated_on_one_side_only_is_a_caveat_for_ones_own_runs(key):
    """What requests share can be saved by a cache."""
    (finding,) = asked("cache-state", own(), own(**{key: None}))
    assert finding.severity == CAVEAT == rule_named("cache-state").undisclosed


def test_loops_and_arrivals_of_ones_own_runs_must_agree():
    """Closed beside open refuses, silence is a caveat, and a suite's scenarios settle it themselves."""
    (refused,) = asked("loop", own(), own(loop="closed"))
    (bursty,) = asked("loop", own(), own(arrivals="gamma(2)"))
    (silent,) = asked("loop", own(), own(loop=None))
    assert [finding.severity for finding in (refused, bursty, silent)] == [REFUSED, REFUSED, CAVEAT]
    assert silent.severity == rule_named("loop").undisclosed
    assert asked("loop", figure(), figure(scenario="offline", loop="burst")) == ()


def test_latencies_are_read_at_their_load_and_from_one_clock():
    """p99 TTFT at 10/s beside 20/s is a caveat; from the schedule beside from the sending is refused."""
    ttft = {"metric": "loadgen-ttft.p99"}
    (load,) = asked("loop", own(1.0, target_qps=10.0, **ttft), own(2.0, target_qps=20.0, **ttft))
    (clock,) = asked("loop", own(1.0, latency_clock="scheduled", **ttft), own(2.0, latency_clock="sent", **ttft))
    assert (load.severity, clock.severity) == (CAVEAT, REFUSED)


def test_a_rate_of_ones_own_is_read_at_the_rate_that_was_offered():
    """Twice the rate at twice the offer is a caveat; of published runs the headroom rule speaks."""
    (load,) = asked("loop", own(1.0, target_qps=10.0), own(2.0, target_qps=20.0))
    assert (load.severity, load.left, load.right) == (CAVEAT, "10", "20")
    assert asked("loop", figure(target_qps=10.0), figure(target_qps=20.0)) == ()


def test_a_latency_beside_a_rate_raises_no_question_of_load_whichever_comes_first():
    """Their definitions differ, which is refused elsewhere; the loads of the two are no further objection."""
    ttft = Row(metric="loadgen-ttft.p99", value=1.0)
    late, fast = Figure(figure(rows=(ttft,), target_qps=10.0).run, ttft.metric), figure(target_qps=20.0)
    assert asked("loop", late, fast) == asked("loop", fast, late) == ()


def test_ones_own_runs_without_arrivals_cannot_be_placed():
    """Neither scenario nor arrivals on a side: nobody can say what the rate was a rate of."""
    placed, nowhere = own(scenario=None), own(scenario=None, arrivals=None)
    (both,), (one,) = asked("scenario", nowhere, nowhere), asked("scenario", placed, nowhere)
    assert (both.severity, one.severity) == (UNKNOWN, UNKNOWN)
    assert asked("scenario", placed, placed) == ()
    assert verdict(nowhere, nowhere).ratio is None


def test_a_figure_without_tokens_raises_no_question_of_who_counted():
    """Samples/s beside tokens/s: the definitions differ, and nobody counted differently."""
    samples = Row(metric="loadgen-completed-samples-rate", value=375.0)
    run = figure(rows=(samples,)).run
    assert asked("token-source", Figure(run, samples.metric), figure()) == ()


def test_disclosure_names_the_techniques_and_the_share_that_is_known():
    """The published tables say little: the finding says how little."""
    (finding,) = asked("disclosure", full(1.0), full(2.0, speculative_decoding=None, disaggregation=None))
    assert "speculative decoding, disaggregation" in finding.message
    assert finding.left.endswith("conditions disclosed, 0 of 7 techniques undisclosed")
    assert finding.right.endswith("conditions disclosed, 2 of 7 techniques undisclosed")


def test_a_secondary_value_says_what_it_is_secondary_to():
    """p99 TTFT of a published run is not its official metric."""
    run = figure(rows=(Row(metric="loadgen-ttft.p99", value=1.0),)).run
    (finding,) = asked("derived-value", Figure(run, "loadgen-ttft.p99"), figure())
    assert (finding.severity, finding.left) == (CAVEAT, "secondary to loadgen-completed-tokens-rate")


def test_derived_values_and_unknown_primaries_are_named():
    """A derived run carries its formula; where nobody says which metric was published, that is the undisclosed case."""
    run = figure().run
    derived = replace(run, provenance=Provenance(origin="derived", formula="a / b", inputs=("x", "y")))
    unknown = replace(run, primary=None)
    key = "loadgen-completed-tokens-rate"
    (first,) = asked("derived-value", Figure(derived, key), figure())
    (second,) = asked("derived-value", Figure(unknown, key), figure())
    (third,) = asked("derived-value", *[own(metric="tokens-per-sample.mean")] * 2)
    assert (first.left, second.left) == ("derived as a / b", "not known to be the primary metric")
    assert third.left.startswith("derived: token rate / sample rate")
    assert first.severity == second.severity == rule_named("derived-value").undisclosed


@pytest.mark.parametrize(
    ("left", "right", "how"),
    [
        ({}, {}, "one document"),
        ({}, {"engine": "vLLM 0.21"}, "two documents of one subject"),
        ({"fingerprint": "aa"}, {"fingerprint": "aa", "platform": "renamed"}, "one log"),
        ({}, {"benchmark": "llama2-70b-99", "accuracy_track": "99"}, "equal values of one system on two tracks"),
    ],
)
def test_one_run_in_two_places_is_called_one_run(left, right, how):
    """Documents, subjects, logs and equal values on two tracks."""
    (finding,) = asked("twins", figure(**left), figure(**right))
    assert finding.severity == CAVEAT
    assert f"one run ({how})" in finding.message


def test_two_logs_with_equal_values_are_two_runs():
    """A fingerprint is believed before a coincidence of values."""
    loose = figure(benchmark="llama2-70b-99", accuracy_track="99", fingerprint="bb")
    assert asked("twins", figure(fingerprint="aa"), loose) == ()


def test_a_smaller_difference_than_the_lengths_is_no_difference():
    """267.0 and 290.8 tokens a sample are 8.9 % apart: rates 5 % apart say nothing."""
    left = figure(100_000.0, accuracy_tokens_per_sample=267.0)
    right = figure(105_000.0, accuracy_tokens_per_sample=290.8)
    (finding,) = asked("shape-slack", left, right)
    assert finding.severity == CAVEAT
    assert "no difference beyond shape slack" in finding.message
    assert "5 %" in finding.message
    assert "8.9 %" in finding.message
    assert finding.left == "267.0 tokens a sample (accuracy run)"


def test_a_larger_difference_than_the_lengths_needs_no_word():
    """Rates 20 % apart stand out from a slack of 8.9 %."""
    left = figure(100_000.0, accuracy_tokens_per_sample=267.0)
    assert asked("shape-slack", left, figure(120_000.0, accuracy_tokens_per_sample=290.8)) == ()


def test_lengths_of_two_kinds_of_run_are_not_mixed():
    """A performance length beside an accuracy length is no slack."""
    left = figure(accuracy_tokens_per_sample=None, output_tokens={"mean": 280.0})
    (finding,) = asked("shape-slack", left, figure(1.0))
    assert (finding.left, finding.right) == ("280.0 (performance run)", "280.0 (accuracy run)")
    assert finding.message.startswith("Shape slack unknown")


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (0.3, 0.9, "on the left is a floor"),
        (0.9, 0.3, "on the right is a floor"),
        (0.3, 0.3, "Both rates are floors"),
        (None, 0.9, "not known on both sides"),
    ],
)
def test_a_rate_far_below_its_limits_is_a_floor(left, right, words):
    """And the finding says in which direction the ratio may be off."""
    sides = [figure(value, headroom_ttft=share, headroom_tpot=share) for value, share in ((1.0, left), (2.0, right))]
    (finding,) = asked("headroom", *sides)
    assert words in finding.message


def test_one_latency_near_its_limit_is_enough():
    """A run that exhausts one of its limits is no floor; half of the picture below it is not known."""
    (half,) = asked("headroom", full(1.0), figure(headroom_ttft=0.2))
    assert "not known" in half.message
    assert asked("headroom", full(1.0), figure(headroom_ttft=0.2, headroom_tpot=0.6)) == ()
    assert asked("headroom", figure(1.0, scenario="offline"), figure(2.0, scenario="offline")) == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_text_from_vendors_cannot_steer_a_terminal(rule):
    """Escape sequences, bidirectional overrides and line breaks do not reach a finding."""
    evil = "\x1b[31m\u202e<script>\n\t=cmd|'/c calc'!A1\x07" + "x" * 500
    keys = ("benchmark", "round", "accelerator", "review", "suite", "weight_precision", "arrivals", "prefix_reuse")
    open_text = [key for key in keys if key != "review"]
    validity = failing("fail", sentence=evil)
    left, right = figure(validity=validity, **dict.fromkeys(open_text, evil)), own(loop="closed")
    for finding in rule.ask(left, right):
        for text in (finding.message, finding.left, finding.right, finding.remedy):
            assert text.isprintable()
            assert len(finding.left) < 400


def test_every_rule_is_triggered_by_a_case_above():
    """A rule without a case would be a rule that nobody has seen at work."""
    in_tables = {case[0] for case in DIFFERENT} | {case[0] for case in UNDISCLOSED}
    by_hand = {"metric-definition", "token-source", "loop", "cache-state", "derived-value", "twins"}
    assert in_tables | by_hand == {rule.id for rule in RULES}


def test_every_metric_says_who_counted():
    """token-source compares words, so an empty one would pass unseen."""
    assert all(metric.token_source for metric in METRICS.values())
