"""caveat discount: pairs, a distribution, what was left out, and the sentence that says what it is."""

import pytest

from caveat.errors import EXIT_CANNOT_SAY, EXIT_USAGE, EXIT_YES
from tests.cli.golden import golden


def test_pairs_at_a_hundred_columns(caveat, acme):
    """Both values, ratio, headroom; whole and by group; exclusions with reasons; the basis."""
    assert caveat("discount", "-w", "submitter=Acme", "--by", "model") == (EXIT_YES, golden("discount"), "")


def test_no_pair_cannot_be_said(caveat, acme):
    """Exit 3, and why."""
    done = caveat("discount", "-w", "platform=rack-16")
    assert done.code == EXIT_CANNOT_SAY
    assert done.out.startswith("all pairs: no pairs\n\nexcluded: 1 no offline run\n")


def test_the_pairs_of_v6_1_are_those_of_the_published_table(caveat):
    """Acceptance: 156 pairs of both divisions, and the systems whose values were computed independently."""
    said = caveat("discount", "--where", "round=v6.1", "--json").json
    summary = {key: round(said["summary"][key], 4) for key in ("n", "median", "min", "max", "inverted")}
    assert summary == {"n": 156, "median": 0.9461, "min": 0.3809, "max": 1.0583, "inverted": 12}
    found = {
        (round(pair["from"]["value"]), round(pair["to"]["value"]), round(pair["ratio"], 4)) for pair in said["pairs"]
    }
    assert found >= {
        (106517, 103275, 0.9696),
        (158458, 148563, 0.9376),
        (157694, 148118, 0.9393),
        (109277, 106949, 0.9787),
        (131464, 127911, 0.9730),
        (144321, 148594, 1.0296),
        (894002, 910621, 1.0186),
        (1136100, 944902, 0.8317),
    }


def test_headroom_marks_the_floor(caveat):
    """Acceptance: of two sibling racks one ran at a third of its limits."""
    argv = ("discount", "-w", "round=v6.1", "-w", "benchmark=llama2-70b-99.9", "-w", "accelerators=72", "--json")
    pairs = {pair["accelerator"]: pair for pair in caveat(*argv).json["pairs"]}
    rounded = {name: {k: round(v, 2) for k, v in pair["headroom"].items()} for name, pair in pairs.items()}
    assert rounded == {"GB300": {"ttft": 0.32, "tpot": 0.35}, "GB200": {"ttft": 0.73, "tpot": 0.76}}
    assert pairs["GB300"]["flags"] == ["floor"]
    assert "floor" not in pairs["GB200"]["flags"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--from", "offlin"), "no scenario is called 'offlin'"),
        (("--from", "server"), "both sides of a pair are 'server'"),
        (("--from", ""), "a value is missing"),
        (("--by", "weather"), "cannot be grouped by 'weather'"),
        (("--estimate", "-w", "accelerators>=8"), "expected one value for each condition"),
        (("--estimate", "-w", "accelerators=many"), "expected a number"),
    ],
)
def test_what_cannot_be_meant_is_usage(caveat, acme, argv, words):
    """In words."""
    done = caveat("discount", *argv)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert words in done.err


def test_an_estimate_is_an_interval_with_its_assumptions(caveat):
    """Acceptance of the README: coverage measured, systems alike shown, never one factor."""
    argv = ("discount", "--estimate", "-w", "benchmark=llama2-70b-99.9", "-w", "accelerator=MI355X")
    done = caveat(*argv, "-w", "accelerators=8")
    assert done.code == EXIT_YES
    assert "server / offline between 0." in done.out
    assert "\nassumptions\n" in done.out
    assert "most alike" in done.out
    assert "no single" in done.out
    said = caveat(*argv, "-w", "accelerators=8", "--json").json
    assert 0 < said["low"] < said["high"]


def test_no_estimate_outside_the_data(caveat):
    """Exit 3 and the reason, also as an object."""
    argv = ("discount", "--estimate", "-w", "benchmark=llama2-70b-99.9", "-w", "accelerators=100000", "--json")
    done = caveat(*argv)
    assert (done.code, done.json["error"]["code"]) == (EXIT_CANNOT_SAY, "cannot-say")
