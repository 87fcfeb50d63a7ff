"""Published runs as evidence: Little's law, the intercept check, layouts; and models made from them."""

from dataclasses import dataclass

import numpy as np
import pytest

from caveat.errors import CannotSayError
from caveat.figures import Row, Run
from caveat.simulator.calibration import from_published
from caveat.simulator.capacity import interval_of, mean_step_s
from caveat.simulator.length_mix import mix_of_means
from caveat.simulator.published import layout_of, line_through, offline_of, point_of
from tests.builders import published_run

OUTPUT = 280.0


@dataclass(frozen=True)
class Truth:
    """A system of eight MI355X whose step is base + slope x N, N over the whole system."""

    base_s: float = 0.016
    slope_s: float = 8e-6

    def run(self, sequences: float, scenario: str = "server", *, tpot_min_s: float = 0.017, **changes) -> Run:
        tpot_s = self.base_s + self.slope_s * sequences
        rate = sequences / (tpot_s * (OUTPUT - 1))
        values = {
            "loadgen-completed-samples-rate": rate,
            "loadgen-latency.mean": 0.4 + tpot_s * (OUTPUT - 1),
            "loadgen-ttft.mean": 0.4,
            "loadgen-ttft.p99": 0.9,
            "loadgen-tpot.mean": tpot_s,
            "loadgen-tpot.min": tpot_min_s,
            "loadgen-tpot.p99": 1.2 * tpot_s,
            **changes.pop("values", {}),
        }
        rows = tuple(Row(metric=key, value=value) for key, value in values.items() if value is not None)
        return published_run(
            value=rate * OUTPUT, rows=rows, scenario=scenario, accelerator_stated="AMD Instinct MI355X", **changes
        )

    def offline(self, tokens_per_s: float) -> Run:
        return published_run(
            value=tokens_per_s, scenario="offline", accelerator_stated="AMD Instinct MI355X", loop=None, arrivals=None
        )


def test_requests_in_decode_come_out_the_same_both_ways():
    """By latencies and by tokens, at the concurrency that the run had."""
    point = point_of(Truth().run(2000.0))
    assert point.sequences == pytest.approx(2000.0)
    assert point.little_ratio == pytest.approx(1.0)
    assert point.output_tokens == pytest.approx(OUTPUT)
    assert all(figure.startswith(point.run_id) for figure in point.figures)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"values": {"loadgen-tpot.mean": 0.001}}, "by latency and"),
        ({"values": {"loadgen-latency.mean": 0.3}}, "by latency and"),
        ({"values": {"loadgen-tpot.p99": None}}, "loadgen-tpot.p99 is not disclosed"),
        ({"scenario": "offline"}, "found scenario 'offline'"),
    ],
)
def test_a_run_that_contradicts_itself_or_is_silent_gives_no_point(changes, said):
    """3 % is a wrong unit or chunks for tokens, never noise."""
    with pytest.raises(CannotSayError, match=said):
        point_of(Truth().run(2000.0, **changes))


@pytest.mark.parametrize(("apart", "refused"), [(0.02, False), (-0.02, False), (0.05, True), (-0.05, True)])
def test_requests_in_decode_two_ways_may_be_three_percent_apart(apart, refused):
    """2 % is rounding, 5 % is another run."""
    tpot_s = 0.016 + 8e-6 * 2000
    run = Truth().run(2000.0, values={"loadgen-tpot.mean": tpot_s * (1 + apart)})
    if refused:
        with pytest.raises(CannotSayError, match="within 3% of each other"):
            point_of(run)
    else:
        assert point_of(run).little_ratio == pytest.approx(1 + apart)


def test_two_points_give_the_line_they_lie_on():
    """Intercept and slope, and the check against the fastest token."""
    truth = Truth()
    line = line_through(point_of(truth.run(12000.0)), point_of(truth.run(2000.0, "interactive")))
    assert line.intercept_s == pytest.approx(truth.base_s)
    assert line.slope_s == pytest.approx(truth.slope_s)
    assert line.holds
    assert line.pools_with(point_of(truth.run(5000.0)))
    assert not line.pools_with(point_of(truth.run(5000.0, tpot_min_s=0.010)))


def test_loads_too_alike_are_one_point():
    """A slope through them would be noise."""
    truth = Truth()
    with pytest.raises(CannotSayError, match="are one point, not two"):
        line_through(point_of(truth.run(2000.0)), point_of(truth.run(2200.0, "interactive")))


def test_an_offline_run_gives_its_rate_and_its_length():
    """And nothing else."""
    rate = offline_of(Truth().offline(100_000.0))
    assert (rate.tokens_per_s, rate.output_tokens) == (100_000.0, 280.0)
    with pytest.raises(CannotSayError, match="expected offline"):
        offline_of(Truth().run(100.0))


def test_the_narrowest_spread_that_fits_is_assumed_and_said():
    """FP4 weights of 70B on one MI355X each; a spread that is given is not assumed."""
    found = layout_of(Truth().run(100.0))
    assert (found.roofline.tensor_parallel, found.replicas, found.assumed) == (1, 8, True)
    assert (found.roofline.accelerator, found.roofline.precision, found.roofline.kv_precision) == (
        "MI355X",
        "fp4",
        "fp8",
    )
    given = layout_of(Truth().run(100.0), tensor_parallel=4)
    assert (given.roofline.tensor_parallel, given.replicas, given.assumed) == (4, 2, False)
    assert layout_of(Truth().run(100.0, weight_precision="bf16")).roofline.kv_precision == "bf16"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"accelerator_stated": "Some Chip"}, "no specifications are known of"),
        ({"weight_precision": None}, "do not make a roofline"),
        ({"accelerators": None}, "do not make a roofline"),
        ({"model": "gptj", "benchmark": "gptj-99"}, "do not make a roofline"),
    ],
)
def test_a_system_that_is_not_known_has_no_layout(changes, said):
    """Unknown is unknown."""
    run = Truth().run(100.0)
    known = {**run.conditions.known, **changes}
    if changes.get("accelerator_stated"):
        known["accelerator"] = "Some Chip"
    changed = published_run(rows=run.rows[1:], **{key: known.get(key) for key in {*known, *changes}})
    with pytest.raises(CannotSayError, match=said):
        layout_of(changed)


def test_a_model_from_two_runs_predicts_the_step_at_a_third_load():
    """Within 5 %, and inside its interval; sources are the figures it came from."""
    truth = Truth()
    runs = [truth.run(12000.0), truth.run(2000.0, "interactive"), truth.offline(150_000.0)]
    model = from_published("box", runs[:2], np.random.default_rng(1), input_tokens=294, date="2026-11-30")
    assert (model.grade, model.fleet.replicas, model.scheduler.max_num_seqs) == ("B", 8, "unknown")
    assert model.scheduler.kv_blocks
    assert len(model.provenance.sources) == 16
    assert "mean prompt of 294 tokens" in model.provenance.note[0]
    mix = mix_of_means(294, OUTPUT)
    seen = truth.base_s + truth.slope_s * 6000
    found = interval_of(mean_step_s(one.step_time, mix, 6000 / 8) for one in model.step_time.draws_of())
    assert found.low <= seen <= found.high
    assert mean_step_s(model.step_time.step_time(), mix, 6000 / 8) == pytest.approx(seen, rel=0.05)
    with_offline = from_published("box", runs, np.random.default_rng(1), input_tokens=294, date="2026-11-30")
    assert len(with_offline.provenance.sources) == 17


def test_runs_that_did_not_run_the_same_way_make_no_model():
    """The intercept lies above the fastest token, or they are of two systems, or there are none."""
    truth, rng = Truth(), np.random.default_rng(1)
    fast = [truth.run(12000.0), truth.run(2000.0, "interactive", tpot_min_s=0.004)]
    for runs, said in (
        (fast, "did not run the same way"),
        ([fast[0], truth.run(2000.0, "interactive", submitter="Else")], "submitter: found AMD, Else"),
        ([], "found no runs"),
    ):
        with pytest.raises(CannotSayError, match=said):
            from_published("box", runs, rng, input_tokens=294, date="2026-11-30")
