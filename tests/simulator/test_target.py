"""SimulatedServer as a Target: the schema, figures from its samples, clocks, cancelling, settings that mean nothing."""

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.measure import Client, Counting, Kept, schema, summarize
from caveat.simulator.routers import Routing
from caveat.simulator.scheduler import Scheduler, Speculation
from caveat.simulator.target import SimulatedServer, VirtualClock
from caveat.workload import Concurrency, Fixed, Limits, Poisson, Prefixes, Separate, Sessions, Think, Workload
from tests.simulator.plans import Columns, S, affine, poisson, serve

FLAT = affine(step_ms=10)


def test_samples_make_figures_and_are_valid():
    """A million-token hour of Poisson arrivals: all checks of a measured run hold, none is about a client."""
    workload = Workload(
        arrivals=Poisson(20.0),
        lengths=Separate(input=Fixed(200), output=Fixed(50)),
        limits=Limits(requests=5000),
    )
    plan, sink = workload.plan(), Kept()
    SimulatedServer(affine(5, 0.02, 0.1)).offer(plan, sink, VirtualClock())
    table = sink.table()
    assert table.schema.equals(schema(), check_metadata=True)
    summary = summarize(table, workload=plan.describe(), client=Client(virtual=True))
    assert {check.outcome for check in summary.validity} <= {"pass", "not applicable"}
    assert summary.row("caveat-ttft.p50") is not None
    assert summary.conditions["output_tokens"]["mean"] == 50


def test_the_same_offer_gives_the_same_samples():
    """To the last byte, after another offer in between."""
    rng = np.random.default_rng(1)
    plan = Columns(poisson(rng, 50, 500), rng.integers(1, 500, 500), rng.integers(1, 100, 500))
    server = SimulatedServer(
        affine(5, 0.02, 0.1),
        Scheduler(kv_blocks=200, speculation=Speculation(draft_tokens=2, acceptance=0.6)),
        replicas=2,
        routing=Routing(router="power-of-two"),
    )
    first = serve(server, plan)
    serve(server, Columns([0], [1], [1]))
    assert serve(server, plan).table.equals(first.table)


@pytest.mark.parametrize("arrivals", [Poisson(5.0), Concurrency(7)])
def test_sessions_with_shared_prompts(arrivals):
    """A whole workload with conversations: the cache finds at least what their turns share."""
    workload = Workload(
        arrivals=arrivals,
        lengths=Separate(input=Fixed(100), output=Fixed(40)),
        limits=Limits(requests=600),
        sessions=Sessions(turns=Fixed(4), think=Think(mean_s=1.0)),
        prefixes=Prefixes(prompts=3, tokens=Fixed(512)),
    )
    served = serve(SimulatedServer(affine(5, 0.02, 0.1), Scheduler(prefix_cache=True)), workload.plan())
    assert served.table.num_rows == 600 and served.table["error_class"].null_count == 600
    assert served.internals.hit_share > 0.5


def test_time_is_set_as_it_goes_and_rows_come_in_batches():
    """20,000 requests: batches of a few thousand in order of their ends; the clock ends where the last ends."""
    clock, sink = VirtualClock(), Kept()
    plan = Columns(np.arange(20_000) * 1_000_000, np.ones(20_000), np.ones(20_000))
    SimulatedServer(affine(step_ms=0.1)).offer(plan, sink, clock)
    table = sink.table()
    ends = table["end_ns"].to_numpy()
    assert table["end_ns"].num_chunks > 1 and (np.diff(ends) >= 0).all()
    assert clock.now_ns() == ends[-1]


class AskedToStop:
    """Asks after so many looks."""

    def __init__(self, looks):
        self.looks = looks

    def requested(self):
        self.looks -= 1
        return self.looks < 0


def test_cancelling_stops_feeding_and_serves_what_is_under_way():
    """Rows from then on are marked as drained; none is lost, none is half served."""
    sink = Kept()
    plan = Columns(np.arange(100_000) * 1_000_000, np.full(100_000, 10), np.full(100_000, 100))
    SimulatedServer(FLAT).offer(plan, sink, VirtualClock(), AskedToStop(2))
    table = sink.table().sort_by("request")
    assert table["request"].to_pylist() == list(range(table.num_rows))
    assert 0 < table.num_rows < 50_000 and table["error_class"].null_count == table.num_rows
    phases = set(table["phase"].to_pylist())
    assert phases == {"measured", "drain"}


def test_a_sink_that_fails_is_closed():
    """The error goes on to the caller."""

    class Full(Counting):
        def take(self, batch):
            raise OSError("disk full")

    sink = Full()
    with pytest.raises(OSError, match="disk full"):
        SimulatedServer(FLAT).offer(Columns([0], [1], [1]), sink, VirtualClock())
    assert sink.closed


def test_a_plan_without_requests_has_no_samples():
    """And no share of a time that did not pass."""
    sink = Counting()
    server = SimulatedServer(FLAT)
    server.offer(Columns([], [], []), sink, VirtualClock())
    assert (sink.requests, sink.closed) == (0, True)
    assert server.internals.busy_share is None and server.internals.hit_share is None


def test_days_of_virtual_time_stay_exact():
    """Beyond 2^63 femtoseconds, which are two and a half hours."""
    plan = Columns([0, 10 * 86_400 * S + 1], [1, 1], [1000, 1000])
    served = serve(SimulatedServer(affine(step_ms=10, context_ms=0.001)), plan)
    assert served.ints("end_ns")[1] - served.ints("ready_ns")[1] == served.ints("end_ns")[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scheduler(max_num_seqs=0), "scheduler: max_num_seqs: found 0, expected a whole number from 1"),
        (lambda: Scheduler(kv_blocks=0), "scheduler: kv_blocks: found 0"),
        (lambda: Scheduler(intake_s=float("nan")), "scheduler: intake_s: found nan, expected a number from 0"),
        (lambda: Scheduler(static_slots=4, kv_blocks=9), "found static_slots with kv_blocks, expected one of them"),
        (lambda: Scheduler(token_budget=1 << 40, max_num_seqs=1 << 40), "expected max_num_seqs x token_budget"),
        (lambda: Speculation(draft_tokens=2, acceptance=1.5), "acceptance: found 1.5, expected a number from 0 to 1"),
        (lambda: Speculation(draft_tokens=0, acceptance=0.5), "draft_tokens: found 0, expected a whole number from 1"),
        (lambda: Routing(router="best"), "routing: router: found 'best', expected one of round-robin"),
        (lambda: Routing(stale_s=-1.0), "routing: stale_s: found -1.0"),
        (lambda: SimulatedServer(FLAT, replicas=0), "fleet: replicas: found 0"),
        (lambda: SimulatedServer(FLAT, limit=0), "fleet: limit: found 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, message):
    """With what was found and what was expected."""
    with pytest.raises(InputError, match=message):
        make()
