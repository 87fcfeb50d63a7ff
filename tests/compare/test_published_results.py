"""The rules on real published tables: what they refuse, qualify and leave open."""

from itertools import combinations

import pytest

from caveat.compare import NO_DIFFERENCE, verdict, verdicts
from caveat.figures import Figure, primary_figure
from caveat.importers import read
from tests.builders import MLPERF, NO_SHARED

TABLES = ("summary_v6.1.csv", "summary_results_v6.0.json", "summary_results_v5.1.json")

pytestmark = pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)


@pytest.fixture(scope="module")
def published():
    """All figures of three rounds."""
    runs = read([MLPERF / name for name in TABLES]).runs
    return [figure for run in runs if (figure := primary_figure(run))]


def where(figures, **wanted):
    return [f for f in figures if all(f.conditions.words(key) == value for key, value in wanted.items())]


def test_rows_of_one_benchmark_closer_than_their_lengths_are_no_difference(published):
    """88 rows of v6.1 llama2-70b-99.9 span 267.0 to 290.8 tokens a sample."""
    rows = where(published, round="v6.1", benchmark="llama2-70b-99.9")
    lengths = [figure.conditions.number("accuracy_tokens_per_sample") for figure in rows]
    assert (len(rows), min(lengths), max(lengths)) == (88, 267.0, 290.8)
    shortest, longest = rows[lengths.index(267.0)], rows[lengths.index(290.8)]
    assert verdict(shortest, longest).slack in (None, pytest.approx(0.0891, abs=1e-4))
    said = [answer for answer in verdicts(where(rows, scenario="server")) if answer.difference == NO_DIFFERENCE]
    assert said
    for answer in said:
        assert any(f.rule == "shape-slack" and NO_DIFFERENCE in f.message for f in answer.findings)


def test_rounds_beyond_the_table_cannot_be_said(published):
    """v6.0 beside v6.1: unknown, with the date of the table."""
    common = {"benchmark": "llama2-70b-99.9", "scenario": "server", "division": "closed"}
    old, new = (where(published, round=name, **common)[0] for name in ("v6.0", "v6.1"))
    answer = verdict(old, new)
    assert answer.verdict == "unknown"
    (finding,) = [f for f in answer.findings if f.severity == "unknown"]
    assert finding.rule == "round"
    assert "2026-04-28" in finding.message


def test_the_system_of_87_or_88_has_no_value_per_accelerator(published):
    """Its text says 87, its nodes say 88: the systems may be compared, their chips may not."""
    contested = where(published, round="v6.0", platform="87xMI355X_22xEPYC_9575F", scenario="server")[0]
    alike = {key: contested.conditions.words(key) for key in ("benchmark", "division", "round", "scenario")}
    other = next(f for f in where(published, **alike) if f.conditions.words("platform") == "8xMI355X_2xEPYC_9575F")
    assert verdict(contested, other).verdict == "comparable-with-caveats"
    asked = verdict(contested, other, per_accelerator=True)
    assert (asked.verdict, asked.per_accelerator) == ("not-comparable", None)
    (finding,) = [f for f in asked.findings if f.rule == "per-accelerator"]
    assert "87" in finding.message
    assert "88" in finding.message


def test_closed_results_of_one_round_benchmark_and_scenario_are_never_unknown(published):
    """What published tables leave out gives caveats; only power runs are refused beside performance runs."""
    groups: dict[tuple[str | None, ...], list[Figure]] = {}
    for figure in where(published, division="closed"):
        key = tuple(figure.conditions.words(name) for name in ("round", "benchmark", "scenario"))
        groups.setdefault(key, []).append(figure)
    for group in groups.values():
        for left, right in list(combinations(group, 2))[:30]:
            answer = verdict(left, right)
            refused = {f.rule for f in answer.findings if f.severity == "not-comparable"}
            assert (answer.verdict == "comparable-with-caveats") or refused == {"power-run"}
