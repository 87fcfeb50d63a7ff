import re
from pathlib import Path

import pytest

import caveat.caveats
from caveat.caveats import CATALOGUE, applying, caveat_named, sentences
from caveat.errors import NotFoundError
from tests.builders import published_run
from tests.caveats.cases import CASES, contested, figure, offline, own, primary

IDS = tuple(caveat.id for caveat in CATALOGUE)
HOSTILE = "\x1b[31mred\x1b[0m\r\n<script>alert(1)</script> | `x` \u202eevil\u2028next"


def cases(which: int):
    return [
        pytest.param(caveat, make, id=f"{caveat}-{at}")
        for caveat, both in CASES.items()
        for at, make in enumerate(both[which])
    ]


def test_every_caveat_has_its_module_and_its_cases():
    """The table is complete: one module, one line and one pair of cases for each id."""
    modules = {path.stem.replace("_", "-") for path in Path(caveat.caveats.__file__).parent.glob("*.py")}
    assert len(set(IDS)) == len(IDS)
    assert set(IDS) <= modules
    assert set(CASES) == set(IDS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in IDS)


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(("name", "make"), cases(0))
def test_a_caveat_applies_to_the_figures_that_it_means(name, make):
    """Each predicate says yes where it should."""
    assert name in [caveat.id for caveat in applying(make())]


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(("name", "make"), cases(1))
def test_a_caveat_leaves_other_figures_alone(name, make):
    """Each predicate says no next door."""
    assert name not in [caveat.id for caveat in applying(make())]


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(("name", "make"), cases(0))
def test_a_sentence_is_one_sentence_on_one_line(name, make):
    """What travels with a figure is short, ends in a full stop and has no placeholder left."""
    sentence = dict(sentences(make()))[name]
    assert sentence.endswith(".")
    assert len(sentence) < 300
    assert not re.search(r"[{}\n]|None|  ", sentence)


def test_the_sentences_of_a_published_server_figure():
    """The whole that travels with one figure, in the order of the catalogue."""
    assert [name for name, _ in sentences(figure())] == [
        "server-rate-is-a-floor",
        "no-stable-scenario-discount",
        "limits-differ",
        "poisson-at-a-chosen-rate",
        "fixed-shape-is-not-your-traffic",
        "tokens-of-two-shapes",
        "shape-slack",
        "accuracy-track",
        "one-tuned-configuration",
        "techniques-undisclosed",
        "per-accelerator-is-derived",
        "good-as-a-floor",
        "good-for-like-with-like",
        "good-for-spotting-a-fault",
    ]


@pytest.mark.parametrize(
    ("name", "of", "words"),
    [
        (
            "server-rate-is-a-floor",
            figure(headroom_ttft=0.32, headroom_tpot=0.35),
            "p99 TTFT was 32 % of its limit and p99 TPOT was 35 % of its limit: the rate asked for left much room",
        ),
        (
            "server-rate-is-a-floor",
            figure(headroom_ttft=0.73, headroom_tpot=0.96),
            "near the highest that this configuration could have passed with",
        ),
        ("limits-differ", figure(limit_percentile=0.99), "(p99 TTFT 2 s, TPOT 200 ms)"),
        ("limits-differ", figure(ttft_limit_s=None, tpot_limit_s=None), "undisclosed"),
        ("poisson-at-a-chosen-rate", figure(target_qps=39.5), "Poisson at 39.5 requests/s"),
        ("poisson-at-a-chosen-rate", figure(), "open loop"),
        (
            "fixed-shape-is-not-your-traffic",
            figure(output_tokens={"mean": 267.0}),
            "OpenOrca (input of at most 1,024 tokens; output cut at 1,024; 267.0 output tokens a request in this run)",
        ),
        ("shape-slack", figure(output_tokens={"mean": 267.0}), "267.0 tokens a request in the performance run"),
        ("shape-slack", figure(accuracy_tokens_per_sample=None), "undisclosed (the rules allow 265.0 to 323.9)"),
        ("closed-loop-hides-waiting", own(loop="closed", concurrency=64), "(64 in flight)"),
        ("accuracy-track", figure(), "99.9 % of the reference accuracy"),
        ("accuracy-unchecked", own(), "nobody has tested"),
        ("accuracy-unchecked", own(accuracy={"rouge1": 38.4}), "(rouge1 38.4 %)"),
        ("one-run-two-rows", figure(round="v6.0"), "99 and 99.9 tracks"),
        ("inferred-tokens", figure(metric="loadgen-completed-tokens-rate-inferred"), "(assumed: 69 tokens a sample)"),
        ("counts-are-claims", primary(contested()), "(accelerators: 88 or 87)"),
        ("per-accelerator-is-derived", primary(contested()), "its sources disagree on its number of accelerators"),
        ("per-accelerator-is-derived", figure(accelerators=None), "nobody discloses its number of accelerators"),
        ("per-accelerator-is-derived", figure(accelerators=72), "72 accelerators"),
        ("tail-inside-the-rate", primary(offline(duration_s=612.0)), "(10.2 min)"),
        ("techniques-undisclosed", figure(chunked_prefill="on"), "continuous batching, speculative decoding"),
        ("open-division", figure(division="open", model_submitted="llama3_1-70b"), "here llama3_1-70b"),
        ("warm-prefix-cache", figure(prefix_caching="on"), "Prefix caching was on:"),
    ],
)
def test_a_sentence_quotes_the_conditions_of_its_figure(name, of, words):
    """Numbers in a sentence are the figure's own."""
    assert words in dict(sentences(of))[name]


def test_an_invalid_server_run_is_not_called_a_floor():
    """A floor is a rate that passed."""
    invalid = CASES["good-as-a-floor"][1][1]()
    assert "not even a floor" in dict(sentences(invalid))["server-rate-is-a-floor"]


def test_a_hostile_source_cannot_act_through_a_sentence():
    """No control, direction or line character of a vendor's text survives."""
    run = published_run(
        engine=HOSTILE, dataset=HOSTILE, benchmark=HOSTILE, accuracy_track=HOSTILE, model_submitted=HOSTILE
    )
    for _, sentence in sentences(primary(run)):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u202e]", sentence)


def test_an_engine_text_of_any_length_stays_short():
    """A stack may be described in a novel; its sentence is not one."""
    sentence = dict(sentences(figure(engine="vLLM " * 500)))["one-tuned-configuration"]
    assert len(sentence) < 250
    assert "…" in sentence


def test_a_caveat_is_found_by_its_id():
    """The id is the name."""
    assert caveat_named("shape-slack").id == "shape-slack"


def test_a_wrong_id_names_the_nearest():
    """A slip of the pen costs one line."""
    with pytest.raises(NotFoundError) as caught:
        caveat_named("ofline-is-not-servin")
    assert caught.value.message == "no caveat is called 'ofline-is-not-servin'"
    assert "did you mean offline-is-not-serving" in caught.value.next
    with pytest.raises(NotFoundError) as caught:
        caveat_named("xyz")
    assert "shape-slack" in caught.value.next
