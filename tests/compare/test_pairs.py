"""Which runs make a pair, which do not and why, and that one run filed twice counts once."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compare.pair import FLAGS, Headroom, Pair
from caveat.compare.pairs import Paired, benchmark_base, pairs_of
from caveat.compare.slack import Lengths
from caveat.errors import UsageError
from caveat.figures import Check, Claim, Provenance, Row, Run, Source, Value, conditions_of
from tests.builders import MLPERF, NO_SHARED, PUBLISHED, published_run
from tests.compare.published import runs_before, runs_v61


def couple(
    offline: float = 100.0, server: float = 90.0, *, on_server: dict[str, Any] | None = None, **changes: Any
) -> list[Run]:
    """An Offline and a Server run of one system; `on_server` changes only the second."""
    return [
        published_run(offline, **{**changes, "scenario": "offline"}),
        published_run(server, **{**changes, "scenario": "server", **(on_server or {})}),
    ]


def only(runs: Sequence[Run]) -> Pair:
    """The one pair that runs make."""
    (pair,) = pairs_of(runs).pairs
    return pair


def test_two_scenarios_of_one_system_are_a_pair():
    """The ratio is the second scenario's rate over the first's."""
    offline, server = couple(106517.0, 103275.0)
    found = pairs_of([server, offline])
    assert [(pair.left.run, pair.right.run) for pair in found.pairs] == [(offline, server)]
    assert found.pairs[0].ratio == 103275 / 106517
    assert (found.excluded, found.candidates) == ({}, 1)
    assert found.pairs[0].flags == ()


def test_other_scenarios_can_be_paired():
    """Which side is which is the caller's choice."""
    runs = [*couple(100.0, 80.0), published_run(60.0, scenario="interactive")]
    (pair,) = pairs_of(runs, from_scenario="server", to_scenario="interactive").pairs
    assert pair.ratio == 60 / 80


def test_tight_limits_filed_as_a_model_of_their_own_find_their_partner():
    """v5.0 put Interactive under another model folder, with Server in its path."""
    offline = published_run(100.0, scenario="offline")
    subject = offline.subject.replace("llama2-70b-99.9/offline", "llama2-70b-interactive-99.9/server")
    interactive = published_run(60.0, subject=subject, scenario="interactive")
    assert len(pairs_of([offline, interactive], to_scenario="interactive").pairs) == 1


@pytest.mark.parametrize("key", ["round", "division", "submitter", "platform", "benchmark"])
def test_runs_of_different_systems_are_not_paired(key):
    """Round, division, submitter, platform and benchmark must all be the same."""
    other: dict[str, Value] = {"round": "v6.0", "division": "open", "benchmark": "mixtral-8x7b"}
    runs = couple(on_server={key: other.get(key, "someone else")})
    assert pairs_of(runs) == Paired(pairs=(), excluded={"no offline run": 1, "no server run": 1}, candidates=2)


SAMPLES = {"offline": "loadgen-offline-samples-rate", "server": "loadgen-completed-samples-rate"}
ASSUMED = {name: f"loadgen-{name}-tokens-rate-inferred" for name in ("offline", "completed")}
FAILED = (Check(aspect="harness verdict", outcome="fail"), Check(aspect="latency limits", outcome="fail"))
REFUSED: dict[str, list[Run]] = {
    "no server run": couple()[:1],
    "no offline run": couple()[1:],
    "several runs of one scenario": [*couple(), published_run(91.0)],
    "value not recorded": couple(server=0.0),
    "partner in another unit": [couple()[0], published_run(3.0, metric=SAMPLES["server"])],
    "not a rate of tokens": [
        published_run(3.0, scenario="offline", metric=SAMPLES["offline"]),
        published_run(3.0, metric=SAMPLES["server"]),
    ],
    "tokens assumed, not counted": [
        published_run(3.0, scenario="offline", metric=ASSUMED["offline"]),
        published_run(3.0, metric=ASSUMED["completed"]),
    ],
    "not valid: harness verdict, latency limits": [couple()[0], published_run(90.0, validity=FAILED)],
    "power run with performance run": couple(on_server={"power_run": True}),
    "scenario undisclosed": [published_run(metric="loadgen-offline-tokens-rate", scenario=None, subject="x")],
    "system or benchmark undisclosed": [published_run(subject="x", platform=None, system=None)],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_makes_no_pair_is_counted_with_its_reason(reason):
    """One candidate, one reason."""
    assert pairs_of(REFUSED[reason]) == Paired(pairs=(), excluded={reason: 1}, candidates=1)


def test_a_run_without_a_published_value_is_not_recorded():
    """A run that knows only latencies has no rate to pair."""
    offline, server = couple()
    silent = Run(subject=server.subject, conditions=server.conditions, provenance=server.provenance, rows=())
    assert pairs_of([offline, silent]).excluded == {"value not recorded": 1}


def test_a_power_run_is_paired_with_a_power_run():
    """Both sides under the same load of a power meter are alike; the flag says so."""
    assert only(couple(power_run=True)).flags == ("power-run",)


def test_the_same_document_given_twice_is_one_run():
    """Two copies are not two runs."""
    runs = couple()
    assert pairs_of([*runs, *runs]).candidates == 1


def test_a_scenario_that_does_not_exist_is_refused():
    """A typing error must not look like an empty result."""
    with pytest.raises(UsageError, match="no scenario is called 'servr'") as error:
        pairs_of(couple(), to_scenario="servr")
    assert "single-stream" in error.value.next
    with pytest.raises(UsageError, match="both sides of a pair are 'offline'"):
        pairs_of(couple(), to_scenario="offline")


def own_run(value: float, scenario: str, **changes: Value | None) -> Run:
    """A run of one's own: the subject is a name without a path."""
    conditions = conditions_of({"scenario": scenario, "system": "my box", "dataset": "chats", **changes})
    metric = "loadgen-offline-tokens-rate" if scenario == "offline" else "loadgen-completed-tokens-rate"
    return Run(
        subject=f"run of {scenario}",
        conditions=conditions,
        provenance=Provenance(origin="measured"),
        rows=(Row(metric=metric, value=value),),
        primary=metric,
    )


def test_runs_of_ones_own_are_paired_by_their_conditions():
    """A measured subject is no path; system and data set say what belongs together, also for general arrivals."""
    runs = [own_run(100.0, "offline"), own_run(70.0, "poisson")]
    (pair,) = pairs_of(runs, to_scenario="poisson").pairs
    assert pair.ratio == 0.7
    strange = [own_run(100.0, "offline"), own_run(70.0, "poisson", dataset="other chats")]
    assert pairs_of(strange, to_scenario="poisson").pairs == ()


# twins: one run filed under both accuracy tracks


def changed(run: Run, **changes: Any) -> Run:
    """The run with some of its conditions changed."""
    known: dict[str, Any] = {**run.conditions.known, **changes}
    return published_run(run.rows[0].value, **known)


def twin_of(runs: Sequence[Run], track: str = "99", **changes: Any) -> list[Run]:
    """The same values filed under another track of the benchmark."""
    filed = {"benchmark": f"llama2-70b-{track}", "accuracy_track": track, **changes}
    return [changed(run, **filed) for run in runs]


def with_logs(runs: Sequence[Run], *prints: str) -> list[Run]:
    """The runs with the fingerprints of their logs."""
    return [changed(run, fingerprint=print_) for run, print_ in zip(runs, prints, strict=True)]


def test_equal_logs_on_both_sides_are_one_run_and_count_once():
    """The stricter track is kept and flagged, the other is excluded."""
    strict = with_logs(couple(), "a", "b")
    found = pairs_of([*twin_of(strict), *strict])
    assert [pair.conditions.words("benchmark") for pair in found.pairs] == ["llama2-70b-99.9"]
    assert (found.pairs[0].flags, found.pairs[0].twin_of) == (("twin",), "llama2-70b-99")
    assert (found.excluded, found.candidates) == ({"twin of llama2-70b-99.9": 1}, 2)


def test_equal_values_are_a_twin_where_no_logs_are_known():
    """A summary alone shows twins by their values, and the flag says how it was seen."""
    found = pairs_of([*couple(), *twin_of(couple())])
    assert [pair.flags for pair in found.pairs] == [("twin (same values)",)]
    assert found.excluded == {"twin of llama2-70b-99.9": 1}


def test_a_log_and_the_summary_rounded_from_it_are_still_twins():
    """Six digits of one side against all digits of the other."""
    strict = with_logs(couple(106516.78, 103275.1), "a", "b")
    assert len(pairs_of([*strict, *twin_of(couple(106517.0, 103275.0))]).pairs) == 1


def test_different_logs_are_two_runs_even_with_equal_values():
    """What the logs say comes before what the values suggest."""
    strict = couple()
    found = pairs_of([*with_logs(strict, "a", "b"), *with_logs(twin_of(strict), "a", "c")])
    assert [pair.flags for pair in found.pairs] == [(), ()]


@pytest.mark.parametrize("change", [{"platform": "another box"}, {"submitter": "Dell"}, {"round": "v6.0"}])
def test_equal_values_of_other_systems_are_no_twins(change):
    """Only rows of one platform in one round can be one run."""
    assert len(pairs_of([*couple(), *twin_of(couple(), **change)]).pairs) == 2


def test_the_base_of_a_benchmark_is_its_model():
    """Tracks fall away, unknown names stay as they are."""
    assert [benchmark_base(name) for name in ("llama2-70b-99.9", "llama3_1-8b", "finetuned-99")] == [
        "llama2-70b",
        "llama3.1-8b",
        "finetuned-99",
    ]


# what is read beside the ratio


@pytest.mark.parametrize(
    ("ttft", "tpot", "expected", "floor"),
    [
        (0.32, 0.35, Headroom(0.32, 0.35), True),
        (0.73, 0.76, Headroom(0.73, 0.76), False),
        (0.10, 0.50, Headroom(0.10, 0.50), False),
        (0.10, None, Headroom(0.10, None), False),
        (None, None, None, False),
    ],
)
def test_headroom_is_that_of_the_second_side_and_a_floor_needs_both(ttft, tpot, expected, floor):
    """Only where both p99 latencies are known and far below their limits is a rate called a floor."""
    pair = only(couple(on_server={"headroom_ttft": ttft, "headroom_tpot": tpot}))
    assert pair.headroom == expected
    assert ("floor" in pair.flags) is floor


def test_lengths_come_from_one_kind_of_run_for_both_sides():
    """A length from a performance run is not set beside one from an accuracy run."""
    offline, server = couple(on_server={"accuracy_tokens_per_sample": 281.0})
    counted = published_run(90.0, rows=(Row(metric="tokens-per-sample.mean", value=279.0),))
    both = published_run(100.0, scenario="offline", rows=(Row(metric="tokens-per-sample.mean", value=278.0),))
    assert only([offline, server]).tokens_per_sample == Lengths(280.0, 281.0, "accuracy run")
    assert only([offline, counted]).tokens_per_sample == Lengths(280.0, 280.0, "accuracy run")
    assert only([both, counted]).tokens_per_sample == Lengths(278.0, 279.0, "performance run")
    silent = [changed(run, accuracy_tokens_per_sample=None) for run in couple()]
    assert only(silent).tokens_per_sample is None


def contested(aspect: str) -> list[Run]:
    """A pair whose second side failed an aspect that does not make the value untrue."""
    return [couple()[0], published_run(90.0, validity=(Check(aspect=aspect, outcome="fail"),))]


def conflicting() -> list[Run]:
    """A pair whose first side counts 87 accelerators in one source and 88 in another."""
    claims = {"accelerators": (Claim(87, "text"), Claim(88, "nodes x per node"))}
    conditions = conditions_of({**PUBLISHED, "scenario": "offline"}, claims=claims)
    offline, server = couple()
    source = Source(kind="published-summary", path="summary.csv")
    return [
        Run(
            subject=offline.subject,
            conditions=conditions,
            provenance=Provenance(origin="imported", sources=(source,)),
            rows=offline.rows,
            primary=offline.primary,
        ),
        server,
    ]


def short_of_target() -> list[Run]:
    """A pair whose Offline side reached 90 % of the rate it was set up for."""
    row = Row(metric="loadgen-offline-samples-rate", value=9.0)
    return [published_run(100.0, scenario="offline", rows=(row,), target_qps=10.0), couple()[1]]


FLAGGED: dict[str, list[Run]] = {
    "inverted": couple(100.0, 110.0),
    "twin": [*with_logs(couple(), "a", "b"), *with_logs(twin_of(couple()), "a", "b")],
    "twin (same values)": [*couple(), *twin_of(couple())],
    "floor": couple(on_server={"headroom_ttft": 0.49, "headroom_tpot": 0.1}),
    "offline-short-of-target": short_of_target(),
    "count-conflict": conflicting(),
    "within-shape-slack": couple(100.0, 98.0, on_server={"accuracy_tokens_per_sample": 270.0}),
    "precision-differs": couple(on_server={"weight_precision": "fp8"}),
    "engine-differs": couple(on_server={"engine": "SGLang"}),
    "open-division": couple(division="open"),
    "preview": couple(availability="preview"),
    "rdi": couple(availability="rdi"),
    "power-run": couple(power_run=True),
    "sources-disagree": contested("sources agree"),
    "schedule-differs": contested("schedule"),
}


@pytest.mark.parametrize("flag", [flag.name for flag in FLAGS])
def test_every_flag_of_the_table_is_raised_by_what_it_names_and_nothing_else_is(flag):
    """One example for each line of the table."""
    assert only(FLAGGED[flag]).flags == (flag,)


def test_a_server_short_of_its_target_is_not_an_offline_short_of_target():
    """The target of a Server run is its arrival rate."""
    runs = couple(on_server={"target_qps": 10.0, "completed_qps": 8.0})
    assert only(runs).flags == ()


# properties

SYSTEMS = ("A", "B", "C")
LISTED = st.lists(
    st.tuples(
        st.sampled_from(SYSTEMS),
        st.sampled_from(("99", "99.9")),
        st.sampled_from(("offline", "server", "interactive")),
        st.sampled_from((0.0, 50.0, 80.0, 100.0)),
        st.booleans(),
    ),
    max_size=16,
    unique_by=lambda row: row[:3],
)


def listed(rows: Sequence[tuple[str, str, str, float, bool]]) -> list[Run]:
    """Runs of a few systems, some on two tracks, some power runs, some without a value."""
    return [
        published_run(
            value,
            platform=system,
            benchmark=f"llama2-70b-{track}",
            accuracy_track=track,
            scenario=scenario,
            power_run=power,
        )
        for system, track, scenario, value, power in rows
    ]


@given(LISTED, st.randoms())
def test_the_order_of_the_runs_does_not_matter(rows, random):
    """Pairs, flags, exclusions and their order are the same."""
    runs = listed(rows)
    assert pairs_of(random.sample(runs, len(runs))) == pairs_of(runs)


@given(LISTED)
def test_every_candidate_is_a_pair_or_is_excluded(rows):
    """Nothing falls under the table: pairs and exclusions add up to the systems that have either scenario."""
    found = pairs_of(listed(rows))
    systems = {row[:2] for row in rows if row[2] != "interactive"}
    assert len(found.pairs) + sum(found.excluded.values()) == found.candidates == len(systems)


@given(LISTED)
def test_no_run_is_in_two_pairs(rows):
    """Each side is used once."""
    pairs = pairs_of(listed(rows)).pairs
    ids = [side.id for pair in pairs for side in (pair.left, pair.right)]
    assert len(set(ids)) == len(ids)


# the published tables

real = pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)


@real
def test_the_v61_table_gives_156_pairs_and_names_what_it_leaves_out():
    """All tokens/s pairs of both divisions; image+text rows have no token rate, whisper has no Server."""
    found = pairs_of(runs_v61())
    assert (len(found.pairs), found.excluded) == (156, {"no server run": 36, "not a rate of tokens": 18})


@real
def test_the_tables_before_count_twins_once():
    """327 rows of both scenarios in v5.1 and v6.0 are 268 runs."""
    found = pairs_of(runs_before())
    twins = [pair for pair in found.pairs if "twin (same values)" in pair.flags]
    assert (len(found.pairs), found.excluded["twin of llama2-70b-99.9"], len(twins)) == (268, 59, 59)
