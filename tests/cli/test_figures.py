"""caveat figures: a list with what is common, what spreads and what to beware of."""

import pytest

from caveat.errors import EXIT_NO, EXIT_USAGE, EXIT_YES
from tests.cli.golden import golden


def test_the_list_at_a_hundred_columns(caveat, acme):
    """Two lines a figure, then what all share and the caveats that apply."""
    assert caveat("figures", "-w", "submitter=Acme") == (EXIT_YES, golden("figures"), "")


def test_no_figure_is_no(caveat, acme):
    """Exit 1, in words or as an empty list."""
    assert caveat("figures", "-w", "submitter=Nobody") == (
        EXIT_NO,
        "no figure fits; caveat figures lists what there is\n",
        "",
    )
    done = caveat("figures", "-w", "submitter=Nobody", "--json")
    assert (done.code, done.json) == (EXIT_NO, {"format": "caveat-figures/1", "figures": []})


def test_all_metrics_of_a_run_are_shown_on_request(caveat, acme):
    """The published one alone otherwise."""
    argv = ("figures", "-w", "platform=box-8", "-w", "scenario=server", "--json")
    assert [figure["metric"]["key"] for figure in caveat(*argv).json["figures"]] == ["loadgen-completed-tokens-rate"]
    assert [figure["metric"]["key"] for figure in caveat(*argv, "--all").json["figures"]] == [
        "loadgen-completed-tokens-rate",
        "loadgen-ttft.p99",
        "tokens-per-sample.mean",
    ]


def test_columns_are_added_or_named(caveat, acme):
    """+NAME keeps the usual ones."""
    argv = ("figures", "-w", "platform=box-8", "-w", "scenario=server")
    assert caveat(*argv, "-c", "platform,headroom_ttft").out.splitlines()[:3] == [
        "headroom ttft",
        "─────────────",
        "         0.59",
    ]
    added = caveat(*argv, "-c", "+headroom_ttft").out.splitlines()
    assert added[0].split() == ["id", "value", "benchmark", "scenario", "round", "chips", "outcome", "headroom", "ttft"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--columns", "scenaro"), "did you mean scenario"),
        (("--columns", ","), "no column is named"),
        (("--where", "scenario"), "not a filter"),
        (("--where", "scenaro=server"), "did you mean scenario"),
        (("--where", "accelerators>=many"), "expected a number"),
        (("--limit", "0"), "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_meant_is_usage(caveat, acme, argv, words):
    """With the nearest word."""
    done = caveat("figures", *argv)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert words in done.err


def test_more_than_the_limit_is_counted(caveat, acme):
    """Nothing is left out in silence."""
    assert "5 figures, 3 of them not shown (--limit)" in caveat("figures", "-w", "submitter=Acme", "--limit", "2").out


def test_of_very_many_only_those_shown_are_read(caveat, acme, monkeypatch):
    """And what is said below the table says about how many."""
    monkeypatch.setattr("caveat.cli.figures.SUMMARISED", 4)
    out = caveat("figures", "-w", "submitter=Acme", "--limit", "2").out
    assert "5 figures, 3 of them not shown (--limit); what follows is about the first 2" in out
    assert "(2 of 2)" in out


def test_the_spread_of_lengths_is_shown(caveat):
    """Acceptance: 88 rows of one benchmark lie between 267.0 and 290.8 tokens a sample."""
    done = caveat("figures", "-w", "round=v6.1", "-w", "benchmark=llama2-70b-99.9", "-c", "+accuracy_tokens_per_sample")
    assert "spread   accuracy_tokens_per_sample: 267.0" in done.out.replace("267 to", "267.0 to")
    assert "(8.9 %)" in done.out
