"""Folders of experiments for tests, as a run leaves them: made by hand, so that every time in them is known."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq

from caveat.loadgen import Endpoint, Notes, Spec
from caveat.loadgen.folder import NOTES, SAMPLES, SPEC
from caveat.loadgen.selfcheck import ClientHealth
from caveat.loadgen.spec import encode_spec
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload, plan_digest
from tests.measure.samples import samples

SUBJECT = f"measured/{'0a' * 16}"
HEALTH = ClientHealth(
    processes=1,
    requests=400,
    failed=0,
    client_limit_errors=0,
    late_p50_s=0.0,
    late_p99_s=0.0,
    late_max_s=0.0,
    loop_lag_p99_s=0.001,
    loop_lag_max_s=0.002,
    stall_p50_s=0.0,
    stall_p99_s=0.0,
    cpu_share=0.1,
    cpu_share_p95=0.2,
    cpu_wait_share=0.0,
    cpu_s=1.0,
    in_flight_most=4,
    connections=8,
    connections_ahead=8,
    file_descriptors=10,
    file_descriptor_limit=1024,
)


def poisson_spec(**changes: Any) -> Spec:
    """400 Poisson requests of 100 tokens in and 10 out."""
    workload = Workload(
        arrivals=Poisson(rate_qps=20.0),
        lengths=Separate(input=Fixed(value=100), output=Fixed(value=10)),
        limits=Limits(requests=400),
        seed=3,
    )
    return Spec(**{"endpoint": Endpoint(url="http://127.0.0.1:9", model="m"), "workload": workload, **changes})


def made_folder(
    folder: Path,
    *,
    slower: float = 1.0,
    late_s: float = 0.0,
    spec: Spec | None = None,
    columns: Any = None,
    **notes: Any,
):
    """The folder of a run whose every request took half a second and a little, times `slower`. Gives it back."""
    spec = spec or poisson_spec()
    plan = spec.workload.plan()
    due_s = np.concatenate([block.at_ns for block in plan.blocks()]) / 1e9
    took_s = slower * (0.5 + 0.05 * np.sin(np.arange(len(due_s)) ** 2))
    table = samples(due_s, took_s, output=10, **(columns or {}))
    if late_s:
        due = table.column("ready_ns").to_numpy()
        late = table.schema.get_field_index("sent_ns")
        table = table.set_column(late, table.schema.field(late), [due + round(late_s * 1e9)])
    folder.mkdir(parents=True)
    (folder / SPEC).write_bytes(encode_spec(spec))
    pq.write_table(table, folder / SAMPLES)
    said = {"version": "1", "started": "2026-01-01T00:00:00+00:00", "plan": plan_digest(plan), "subject": SUBJECT}
    kept = Notes(**{**said, "salt": 5, "client": "a box", "health": HEALTH, **notes})
    (folder / NOTES).write_bytes(msgspec.json.encode(kept))
    return folder


def text_of(folder: Path) -> bytes:
    """Every byte below a folder, samples also as they read: compression must not hide what a search looks for."""
    found = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    found += [str(pq.read_table(path).to_pylist()).encode() for path in sorted(folder.rglob("*.parquet"))]
    return b"\n".join(found)
