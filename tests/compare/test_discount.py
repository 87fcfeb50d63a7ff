"""The analysis as a whole: its numbers on the published tables, its groups, its JSON."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.compare.discount import as_json, discount, group_key
from caveat.compare.distribution import distribution
from caveat.errors import UsageError
from caveat.figures import Run, merge_all, primary_figure
from caveat.importers.mlperf import read_summary, read_tree
from tests.builders import MLPERF, NO_SHARED, published_run
from tests.compare.published import runs_before, runs_v61
from tests.compare.test_pairs import couple, twin_of

real = pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)


def test_the_json_holds_everything_that_was_promised():
    """Both sides with their ids, headroom, lengths, flags, the summary and the exclusions, marked derived."""
    runs = couple(100.0, 110.0, on_server={"headroom_ttft": 0.3, "headroom_tpot": 0.4})
    alone = published_run(scenario="server", platform="alone")
    figures = [primary_figure(run) for run in runs]
    offline, server = (figure.id for figure in figures if figure)
    assert as_json(discount([*runs, alone])) == {
        "format": "caveat-discount/1",
        "derived": True,
        "basis": (
            "A private analysis of pairs: each ratio is derived as one system's server figure divided by its own "
            "offline figure. It is not a comparison of results and not a claim to be cited, and no single factor "
            "leads from offline to server."
        ),
        "scenarios": {"from": "offline", "to": "server"},
        "unit": "{token}/s",
        "pairs": [
            {
                "submitter": "AMD",
                "system": "8xMI355X_2xEPYC_9575F",
                "system_name": "Box of eight",
                "model": "llama2-70b-99.9",
                "round": "v6.1",
                "division": "closed",
                "accelerator": "MI355X",
                "accelerators": 8,
                "from": {"id": offline, "value": 100.0, "metric": "loadgen-offline-tokens-rate"},
                "to": {"id": server, "value": 110.0, "metric": "loadgen-completed-tokens-rate"},
                "ratio": 1.1,
                "headroom": {"ttft": 0.3, "tpot": 0.4},
                "tokens_per_sample": {"from": 280.0, "to": 280.0, "counted_in": "accuracy run"},
                "twin_of": None,
                "flags": ["inverted", "floor"],
            }
        ],
        "summary": {
            "n": 1,
            "inverted": 1,
            "median": 1.1,
            "min": 1.1,
            "max": 1.1,
            "p10": None,
            "p25": None,
            "p75": None,
            "p90": None,
        },
        "by": None,
        "groups": [],
        "candidates": 2,
        "excluded": [{"reason": "no offline run", "count": 1}],
    }


def test_no_runs_give_an_analysis_without_pairs():
    """An empty answer is still an answer with a basis, and its numbers are null."""
    found = as_json(discount([]))
    assert (found["pairs"], found["excluded"], found["summary"]["median"]) == ([], [], None)


def test_an_unknown_headroom_is_null():
    """Unknown is not zero, in JSON either."""
    (pair,) = as_json(discount(couple()))["pairs"]
    assert pair["headroom"] is None


def test_hostile_names_stay_data():
    """A name with terminal escapes leaves as JSON text, escaped by the encoder, unchanged in meaning."""
    name = "\x1b[31mAMD</td>=cmd()"
    document = msgspec.json.encode(as_json(discount(couple(submitter=name))))
    assert b"\x1b" not in document
    assert msgspec.json.decode(document)["pairs"][0]["submitter"] == name


def test_groups_stand_in_the_order_of_their_numbers():
    """Sixteen comes after eight, unknown comes last, and each group is a distribution of its own."""
    runs = [
        *couple(100.0, 60.0, platform="a", accelerators=16),
        *couple(100.0, 70.0, platform="b", accelerators=8),
        *couple(100.0, 80.0, platform="c", accelerators=8),
        *couple(100.0, 90.0, platform="d", accelerators=None),
    ]
    found = discount(runs, by="accelerators")
    assert list(found.groups.items()) == [
        ("8", distribution([0.7, 0.8])),
        ("16", distribution([0.6])),
        ("undisclosed", distribution([0.9])),
    ]


def test_sides_that_disagree_are_a_group_of_their_own():
    """A pair counts under neither of two values; a value that one side discloses counts for both."""
    runs = [
        *couple(platform="a", on_server={"weight_precision": "fp8"}),
        *couple(platform="b", weight_precision=None, on_server={"weight_precision": "fp8"}),
    ]
    assert list(discount(runs, by="precision").groups) == ["differs between the sides", "fp8"]


@pytest.mark.parametrize("word", ["acceleratr", "output_tokens", "vibes"])
def test_a_word_that_is_no_condition_is_refused_with_the_nearest(word):
    """Distributions such as lengths have no single value to group by."""
    with pytest.raises(UsageError, match=f"cannot be grouped by '{word}'") as error:
        group_key(word)
    assert error.value.next


@given(st.lists(st.tuples(st.floats(10, 100), st.floats(10, 100)), min_size=1, max_size=6), st.integers(0, 5))
def test_adding_a_twin_changes_no_summary(values, which):
    """A run filed twice says nothing new: whole and grouped distributions stay."""
    systems = [couple(*sides, platform=f"box {number}") for number, sides in enumerate(values)]
    runs = [run for sides in systems for run in sides]
    before = discount(runs, by="platform")
    after = discount([*runs, *twin_of(systems[which % len(systems)])], by="platform")
    assert (after.summary, after.groups) == (before.summary, before.groups)
    assert after.candidates == before.candidates + 1


@given(st.lists(st.floats(10, 100), min_size=1, max_size=8))
def test_groups_share_out_the_pairs(servers):
    """Every pair is in exactly one group."""
    runs = [
        run
        for number, server in enumerate(servers)
        for run in couple(100.0, server, platform=f"box {number}", accelerators=1 + number % 3)
    ]
    found = discount(runs, by="accelerators")
    assert sum(group.n for group in found.groups.values()) == found.summary.n == len(servers)


# the published tables

EIGHT = {
    ("AMD", "8xMI355X_2xEPYC_9575F", "llama2-70b-99.9"): (106517, 103275, 0.9696),
    ("Dell", "XE9785L_8xMI355X", "llama3.1-8b"): (158458, 148563, 0.9376),
    ("HPE", "HPE_XD685_MI355X_288GBx8_vLLM", "llama3.1-8b"): (157694, 148118, 0.9393),
    ("NVIDIA", "B300-SXM-270GBx8_TRT", "llama2-70b-99.9"): (109277, 106949, 0.9787),
    ("NVIDIA", "GB300-NVL72_GB300-288GB_aarch64x8_TRT", "llama2-70b-99.9"): (131464, 127911, 0.9730),
    ("Oracle", "8xMI355X_2xEPYC-9575F", "llama3.1-8b"): (144321, 148594, 1.0296),
    ("CoreWeave", "GB200-NVL72_GB200-186GB_aarch64x72_TRT", "llama2-70b-99.9"): (894002, 910621, 1.0186),
    ("CoreWeave", "GB300-NVL72_GB300-288GB_aarch64x72_TRT", "llama2-70b-99.9"): (1136100, 944902, 0.8317),
}


@real
def test_the_eight_systems_of_v61_have_their_known_pairs():
    """Values and ratios as computed independently from the same table."""
    pairs = {(p["submitter"], p["system"], p["model"]): p for p in as_json(discount(runs_v61()))["pairs"]}
    found = {
        key: (pairs[key]["from"]["value"], pairs[key]["to"]["value"], round(pairs[key]["ratio"], 4)) for key in EIGHT
    }
    assert found == EIGHT


@real
def test_the_v61_table_as_a_whole():
    """n, median, range and inverted pairs of all tokens/s pairs of both divisions."""
    summary = discount(runs_v61()).summary
    assert summary.min and summary.max and summary.median
    assert (summary.n, summary.inverted) == (156, 12)
    assert [round(x, 4) for x in (summary.median, summary.min, summary.max)] == [0.9461, 0.3809, 1.0583]


@real
def test_three_rounds_span_more_than_a_factor_of_four():
    """No round has a factor of its own either: the range within each is most of the range of all."""
    found = discount([*runs_before(), *runs_v61()], by="round")
    spans = {name: (g.n, round(g.min or 0, 4), round(g.max or 0, 4)) for name, g in found.groups.items()}
    assert spans == {
        "v5.1": (132, 0.3145, 1.2639),
        "v6.0": (136, 0.3041, 1.0626),
        "v6.1": (156, 0.3809, 1.0583),
    }
    assert (found.summary.n, found.summary.inverted) == (424, 28)


@real
def test_the_logs_of_v61_tell_a_floor_from_a_limit():
    """Of two racks of 72 one ran far below both limits and is flagged; the other did not, and shows that too."""
    read = (read_summary(MLPERF / "summary_v6.1.csv"), read_tree(MLPERF / "submissions" / "v6.1"))
    sources: dict[str, list[Run]] = {}
    for run in (run for part in read for run in part.runs):
        sources.setdefault(run.subject, []).append(run)
    found = discount(merge_all(runs) for runs in sources.values())
    racks = {p.conditions.text("accelerator"): p for p in found.pairs if p.conditions.text("submitter") == "CoreWeave"}
    seen = {}
    for name in ("GB200", "GB300"):
        headroom = racks[name].headroom
        assert headroom and headroom.ttft and headroom.tpot
        seen[name] = (round(headroom.ttft, 2), round(headroom.tpot, 2), "floor" in racks[name].flags)
    assert seen == {"GB200": (0.73, 0.76, False), "GB300": (0.32, 0.35, True)}
    assert (found.summary.n, found.summary.inverted) == (156, 12)
