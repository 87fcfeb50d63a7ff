"""Grades: shares come from a file, and intervals move out by what was measured."""

import math
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.simulator.capacity import Interval
from caveat.simulator.grades import (
    CLAIMS,
    FILE,
    Held,
    coverage_of,
    coverages,
    encode_coverages,
    measure_coverage,
    statement,
    widened,
)

UNIT = Interval(low=1.0, median=2.0, high=4.0)


def held(*seen: float) -> list[Held]:
    return [Held(seen=value, predicted=UNIT, system=f"s{value}") for value in seen]


def test_coverage_is_the_share_inside_and_the_factor_that_would_have_been_enough():
    """Of five values three lie inside; 8 is outside by a factor of 2, 40 by one of 10. Four of five need the first."""
    found = measure_coverage("B", "tpot", held(1.0, 3.0, 4.0, 8.0, 40.0), "here")
    assert found.coverage == 0.6
    assert found.widened_by == pytest.approx(2.0)
    assert (found.tested, found.systems) == (5, 5)
    assert found.median_error == pytest.approx(0.75)
    assert "60% of 5 held-out values (5 systems)" in found.words
    assert "widened by a factor of 2.00" in found.words


def test_an_interval_that_held_enough_stays_as_it_is():
    """Nothing is narrowed."""
    found = measure_coverage("B", "tpot", held(1.5, 2.0, 2.5, 3.0), "here")
    assert found.widened_by == 1.0
    assert widened(UNIT, [found]) == UNIT
    assert "widened" not in found.words


@given(seen=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_after_widening_the_nominal_share_is_inside(seen):
    """On the values that it was measured on."""
    found = measure_coverage("C", "tpot", held(*seen), "here")
    wide = widened(UNIT, [found])
    inside = sum(wide.low * (1 - 1e-12) <= value <= wide.high * (1 + 1e-12) for value in seen)
    assert inside >= math.ceil(0.8 * len(seen))


def test_what_was_never_measured_is_not_claimed():
    """The interval as it is, and the sentence says so."""
    assert coverage_of("A", "no such figure") == coverage_of("B", "caveat-ttft.max") == ()
    assert widened(UNIT, []) == UNIT
    assert (
        statement("A", "no such figure") == "grade A: not validated: the coverage of such intervals was never measured"
    )


@pytest.mark.parametrize(
    ("grade", "metric", "figures"),
    [
        ("A", "caveat-ttft.p95", ["ttft p95"]),
        ("A", "loadgen-latency.p50", ["e2e p50"]),
        ("B", "caveat-tpot-usage.p50", ["tpot", "tpot at the rate", "tpot, open loop"]),
        ("B", "loadgen-ttft.p99", ["ttft p95, open loop", "ttft p99"]),
        ("C", "caveat-tpot-client.mean", ["tpot"]),
        ("C", "caveat-ttft.p50", []),
        ("C", "caveat-tpot-usage.p99", []),
    ],
)
def test_a_metric_is_found_under_its_quantity_and_part(grade, metric, figures):
    """Whoever defined it and whoever counted tokens; nothing is lent from the middle to the tail."""
    assert [one.figure for one in coverage_of(grade, metric)] == figures


def test_the_largest_factor_counts_and_the_systems_are_said():
    """Of grade B first tokens 1.14 and 1.40; one engine in five conditions is one system, and not the model's."""
    wide = widened(UNIT, coverage_of("B", "caveat-ttft.p50"))
    assert [1 / wide.low, wide.high / 4] == pytest.approx([1.14, 1.14], abs=0.005)
    said = statement("B", "caveat-ttft.p99")
    assert "64% of 313 held-out values (46 systems)" in said and "widened by a factor of 1.40" in said
    engine = statement("A", "caveat-ttft.p50")
    assert "on the benchmark's engine, which is not this model's" in engine
    assert "of 15 held-out values (one engine, 5 conditions)" in engine


def test_no_held_out_value_is_no_coverage():
    """Nor is a value that cannot be."""
    with pytest.raises(InputError, match="no held-out values"):
        measure_coverage("A", "tpot", [], "here")
    with pytest.raises(InputError, match="found a value of 0"):
        measure_coverage("A", "tpot", held(0.0), "here")


def test_the_file_of_the_package_reads_and_writes_to_the_same_bytes():
    """Entries sorted by grade and figure, each once."""
    entries = coverages()
    assert encode_coverages(reversed(entries)) == files("caveat.simulator").joinpath(FILE).read_bytes()
    assert len({(one.grade, one.figure) for one in entries}) == len(entries)
    for one in entries:
        assert one.grade in CLAIMS
        assert 0 <= one.coverage <= 1 <= one.widened_by
        assert (one.widened_by > 1) == (one.coverage < one.nominal)
        assert one.share in one.words
        assert (one.systems, one.conditions) == (1, 5) or one.grade != "A"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"{", "coverage.json: "),
        (b'{"format":"caveat-coverage/9","entries":[]}', "found format 'caveat-coverage/9'"),
        (b'{"format":"caveat-coverage/1","entries":[],"more":1}', "unknown field `more`"),
        (b"[" * 100_000, "coverage.json: "),
    ],
)
def test_a_foreign_file_is_refused(document, said):
    """Never half read."""
    with pytest.raises(InputError, match=said):
        coverages(document)
