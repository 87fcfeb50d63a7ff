"""The validation on published data: kept result, page, and the coverage file that grades read agree."""

import msgspec
import numpy as np
import pytest
from benchmarks import published_open_loop as open_loop
from benchmarks.bench_validation_published import aims, coverage_entries, measure, write_coverages
from benchmarks.published_page import published
from benchmarks.results import kept

from caveat.simulator.grades import Coverage, Coverages, coverages, encode_coverages, measure_coverage
from tests.facts.real_data import SHARED

OPEN_LOOP = SHARED / "data" / "traces" / "vllm-h100-openloop" / "measured.csv"
needs_stages = pytest.mark.skipif(not OPEN_LOOP.is_file(), reason="the open-loop table is not beside the checkout")


@pytest.fixture(scope="module")
def tables():
    return kept()["validation_published"].tables


def entries_of(tables) -> list[Coverage]:
    return [msgspec.convert(msgspec.to_builtins(one), Coverage) for one in coverage_entries(tables)]


def test_what_grades_claim_is_what_the_kept_result_found(tables):
    """Every entry of grades B and C, number by number: nobody typed them in."""
    assert sorted(entries_of(tables), key=str) == sorted((one for one in coverages() if one.grade != "A"), key=str)


def test_the_page_tells_every_part_with_the_numbers_of_the_result(tables):
    """Sections, a row for each benchmark, aims missed or met, the mark of what is derived."""
    text = "\n".join(published(kept()["validation_published"]))
    for part in ("Open-loop stages", "From data sheets alone", "intercept check", "From Offline to Server"):
        assert part in text
    for one in tables["offline"]["by benchmark"]:
        assert f"| {one['benchmark']} | {one['figure']['tested']} | {one['figure']['coverage']:.0%} |" in text
    assert "Result not verified by MLCommons Association." in text
    assert len(aims(tables)) == 2
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(line) > 4 for line in lines)


def test_new_entries_take_the_place_of_old_ones_and_leave_others(tmp_path, tables):
    """What another benchmark measured stays."""
    path = tmp_path / "coverage.json"
    own = msgspec.structs.replace(entries_of(tables)[0], grade="A", figure="tpot", source="an endpoint")
    old = msgspec.structs.replace(entries_of(tables)[0], coverage=0.1)
    path.write_bytes(encode_coverages([own, old]))
    write_coverages(path, entries_of(tables))
    found = msgspec.json.decode(path.read_bytes(), type=Coverages).entries
    assert own in found
    assert old not in found
    assert len(found) == len(entries_of(tables)) + 1


@needs_stages
def test_overload_is_said_where_requests_failed():
    """A stage of long answers that lost two requests of three, told from the low rate of another experiment."""
    stages = open_loop.read_stages(OPEN_LOOP)
    assert len(stages) == 24
    rng = np.random.default_rng(1)
    low = next(one for one in stages if one.experiment.endswith("llama-2-70b-tp4-general"))
    belief = open_loop.believe(low, open_loop.ASSUMPTIONS[1], rng)
    failed = [open_loop.predict(belief, one) for one in stages if one.failed and one.model == low.model]
    assert failed
    assert all(one["load"].median > 1 and not one["predictable"] for one in failed)


@needs_stages
def test_one_low_stage_predicts_the_high_rate_of_the_same_experiment():
    """Code Llama at twice the rate: TPOT within 10 %, p95 TTFT within 15 %, both inside their intervals."""
    low, high = (s for s in open_loop.read_stages(OPEN_LOOP) if s.experiment == "codellama-34b-tp2-codegen")
    row = open_loop.predict(open_loop.believe(low, open_loop.ASSUMPTIONS[1], np.random.default_rng(1)), high)
    assert row["predictable"]
    for name, within in (("tpot", 0.10), ("ttft p95", 0.15)):
        seen, predicted = row[name]["seen"], row[name]["predicted"]
        assert predicted.median == pytest.approx(seen, rel=within)
        assert predicted.low <= seen <= predicted.high
    held = open_loop.held_of("tpot", [row])
    assert measure_coverage("B", "tpot", held, "here").coverage == 1.0


@needs_stages
@pytest.mark.full
def test_the_kept_result_is_found_again(tables):
    """The same data and seeds give the same shares and errors."""
    again = coverage_entries(msgspec.to_builtins(measure(OPEN_LOOP)))
    for one, other in zip(entries_of({**tables}), again, strict=True):
        found = msgspec.convert(other, Coverage)
        assert (one.grade, one.figure, one.tested) == (found.grade, found.figure, found.tested)
        assert one.coverage == pytest.approx(found.coverage, abs=0.01)
        assert one.median_error == pytest.approx(found.median_error, rel=0.02)
