"""Random models and workloads: few and small, so that everything collides: ties, full caches, preemptions."""

from __future__ import annotations

from hypothesis import strategies as st

from caveat.simulator.assembly import FleetShape
from caveat.simulator.autoscaling import Autoscaling
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.failures import Failures, Outage
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.several_models import SeveralModels
from caveat.simulator.step_time import Piece, StepTime
from tests.simulator.plans import MS, Columns

times_ms = st.sampled_from([0.0, 0.0, 0.001, 0.01, 0.1, 1.0, 2.5])


@st.composite
def pieces(draw: st.DrawFn, from_tokens: int) -> Piece:
    return Piece(
        from_tokens=from_tokens,
        step_s=draw(st.sampled_from([0.5, 1.0, 7.0, 10.0])) / 1e3,
        prompt_token_s=draw(times_ms) / 1e3,
        prompt_pair_s=draw(st.sampled_from([0.0, 1e-7])),
        sequence_s=draw(times_ms) / 1e3,
        context_token_s=draw(st.sampled_from([0.0, 2e-8, 1e-5])),
    )


step_times = st.lists(st.integers(1, 40), max_size=2, unique=True).flatmap(
    lambda starts: st.tuples(*(pieces(start) for start in [0, *sorted(starts)])).map(lambda all: StepTime(pieces=all))
)

speculations = st.builds(
    Speculation,
    draft_tokens=st.integers(1, 4),
    acceptance=st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    draft_step_s=st.sampled_from([0.0, 1e-3]),
    draft_sequence_s=st.sampled_from([0.0, 1e-4]),
    seed=st.integers(0, 3),
)


@st.composite
def schedulers(draw: st.DrawFn, *, longest: int, output_s: float | None = None, cuts: bool = False) -> Scheduler:
    """Every switch; KV for one request at least. `cuts`: and a context so short that it cuts answers and refuses."""
    speculation = draw(st.none() | speculations)
    block = draw(st.sampled_from([1, 4, 8, 16]))
    kind = draw(st.sampled_from(["no limit", "blocks", "slots"]))  # fixed slots and KV blocks exclude each other
    slots = draw(st.sampled_from([1, 2, 3])) if kind == "slots" else None
    limited = kind == "blocks"
    context = draw(st.none() | st.sampled_from([20, 45, longest])) if cuts else None
    least = -(-(longest + (speculation.draft_tokens if speculation else 0)) // block)
    return Scheduler(
        policy=draw(st.sampled_from(["fcfs", "priority"])),
        max_num_seqs=draw(st.sampled_from([1, 2, 3, 8])),
        token_budget=draw(st.sampled_from([1, 3, 16, 64])),
        chunked_prefill=draw(st.booleans()),
        prefill_first=draw(st.booleans()),
        kv_blocks=least + draw(st.integers(0, 12)) if limited else None,
        block_tokens=block,
        watermark_blocks=draw(st.sampled_from([0, 0, 2])),
        static_slots=slots,
        context_tokens=context and context * (slots or 1),
        prefix_cache=draw(st.booleans()),
        speculation=speculation,
        intake_s=draw(st.sampled_from([0.0, 0.003])),
        output_s=draw(st.sampled_from([0.0, 0.002])) if output_s is None else output_s,
    )


@st.composite
def plans(draw: st.DrawFn, *, most: int = 24, prompt: int = 40, output: int = 60) -> Columns:
    """Gaps on a grid, so that arrivals meet boundaries; prefixes of few ids; some requests wait for others."""
    count = draw(st.integers(1, most))
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 3, 7, 10, 50, 400]), min_size=count, max_size=count))
    at, now = [], 0
    for gap in gaps:
        now += gap * MS
        at.append(now)
    inputs = draw(st.lists(st.integers(1, prompt), min_size=count, max_size=count))
    ids = [draw(st.lists(st.integers(0, 1), max_size=inputs[i] // 8)) for i in range(count)]
    after = [draw(st.integers(0, i - 1)) if i and draw(st.booleans()) else -1 for i in range(count)]
    waits = draw(st.booleans())
    return Columns(
        at_ns=at,
        input_tokens=inputs,
        output_tokens=draw(st.lists(st.integers(1, output), min_size=count, max_size=count)),
        after=after if waits else (),
        think_ns=draw(st.lists(st.sampled_from([0, MS, 20 * MS]), min_size=count, max_size=count)) if waits else (),
        prefixes=ids,
        concurrency=draw(st.none() | st.integers(1, 6)),
        block_tokens=8,
        block_requests=draw(st.sampled_from([5, 1 << 16])),
    )


routings = st.builds(
    Routing,
    router=st.sampled_from(sorted(ROUTERS)),
    seed=st.integers(0, 3),
    stale_s=st.sampled_from([0.0, 0.01, 0.05]),
    most_behind=st.integers(0, 3),
)

autoscalings = st.builds(
    Autoscaling,
    target_outstanding=st.sampled_from([0.5, 1.0, 3.0]),
    min_replicas=st.integers(1, 2),
    every_s=st.sampled_from([0.01, 0.1]),
    provisioning_s=st.sampled_from([0.0, 0.05]),
    down_after_s=st.sampled_from([0.0, 0.03]),
)


@st.composite
def failure_settings(draw: st.DrawFn, replicas: int) -> Failures:
    outage = st.builds(
        Outage,
        replica=st.integers(0, replicas - 1),
        at_s=st.sampled_from([0.0, 0.01, 0.02, 0.137]),
        for_s=st.sampled_from([None, 0.0, 0.03]),
    )
    return Failures(
        outages=tuple(draw(st.lists(outage, max_size=2))),
        mean_between_s=draw(st.sampled_from([None, 0.3, 2.0])),
        mean_repair_s=draw(st.sampled_from([0.0, 0.02, 0.2])),
        seed=draw(st.integers(0, 3)),
        retries=draw(st.integers(0, 3)),
    )


@st.composite
def split_pools(draw: st.DrawFn, replicas: int) -> Disaggregation:
    return Disaggregation(
        prefill_replicas=draw(st.integers(1, replicas - 1)),
        kv_bytes_per_token=draw(st.sampled_from([0.0, 1e3, 1e5])),
        link_bytes_per_s=1e8,
        links=draw(st.integers(1, 2)),
        latency_s=draw(st.sampled_from([0.0, 0.001])),
        decode_router=draw(st.sampled_from(["round-robin", "random", "least-outstanding", "power-of-two"])),
    )


@st.composite
def model_sets(draw: st.DrawFn, replicas: int) -> SeveralModels:
    others = tuple(draw(st.lists(step_times, min_size=1, max_size=2)))
    count = 1 + len(others)
    dedicated = count <= replicas and draw(st.booleans())
    return SeveralModels(
        others=others,
        shares=(1 / count,) * count,
        replicas=(replicas - count + 1, *(1 for _ in others)) if dedicated else None,
        swap_s=draw(st.sampled_from([0.0, 0.02])),
        most_behind=draw(st.integers(0, 3)),
        seed=draw(st.integers(0, 3)),
    )


@st.composite
def shapes(draw: st.DrawFn, replicas: int) -> FleetShape:
    """Every switch of a fleet, in every combination that there is."""
    what = draw(st.sampled_from(["neither", "split", "models"]))
    return FleetShape(
        disaggregation=draw(split_pools(replicas)) if what == "split" and replicas > 1 else None,
        several_models=draw(model_sets(replicas)) if what == "models" else None,
        autoscaling=draw(st.none() | autoscalings),
        failures=draw(st.none() | failure_settings(replicas)),
    )


@st.composite
def fleets(draw: st.DrawFn) -> tuple[int, FleetShape]:
    """Replicas, and the switches of their fleet."""
    replicas = draw(st.integers(1, 4))
    return replicas, draw(shapes(replicas))
