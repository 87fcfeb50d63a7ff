"""Intervals for unseen systems: what they come from, that their coverage is measured, and when there is none."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.compare.discount import discount
from caveat.compare.estimate import FEWEST_LIKE, estimate, estimate_as_json
from caveat.compare.intervals import NOMINAL, Known, Miss, Point, interval, share_inside, weight, widening_of
from caveat.errors import CannotSayError, UsageError
from caveat.figures import Run
from tests.builders import MLPERF, NO_SHARED
from tests.compare.published import runs_before, runs_v61
from tests.compare.test_pairs import couple

real = pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)
EIGHT: dict[str, str | float] = {"benchmark": "llama2-70b", "accelerators": 8}


def systems(*ratios: float, **changes: Any) -> list[Run]:
    """One system for each ratio, alike in everything else."""
    return [
        run
        for number, ratio in enumerate(ratios)
        for run in couple(100.0, 100.0 * ratio, **{"platform": f"box {number}", **changes})
    ]


TEN = (0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.96, 0.98)


def test_an_estimate_is_an_interval_with_its_coverage_and_nothing_else():
    """Of ten systems alike all are needed to hold eight of those left out."""
    found = estimate(systems(*TEN), EIGHT)
    assert (round(found.low, 4), round(found.high, 4)) == (0.8, 0.98)
    assert (found.tested, found.systems, found.held_out) == (10, 10, "system")
    assert (found.coverage_unwidened, found.coverage) == (0.8, 0.8)
    assert found.widened_by == 1.0
    assert not {"point", "median", "mean", "estimate"} & set(found.__struct_fields__)


def test_an_interval_that_missed_too_often_is_widened_until_it_would_not_have():
    """Of thirteen systems two at each end are missed; the ends move out as far as the second farthest."""
    ratios = (0.5, 0.6, 0.7, *[0.9] * 7, 1.0, 1.1, 1.2)
    found = estimate(systems(*ratios), EIGHT)
    assert found.coverage_unwidened < NOMINAL <= found.coverage
    assert found.widened_by > 1
    assert found.words == (
        "server / offline between 0.5 and 1.32, from 13 pairs; with their system left out, 92% of 13 pairs fell inside "
        "such an interval (asked for: 80%), after both ends were moved out by 20.0% because only 69% did before"
    )


def test_the_words_say_n_and_the_coverage_that_was_measured():
    """Who reads the interval reads what it is worth."""
    assert estimate(systems(*TEN), EIGHT).words == (
        "server / offline between 0.8 and 0.98, from 10 pairs; with their system left out, 80% of 10 pairs fell inside "
        "such an interval (asked for: 80%)"
    )


def test_the_pairs_most_alike_count_most():
    """An accelerator of one's own kind pulls the interval towards its pairs."""
    runs = [
        *systems(*[0.7 + i / 100 for i in range(10)], accelerator="H200", submitter="one"),
        *systems(*[0.9 + i / 100 for i in range(10)], accelerator="MI355X", submitter="two"),
    ]
    blind = estimate(runs, EIGHT)
    near = estimate(runs, {**EIGHT, "accelerator": "AMD Instinct MI355X 288GB"})
    assert near.low > blind.low
    assert {pair.conditions.words("accelerator") for pair in near.like[:10]} == {"MI355X"}


def test_all_pairs_of_one_system_are_left_out_together():
    """A system filed in four rounds must not be its own witness: without it nothing like it is left."""
    runs = [run for number in range(4) for run in systems(*[0.6] * 4, round=f"v{number}.0")]
    found = estimate(runs, EIGHT)
    assert (found.tested, found.systems, len(found.like)) == (16, 4, 16)
    one = [run for number in range(10) for run in systems(0.6, round=f"v{number}.0")]
    with pytest.raises(CannotSayError, match=r"found 0 pairs .* when their system is left out"):
        estimate(one, EIGHT)


def test_an_accelerator_that_no_pair_has_is_tested_by_leaving_out_whole_accelerators():
    """The longer reach is measured as such, and is said."""
    runs = [
        run
        for kind, base in (("H200", 0.7), ("MI355X", 0.8), ("B200", 0.9))
        for run in systems(*[base + i / 100 for i in range(6)], accelerator=kind, submitter=kind)
    ]
    seen = estimate(runs, {**EIGHT, "accelerator": "H200"})
    unseen = estimate(runs, {**EIGHT, "accelerator": "Abacus"})
    assert (seen.held_out, unseen.held_out) == ("system", "accelerator")
    assert unseen.high / unseen.low > seen.high / seen.low
    assert any("no pair has accelerator 'Abacus'" in sentence for sentence in unseen.assumptions)


def test_an_estimate_lists_what_it_assumes():
    """Tuning, traffic, the division that was filled in, what was not looked at, undisclosed headroom."""
    assert estimate(systems(*TEN), {**EIGHT, "round": "v6.1"}).assumptions == (
        "the system is tuned as the published ones were, and its rate chosen as their submitters chose theirs",
        "lengths, arrivals and latency limits are those of the benchmark",
        "division closed, since none was given",
        "not given and so not looked at: accelerator, submitter, weight_precision",
        "of 10 like pairs 0 ran far below their limits and 10 do not disclose it: "
        "the system may serve more than the interval says",
        "how such an interval fares in a later round is not known: too few like pairs have earlier ones",
    )


def test_an_estimate_says_how_the_earlier_rounds_would_have_foretold_the_later_ones():
    """Ten systems of v5.1 span 0.80 to 0.98; of ten in v6.0, a half below them, none would have been foretold."""
    half = [run for at, ratio in enumerate(TEN) for run in couple(100.0, 50.0 * ratio, round="v6.0", platform=f"b{at}")]
    same = systems(*TEN, round="v6.0", submitter="other")
    before = systems(*TEN, round="v5.1")
    (fell,) = [said for said in estimate([*before, *half], EIGHT).assumptions if "these rounds" in said]
    (held,) = [said for said in estimate([*before, *same], EIGHT).assumptions if "these rounds" in said]
    assert "of 10 like pairs 0% fell inside" in fell
    assert "of 10 like pairs 100% fell inside" in held


def test_the_json_of_an_estimate_is_marked_derived_and_names_its_pairs():
    """The same basis sentence as the analysis, and ids instead of values without conditions."""
    found = estimate_as_json(estimate(systems(*TEN), EIGHT))
    assert (found["format"], found["derived"]) == ("caveat-discount-estimate/1", True)
    assert found["basis"] == discount([]).basis
    assert found["features"] == {"division": "closed", "benchmark": "llama2-70b", "accelerators": 8.0}
    assert len(found["like"]) == 10
    assert set(found["like"][0]) == {"from", "to", "ratio"}


REFUSALS: dict[str, tuple[dict[str, str | float], str]] = {
    "a benchmark without pairs": (
        {**EIGHT, "benchmark": "mixtral-8x7b"},
        "'mixtral-8x7b': no pair in division 'closed'",
    ),
    "a division without pairs": ({**EIGHT, "division": "open"}, "no pair in division 'open'"),
    "a count far above": ({**EIGHT, "accelerators": 17}, "17 accelerators lie outside .* 8 to 8 and a factor of 2"),
    "a count far below": ({**EIGHT, "accelerators": "3"}, "3 accelerators lie outside"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_outside_the_support_of_the_data_there_is_no_estimate(case):
    """The refusal says what was found, what was expected and what is nearest."""
    features, message = REFUSALS[case]
    with pytest.raises(CannotSayError, match=message) as error:
        estimate(systems(*TEN), features)
    assert "llama2-70b" in error.value.next or "box" in error.value.next


def test_fewer_than_eight_like_pairs_are_too_few():
    """Seven refuse and name the nearest, eight answer."""
    with pytest.raises(CannotSayError, match="found 7 pairs with accelerators within a factor of 4 of 8") as error:
        estimate(systems(*TEN[:7]), EIGHT)
    assert error.value.next == "nearest: 'AMD box 0 v6.1' with 8 accelerators; read its pair by itself"
    assert estimate(systems(*TEN[:8]), EIGHT).tested == FEWEST_LIKE


def test_without_any_pairs_the_refusal_says_to_import():
    """Nothing known is not nothing like it."""
    with pytest.raises(CannotSayError) as error:
        estimate([], EIGHT)
    assert error.value.next == "import results of both scenarios first"


def test_a_pair_whose_count_is_unknown_is_like_nothing():
    """Unknown accelerators are not zero and not eight."""
    with pytest.raises(CannotSayError, match="with a known accelerator count"):
        estimate(systems(*TEN, accelerators=None), EIGHT)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"accelerators": 8}, "needs benchmark"),
        ({"benchmark": "llama2-70b"}, "needs accelerators"),
        ({**EIGHT, "colour": "red"}, "does not know the feature 'colour'"),
        ({**EIGHT, "accelerators": "eight"}, "found 'eight', expected a number"),
        ({**EIGHT, "accelerators": 0}, "found 0, expected a number from 1 up"),
        ({**EIGHT, "accelerators": "nan"}, "found 'nan'"),
    ],
)
def test_features_that_make_no_sense_are_refused(features: Mapping[str, str | float], message: str):
    """Each message says what was found or missing."""
    with pytest.raises(UsageError, match=message):
        estimate([], features)


# the arithmetic


def test_a_weight_halves_with_every_doubling_and_every_unlike_feature():
    """What was not asked for does not matter."""
    asked = Point(count=8, words={"accelerator": "b200", "round": "v6.1"})
    assert weight(asked, Point(count=8, words={"accelerator": "b200", "round": "v6.1", "submitter": "x"})) == 1
    assert weight(asked, Point(count=16, words={"accelerator": "b200", "round": "v6.1"})) == 0.5
    assert weight(asked, Point(count=2, words={"accelerator": "h200"})) == 0.5**4


def test_widening_is_judged_without_the_system_it_judges():
    """The farthest cannot set the amount that would save itself; the two nearer misses are held by the others'."""
    misses = [*(Miss((str(i),), -0.1) for i in range(7)), *(Miss((f"far {i}",), 0.25 * i) for i in (1, 2, 3))]
    assert share_inside(misses) == 0.7
    assert widening_of(misses) == (0.5, 0.9)


def test_pairs_too_unlike_each_other_have_no_interval():
    """Where each system lies farther out than all others, no honest amount exists."""
    misses = [Miss(("alone",), 9.0)] * 3 + [Miss((str(i),), -0.1) for i in range(7)]
    with pytest.raises(CannotSayError, match="too unlike each other"):
        widening_of(misses)


@given(st.lists(st.floats(0.3, 1.3), min_size=8, max_size=24), st.randoms())
@settings(max_examples=25)
def test_every_estimate_keeps_its_promise_on_the_pairs_at_hand(ratios, random):
    """Coverage is never below the nominal share, ends are in order, and the order of runs does not matter."""
    runs = systems(*ratios)
    try:
        found = estimate(runs, EIGHT)
    except CannotSayError as refusal:
        assert "too unlike" in refusal.message
        return
    assert found.coverage >= NOMINAL
    assert 0 < found.low <= found.high
    assert found.widened_by >= 1
    assert estimate(random.sample(runs, len(runs)), EIGHT) == found


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(1, 64)), min_size=1, max_size=20))
def test_an_interval_is_made_of_its_pairs_and_leaves_out_little_at_each_end(drawn):
    """Order statistics invent nothing, and less than a tenth of the weights lies beyond either end."""
    (pair,) = discount(couple()).pairs
    known = [Known(pair=pair, point=Point(count=n, words={}), log_ratio=value, system=()) for value, n in drawn]
    asked = Point(count=8, words={})
    low, high = interval(asked, known)
    assert {low, high} <= {one.log_ratio for one in known}
    for beyond in (lambda value: value < low, lambda value: value > high):
        outside = sum(weight(asked, one.point) for one in known if beyond(one.log_ratio))
        assert outside < 0.1 * sum(weight(asked, one.point) for one in known)


# the published tables


@real
@pytest.mark.parametrize("benchmark", ["llama2-70b", "llama3.1-8b", "gpt-oss-120b", "deepseek-r1", "llama3.1-405b"])
def test_three_rounds_give_an_interval_that_covered_systems_left_out(benchmark):
    """Where pairs are many, measured coverage is at least nominal and the interval is inside the data."""
    found = discount([*runs_before(), *runs_v61()])
    got = estimate(found, {"benchmark": benchmark, "accelerators": 8})
    ratios = [pair.ratio for pair in got.like]
    assert got.coverage >= NOMINAL
    assert got.tested >= 20
    assert min(ratios) / got.widened_by <= got.low < got.high <= max(ratios) * got.widened_by


@real
def test_a_rack_of_1152_is_outside_what_deepseek_pairs_support():
    """The largest system of the tables has 512 accelerators; the refusal names it."""
    with pytest.raises(CannotSayError, match="1,152 accelerators lie outside") as error:
        estimate(runs_v61(), {"benchmark": "deepseek-r1", "accelerators": 1152})
    assert "with 512 accelerators" in error.value.next
