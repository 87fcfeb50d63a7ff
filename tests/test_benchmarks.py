"""The benchmarks run, and the page about them is the one that their kept results give. No number is judged here."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.peers.clients import CLIENTS, Load, Place
from benchmarks.peers.gauge import Cost, Look, gauge
from benchmarks.peers.install import Environment, environment, tokenizer
from benchmarks.peers.servers import Answers, Seen, serve
from benchmarks.peers.table import Line, line_of, median_of, targets
from benchmarks.report import DOCS, PAGES, page
from benchmarks.results import kept

linux = pytest.mark.skipif(sys.platform != "linux", reason="costs are read from /proc")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_the_one_that_the_kept_results_give(name):
    """`python -m benchmarks.report` writes it; nobody edits it."""
    head, sections = PAGES[name]
    assert (DOCS / name).read_text() == page(kept(), head, sections)


def test_in_flight_is_counted_from_what_the_server_saw():
    """An end before an arrival of the same instant: a closed loop of two never has three."""
    seen = Seen(np.array([0.0, 0.0, 1.0, 2.0]), np.array([0.5, 1.5, 1.5, 2.5]), np.array([1.0, 2.0, 2.5, 3.0]))
    assert seen.in_flight() == (2.0, 2)


def test_a_line_counts_the_middle_of_a_run():
    """Rate, CPU and gaps leave the first and the last tenth out; a start counts from the launch."""
    arrived_s = 10.0 + np.arange(1001) / 100
    looks = tuple(Look(float(at), 0.5 * (at - 5), 0.0, 0.25 * (at - 5), 40.0 + at, 1) for at in range(5, 26))
    line = line_of("x", "each", Cost(8.0, 25.0, looks, None), Seen(arrived_s, arrived_s + 0.001, arrived_s + 0.002))
    assert abs(line.per_s - 100) < 0.2 and abs(line.cpu_ms - 5.0) < 0.02 and line.gaps_sd_ms < 1e-6
    assert (line.start_s, line.in_flight_most, line.memory_mb, line.requests) == (2.0, 1, 65.0, 1001)
    assert abs(line.server_cores - 0.25) < 1e-9 and line.limit() == "client and server by turns"


def test_a_median_leaves_failed_runs_out_and_a_client_that_always_fails_stays_visible():
    """A peer that cannot be run is a line that says so."""
    good = [Line(client="x", load="each", per_s=rate) for rate in (1.0, 3.0, 8.0)]
    bad = Line(client="x", load="each", failed="exit 2")
    assert median_of([bad, *good]).per_s == 3.0
    assert median_of([bad, bad]).failed == "exit 2"


def test_aims_are_told_only_where_the_run_has_what_they_need():
    """Without a peer there is no ratio to one; a missed aim is said to be missed."""
    ours = Line(client="caveat", load="each", per_s=900.0, cpu_ms=0.5, in_flight_most=64, memory_mb=100.0)
    bare = Line(client="bare", load="each", cpu_ms=0.1)
    alone = {target.what: target.met for target in targets([ours, bare])}
    assert "requests/s" not in alone and alone["CPU ms per request"] is False and alone["peak memory, MB"] is True
    peer = Line(client="peer", load="each", per_s=500.0)
    assert {t.what: t.met for t in targets([ours, bare, peer])}["requests/s"] is False


@linux
def test_both_of_our_clients_make_every_request_of_a_load(tmp_path):
    """Against the loopback endpoint, through the same door as every peer."""
    for client in CLIENTS[:2]:
        with serve(Answers(), None) as server:
            folder = tmp_path / client.name
            folder.mkdir()
            command = client.command(Load(requests=200, concurrency=8), Place(server.port, folder, None))
            assert command is not None
            cost = gauge([str(part) for part in command], server.pid, folder / "log", limit_s=60)
            assert cost.failed is None, (folder / "log").read_text()
            assert len(server.seen().arrived_s) == 200


def test_peers_that_are_not_installed_are_left_out(tmp_path):
    """No command, no line."""
    load = Load(requests=1, concurrency=1)
    for place in (Place(1, tmp_path, None), Place(1, tmp_path, Path(tmp_path))):
        assert [client.command(load, place) for client in CLIENTS[3:]] == [None] * len(CLIENTS[3:])


def test_a_peer_that_cannot_be_installed_says_why_and_leaves_nothing(tmp_path):
    """The others go on."""
    assert environment(Environment("x", (), "python0.9"), tmp_path) == "no python0.9"
    assert list(tmp_path.iterdir()) == []


def test_the_tokenizer_of_the_peers_has_one_token_a_byte(tmp_path):
    """Every byte has a sign of its own, and nothing is merged."""
    tokenizer(tmp_path)
    model = json.loads((tmp_path / "tokenizer.json").read_text())["model"]
    assert (len(model["vocab"]), sorted(model["vocab"].values()), model["merges"]) == (259, list(range(259)), [])


def test_a_compiled_peer_is_shown_and_is_no_measure_for_a_python_one():
    """The aim is set against the best of those that are written in Python."""
    ours = Line(client="caveat", load="each", per_s=1_200.0)
    peers = [Line(client="vllm", load="each", per_s=500.0), Line(client="sglang-rust", load="each", per_s=3_000.0)]
    (target,) = [target for target in targets([ours, *peers]) if target.what == "requests/s"]
    assert target.met and "vllm" in target.aimed


@linux
def test_a_client_that_does_not_end_is_stopped_and_said_to_be(tmp_path):
    """Every measurement is bounded in time."""
    cost = gauge([sys.executable, "-c", "import time; time.sleep(60)"], 1, tmp_path / "log", limit_s=0.5)
    assert cost.failed == "stopped after 0.5 s" and cost.processes == 1
