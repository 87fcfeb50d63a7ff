"""Whole runs through the official LoadGen: what it makes of fixed delays, and of everything that goes wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from caveat.errors import InputError, RefusedError, UsageError
from caveat.importers import read
from caveat.loadgen import Endpoint, Settings
from caveat.loadgen.frames import ORDER, READY, read_frame, write_frame
from caveat.loadgen.official import OfficialCounts, run
from caveat.loadgen.official.process import OfficialOrder
from caveat.loopback import Loopback, behaviour_of
from caveat.workload import ScheduleSettings, loadgen_schedule
from tests.loadgen.official.runs import SEEDS, needs_loadgen, ran, settings
from tests.loadgen.server import GOOD, HANG, Server, delta, finish, stream, usage

pytestmark = needs_loadgen

FAST = {"ttft_s": 0.005, "itl_s": 0.001}


@pytest.fixture
def url():
    """An endpoint whose first token takes 5 ms and each further one 1 ms."""
    with Loopback(behaviour_of(FAST)).start() as running:
        yield running.url


def logged(path: Path, key: str) -> float:
    """A number of a summary log."""
    found = re.search(rf"^{re.escape(key)}\s*: (-?[\d.e+]+)$", path.read_text(), re.MULTILINE)
    assert found is not None, key
    return float(found[1])


def test_a_server_run_has_the_schedule_of_our_own_and_is_read_by_our_importer(url, tmp_path):
    """Vector A of 601 queries: LoadGen's counts and times, our samples, and the Run made of its logs agree."""
    told: list[int] = []
    official = ran(
        url,
        tmp_path / "run",
        target_qps=200.0,
        min_duration_s=3.0,
        min_queries=100,
        progress=lambda so_far: told.append(so_far.issued),
    )
    schedule = loadgen_schedule(
        ScheduleSettings(seed=SEEDS["schedule_seed"], target_qps=200.0, min_duration_ns=3_000_000_000, min_queries=100)
    )
    assert (official.verdict, official.exit, official.problems) == ("VALID", 0, ())
    assert official.valid is not bool(official.client_limits)  # a busy machine is no fault of the run's
    assert official.counts == OfficialCounts(issued=601, completed=601)
    assert told and told == sorted(told) and told[-1] <= 601
    rows = pq.read_table(official.samples).sort_by("request").to_pydict()
    assert rows["scheduled_ns"] == schedule.tolist() and rows["error_class"] == [None] * 601
    assert set(rows["output_tokens_usage"]) == {4}
    order = json.loads(official.order.read_bytes())
    assert len(order["indices"]) == 601 and set(order["indices"]) <= set(range(64))
    first = np.sort(np.array(rows["first_token_ns"]) - schedule)
    ours_ns, theirs_ns = first[300], logged(official.summary, "50.00 percentile first token latency (ns)")
    assert theirs_ns == pytest.approx(ours_ns, rel=0.02, abs=2e6)

    imported = read([official.folder], verify=True)
    assert imported.problems == () and len(imported.runs) == 1
    outcomes = {check.aspect: check.outcome for check in imported.runs[0].validity}
    assert (outcomes["harness verdict"], outcomes["latency limits"], outcomes["schedule"]) == ("pass", "pass", "pass")
    assert outcomes["review"] == "unknown"


def test_a_limit_that_is_not_met_makes_the_run_invalid(url, tmp_path, monkeypatch):
    """5 ms to the first token, and a limit of 1 ms. An audit.config of the caller's folder changes nothing."""
    (tmp_path / "audit.config").write_text("*.*.mode = 2\n*.*.min_query_count = 3\n")
    monkeypatch.chdir(tmp_path)
    official = ran(url, Path("run"), ttft_s=0.001, min_queries=20)
    assert (official.verdict, official.valid, official.problems) == ("INVALID", False, ())
    assert official.counts == OfficialCounts(issued=20, completed=20)
    assert "TTFT" in official.summary.read_text()
    outcomes = {check.aspect: check.outcome for check in read([official.folder]).runs[0].validity}
    assert (outcomes["harness verdict"], outcomes["latency limits"]) == ("fail", "fail")


@pytest.mark.parametrize(
    ("changes", "count", "verdict", "says"),
    [
        (
            {"scenario": "offline", "min_queries": 300, "offline_in_flight": 16},
            300,
            "VALID",
            "Tokens per second",
        ),
        ({"scenario": "single-stream", "min_queries": 250}, 250, "VALID", "Would discard 13"),
        (
            {"scenario": "multi-stream", "min_queries": 20, "samples_per_query": 4},
            80,
            "INVALID",
            "Need to process at least 662",
        ),
        (
            {"token_latencies": False, "latency_s": 2.0, "min_queries": 460},
            460,
            "VALID",
            "99.00 percentile latency",
        ),
    ],
    ids=["offline", "single-stream", "multi-stream", "whole latencies"],
)
def test_every_scenario_runs_and_is_read(tmp_path, changes, count, verdict, says):
    """With LoadGen's own words on early stopping: 250 queries at p90 discard 13, multi-stream needs 662."""
    with Loopback(behaviour_of({})).start() as running:
        official = ran(running.url, tmp_path / "run", target_qps=2000.0, **changes)
    assert (official.verdict, official.problems) == (verdict, ())
    assert official.counts == OfficialCounts(issued=count, completed=count)
    assert says in official.summary.read_text()
    rows = pq.read_table(official.samples).to_pydict()
    assert sorted(rows["request"]) == list(range(count))
    scheduled = set(rows["scheduled_ns"])
    assert scheduled == {0} if "offline" in changes.values() else scheduled == {None} or len(scheduled) == count
    (imported,) = read([official.folder]).runs
    assert imported.conditions.get("scenario") == changes.get("scenario", "server")


def test_a_request_that_hangs_is_ended_by_its_time_and_counted(tmp_path):
    """LoadGen would wait for ever; it is told, and the run is not valid whatever it says."""
    with Server(lambda number, _: [HANG] if number in (2, 5) else [GOOD]) as server:
        official = ran(server.url, tmp_path / "run", client=Settings(timeout_s=0.3))
    assert official.counts == OfficialCounts(issued=8, completed=6, failed=2, timed_out=2)
    assert official.exit == 0 and official.verdict is not None and not official.valid
    assert "2 of 8 requests failed (2 by time, 0 by the deadline of the run)" in official.problems[0]
    assert [row for row in pq.read_table(official.samples)["error_class"].to_pylist() if row] == ["timeout"] * 2


def test_the_deadline_ends_what_is_in_flight_and_what_comes_after(tmp_path):
    """Nothing is answered; the key of the endpoint stands in no file."""
    with Server(lambda number, _: [HANG]) as server:
        official = ran(
            server.url,
            tmp_path / "run",
            deadline_s=0.2,
            target_qps=20.0,
            key_env="A_KEY",
            environ={**os.environ, "A_KEY": "sk-secret-1234"},
        )
        assert all(b"Bearer sk-secret-1234" in request for request in server.requests)
    assert official.counts == OfficialCounts(issued=8, failed=8, cancelled=8)
    assert "8 of 8 requests failed" in " ".join(official.problems)
    assert all(b"sk-secret" not in path.read_bytes() for path in official.folder.iterdir())


def test_a_server_that_refuses_connections_fails_every_request(tmp_path):
    """Also those of an offline run that had to wait for a place."""
    with Server(lambda number, _: [GOOD]) as server:
        url = server.url
    official = ran(url, tmp_path / "run", scenario="offline", min_queries=40, offline_in_flight=4)
    assert official.counts == OfficialCounts(issued=40, failed=40)
    assert set(pq.read_table(official.samples)["error_class"].to_pylist()) == {"refused"}


def test_answers_of_one_token_or_without_usage_are_counted_and_said(tmp_path):
    """LoadGen has no figure for either; it logs errors and both are named."""
    one = stream(delta(content="a"), finish("length"), usage(7, 1))
    unsaid = stream(delta(content="a"), delta(content="b"), finish())
    with Server(lambda number, _: [(one, unsaid, GOOD, GOOD)[number % 4]]) as server:
        official = ran(server.url, tmp_path / "run")
    assert official.counts == OfficialCounts(issued=8, completed=8, without_usage=2, single_token=2)
    assert len(official.problems) == 3 and not official.valid
    assert official.problems[-1].startswith("LoadGen logged 4 errors")


def test_accuracy_mode_keeps_every_answer_once(tmp_path):
    """Each sample of the library, the prompts given, and the text of the answer as bytes; no verdict and no problem."""
    texts = tuple(f'What is {number} times "two"?' for number in range(6))
    with Server(lambda number, _: [GOOD]) as server:
        official = ran(
            server.url, tmp_path / "run", mode="accuracy", performance_samples=4, total_samples=6, prompts=texts
        )
        asked = sorted(str(body["messages"][0]["content"]) for body in server.bodies())
    assert (official.verdict, official.problems, official.counts.completed) == (None, (), 6)
    assert asked == sorted(texts)
    kept = json.loads(official.accuracy.read_bytes())
    assert sorted(entry["qsl_idx"] for entry in kept) == list(range(6))
    assert {bytes.fromhex(entry["data"]) for entry in kept} == {b"ab"}
    assert "What is" not in (official.folder / "settings.json").read_text()


def test_a_test_that_does_not_end_is_ended_with_its_process(url, tmp_path, monkeypatch):
    """LoadGen goes through its schedule of a minute whatever it is told; there is no verdict then."""
    monkeypatch.setattr(run, "GRACE_S", 0.2)
    official = ran(url, tmp_path / "run", min_duration_s=60.0, deadline_s=0.3)
    assert (official.verdict, official.exit, official.counts) == (None, -9, None)
    assert official.problems[0].startswith("LoadGen had not ended 0.2 s after the deadline of 0.3 s")


def test_the_process_ends_with_its_parent(url, tmp_path):
    """Its standard input closes, and it goes, in the middle of a run of a minute."""
    order = OfficialOrder(
        settings=settings(min_duration_s=60.0),
        endpoint=Endpoint(url=url, model="m"),
        folder=str(tmp_path),
        deadline_s=60.0,
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "caveat.loadgen.official"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        write_frame(child.stdin, ORDER, msgspec.json.encode(order))
        assert read_frame(child.stdout) == (READY, b"")
        child.stdin.close()
        assert child.wait(10) == 3
    finally:
        child.kill()
        child.stdout.close()


def test_a_process_that_dies_leaves_a_result_that_says_so(url, tmp_path):
    """It finds a package that cannot be loaded; its last words are in the result."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "mlperf_loadgen.py").write_text("raise SystemError('built for another machine')\n")
    environ = {**os.environ, "PYTHONPATH": str(broken)}
    official = ran(url, tmp_path / "run", environ=environ)
    assert (official.verdict, official.exit, official.counts) == (None, 1, None)
    assert official.problems[0] == ("LoadGen's process ended with status 1: SystemError: built for another machine.")


def test_what_cannot_begin_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    """A missing package, a folder with files, a missing key, an endpoint that does not stream."""
    nowhere = Endpoint(url="http://127.0.0.1:9", model="m")
    folder = tmp_path / "run"
    with pytest.raises(UsageError, match="streaming"):
        ran(nowhere.url, folder, stream=False)
    with pytest.raises(InputError, match="A_KEY"):
        ran(nowhere.url, folder, key_env="A_KEY", environ={})
    with pytest.raises(UsageError, match="deadline_s"):
        ran(nowhere.url, folder, deadline_s=0.0)
    with pytest.raises(UsageError, match="proxy"):
        ran("http://192.0.2.1", folder, environ={"HTTP_PROXY": "http://192.0.2.2"})
    assert not folder.exists()
    folder.mkdir()
    (folder / "audit.config").touch()
    with pytest.raises(RefusedError, match="expected a new folder"):
        ran(nowhere.url, folder)


@pytest.mark.full
def test_equal_issue_and_the_order_of_samples_come_again(tmp_path):
    """Vector B: 640 queries in whole sets of 64, in the same order each time."""
    orders = []
    for name in ("a", "b"):
        with Loopback(behaviour_of({})).start() as running:
            official = ran(
                running.url, tmp_path / name, target_qps=200.0, min_duration_s=3.0, min_queries=100, equal_issue=True
            )
        assert (official.counts.issued, official.problems) == (640, ())
        orders.append(json.loads(official.order.read_bytes())["indices"])
    assert orders[0] == orders[1]
    assert [sorted(orders[0][at : at + 64]) for at in range(0, 640, 64)] == [list(range(64))] * 10


@pytest.mark.full
def test_one_request_over_its_limit_needs_61_more_queries(tmp_path):
    """Both 99th percentiles are met; with one of 601 over the limit, 662 are needed."""
    slow = {"kind": "stall", "requests": [100], "seconds": 3.0}
    with Loopback(behaviour_of({"faults": [slow]})).start() as running:
        official = ran(running.url, tmp_path / "run", target_qps=200.0, min_duration_s=3.0, min_queries=100, tpot_s=0.5)
    assert (official.verdict, official.problems) == ("INVALID", ())
    assert "61 more queries" in official.detail.read_text()
