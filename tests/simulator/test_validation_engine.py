"""The validation on a real engine, with a modelled engine in its place: errors, aims, coverage and the page."""

import argparse
import re

import msgspec
import numpy as np
import pytest
from benchmarks import bench_validation_engine as bench
from benchmarks.results import Result, kept, machine
from benchmarks.validation_engine_errors import Line, aims, coverages_of, figures, shown
from benchmarks.validation_engine_page import validation_engine

from caveat.loadgen import SAMPLES, Endpoint, Spec, encode_spec
from caveat.measure import Kept, ParquetSink
from caveat.simulator.capacity import Interval
from caveat.simulator.model_file import Residual
from caveat.simulator.predict_draws import noisy
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer, VirtualClock
from tests.simulator.engines import BENT, plan_of, samples_of

RESIDUAL = Residual(ttft_sd=0.05, token_sd=0.05)


class Modelled(bench.Session):
    """Makes runs with an engine whose step is known, with some noise of requests."""

    def measure(self, name, offered, slots):
        """As the session of the benchmark leaves them."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        spec = Spec(endpoint=Endpoint(url="http://127.0.0.1:1", model="m"), workload=offered)
        (folder / "spec.json").write_bytes(encode_spec(spec))
        sink = Kept()
        scheduler = Scheduler(static_slots=slots, token_budget=2048, intake_s=8e-3)
        SimulatedServer(BENT, scheduler).offer(spec.plan(), sink, VirtualClock())
        parquet = ParquetSink(folder / SAMPLES)
        rng = np.random.default_rng(len(list(self.folder.iterdir())))
        for batch in noisy(sink.table(), RESIDUAL, rng).to_batches():
            parquet.take(batch)
        parquet.close()
        (folder / "load.txt").write_text("0.10 1.20")


@pytest.mark.full
def test_a_known_engine_is_predicted_and_everything_is_kept(tmp_path, capsys):
    """Two conditions, one repeat: errors are small, the page tells them, and what was run is not run again."""
    asked = argparse.Namespace(
        folder=tmp_path / "runs",
        seconds=100.0,
        rates=(0.35, 0.75),
        trace=None,
        evaluate=False,
        only=["rate 0.85", "slots"],
        repeats=1,
        json=tmp_path / "results" / "validation_engine.json",
        coverage=tmp_path / "coverage.json",
    )
    bench.report(asked, Modelled(asked))
    result = kept(asked.json.parent)["validation_engine"]
    lines = msgspec.convert(result.tables["rows"], list[Line])
    assert {line.condition for line in lines} == {"rate 0.85", "slots"}
    assert {line.how for line in lines} == {"fit", "linear"}
    token_times = [abs(line.error) for line in lines if line.how == "fit" and line.figure.startswith(("tpot", "e2e"))]
    assert np.median(token_times) < 0.1
    page = "\n".join(validation_engine(result))
    assert re.search(r"\| the same requests at 0\.85 of capacity \| 1 \| \d+ \| 0\.85 \|", page)
    assert page.count("\n| TTFT p95 | 2 |") == 1
    assert '"ttft p95"' in asked.coverage.read_text()
    before = {path: path.stat().st_mtime_ns for path in asked.folder.rglob("*")}
    again = Modelled(asked)
    again.calibration()
    assert again.held_out(bench.CONDITIONS[0], 0, None, True) is not None
    assert {path: path.stat().st_mtime_ns for path in asked.folder.rglob("*")} == before
    assert "run 1, predicted from the others" in capsys.readouterr().out


def test_figures_are_nearest_ranks_from_the_moment_a_request_was_due():
    """Against the samples themselves."""
    samples = samples_of(plan_of(0.5, 40, 3))
    ttft = np.sort(samples["first_token_ns"].to_numpy() - samples["ready_ns"].to_numpy()) / 1e9
    found = figures(samples)
    assert found["ttft p50"] == pytest.approx(ttft[19], abs=1e-9)
    assert found["ttft p95"] == pytest.approx(ttft[37], abs=1e-9)
    assert set(found) == {f"{name} {p}" for name in ("ttft", "tpot", "e2e") for p in ("p50", "p95")}


def line(seen: float, low: float, median: float, high: float, figure: str = "tpot p50") -> Line:
    interval = Interval(low=low, median=median, high=high)
    return Line(condition="c", repeat=0, how="fit", figure=figure, seen=seen, predicted=interval, load=0.5, requests=10)


def test_aims_and_coverage_count_what_fell_inside():
    """Three of four inside; the errors' medians decide."""
    lines = [line(1.0, 0.9, 1.05, 1.2, name) for name in ("tpot p50", "e2e p50", "ttft p95")]
    lines.append(line(1.0, 1.1, 1.3, 1.4, "tpot p95"))
    found = aims(lines)
    assert [aim.met for aim in found] == [False, True, True, True]
    assert found[0].found == pytest.approx(0.175)
    assert found[3].found == 0.75
    by_figure = {one.figure: one for one in coverages_of(lines)}
    assert by_figure["tpot p95"].coverage == 0.0
    assert by_figure["tpot p95"].widened_by == pytest.approx(1.1)
    assert by_figure["ttft p95"].widened_by == 1.0
    assert {(one.systems, one.conditions) for one in by_figure.values()} == {(1, 1)}
    assert sum("OUTSIDE" in text for text in shown(lines)) == 1
    assert aims([]) == []


def test_without_a_run_there_is_nothing_to_evaluate(tmp_path, capsys):
    """It says so and keeps nothing."""
    bench.main(["--folder", str(tmp_path / "none"), "--evaluate", "--json", str(tmp_path / "x.json")])
    said = capsys.readouterr().out
    assert "calibration runs are not there" in said or "left out" in said
    assert not (tmp_path / "x.json").exists()
    assert Result("validation_engine", machine(), {}, {}).name == "validation_engine"
