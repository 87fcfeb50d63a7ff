"""A real engine, llama.cpp with a small model on one core: figures that hold together. Left out where it is missing."""

import random
from pathlib import Path

import pytest
from benchmarks.local_engine import MODEL, engine, missing

from caveat.figures import Run
from caveat.loadgen import Endpoint, Spec, experiment, record
from caveat.measure import columns_of
from caveat.workload import Arrivals, Concurrency, Fixed, Limits, Poisson, Separate, Workload

pytestmark = [pytest.mark.full, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

INPUT, OUTPUT = 100, 32


def measured(url: str, folder: Path, arrivals: Arrivals, limits: Limits) -> Run:
    workload = Workload(
        arrivals=arrivals,
        lengths=Separate(input=Fixed(value=INPUT), output=Fixed(value=OUTPUT)),
        limits=limits,
    )
    spec = Spec(endpoint=Endpoint(url=url, model=MODEL), workload=workload)
    experiment(spec, folder, version="0", started="2026-11-30T12:00:00+00:00", rng=random.Random(1))
    return record(folder, subject="measured/engine")


@pytest.fixture(scope="module")
def url():
    """One engine for all."""
    with engine() as found:
        yield found


@pytest.mark.parametrize(
    ("arrivals", "limits"),
    [(Concurrency(requests=4), Limits(requests=24)), (Poisson(rate_qps=0.5), Limits(duration_s=45.0))],
    ids=["concurrency", "poisson"],
)
def test_a_real_engine_gives_figures_that_hold_together(url, tmp_path, arrivals, limits):
    """Nothing fails, lengths are those that were asked for, Little's law holds.

    The first event has a role and null content; the engine closes the connection behind each stream without saying so.
    """
    run = measured(url, tmp_path / "run", arrivals, limits)
    outcomes = {(check.aspect, check.outcome): check.sentence for check in run.validity}
    for aspect in ("error rate", "length match", "consistency", "cache state", "client health"):
        assert any(found == aspect for found, _ in outcomes), aspect
    for aspect in ("error rate", "length match", "consistency"):
        assert (aspect, "fail") not in outcomes, outcomes
    columns = columns_of(tmp_path / "run" / "samples.parquet")
    assert set(columns.numbers("output_tokens_usage")) == {OUTPUT}
    first, byte, last = (columns.numbers(f"{name}_ns") for name in ("first_token", "first_byte", "last_token"))
    assert (first > byte).all() and (last > first).all()
    rate, tokens = run.row("caveat-request-rate"), run.row("caveat-output-tokens-rate-usage")
    assert rate is not None and tokens is not None and tokens.value == pytest.approx(OUTPUT * rate.value)
    assert {"caveat-ttft.mean", "caveat-tpot-usage.mean", "caveat-latency.mean"} <= {row.metric for row in run.rows}
