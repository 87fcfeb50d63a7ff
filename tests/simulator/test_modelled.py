"""From a model file to a server."""

import numpy as np
import pytest

from caveat.errors import CannotSayError, UsageError
from caveat.measure import Kept
from caveat.simulator.calibration import from_data_sheets
from caveat.simulator.model_file import SchedulerTable
from caveat.simulator.modelled import server_of
from caveat.simulator.published import Layout
from caveat.simulator.roofline import Roofline
from caveat.simulator.target import VirtualClock
from caveat.workload import Constant, Fixed, Limits, Separate, Workload

REPLICA = Roofline(accelerator="B200", model="llama2-70b", tensor_parallel=1, precision="fp4")
LAYOUT = Layout(roofline=REPLICA, replicas=2, assumed=False)
WORKLOAD = Workload(
    arrivals=Constant(rate_qps=2.0),
    lengths=Separate(input=Fixed(value=300), output=Fixed(value=50)),
    limits=Limits(requests=20),
    seed=1,
)


def model(limit):
    return from_data_sheets(
        "m", LAYOUT, np.random.default_rng(1), date="2026-11-30", scheduler=SchedulerTable(max_num_seqs=limit)
    )


def ends(server):
    sink = Kept()
    server.offer(WORKLOAD.plan(), sink, VirtualClock())
    return sink.table().column("end_ns").to_numpy()


def test_a_modelled_fleet_serves_a_plan_and_draws_differ():
    """The settings are those of the file; a draw has its own step and overhead; the same draw is the same server."""
    one = model(64)
    server = server_of(one)
    assert (server.replicas, server.scheduler.max_num_seqs, server.scheduler.intake_s) == (
        2,
        64,
        one.overheads.intake_s,
    )
    assert server.scheduler.kv_blocks == REPLICA.kv_tokens() // 16
    draws = one.step_time.draws_of()
    assert server_of(one, draw=3).scheduler.intake_s == draws[3].overhead_s
    assert server_of(one, draw=len(draws) + 3).step_time == draws[3].step_time
    assert (ends(server_of(one, draw=3)) == ends(server_of(one, draw=3))).all()
    assert (ends(server_of(one, draw=3)) != ends(server)).any()


def test_a_server_needs_a_batch_limit():
    """Unknown is asked for, not made up."""
    with pytest.raises(CannotSayError, match="max_num_seqs is not one number"):
        server_of(model("unknown"))
    assert server_of(model("unknown"), max_num_seqs=8).scheduler.max_num_seqs == 8
    with pytest.raises(UsageError, match="draw: found -1"):
        server_of(model(8), draw=-1)
