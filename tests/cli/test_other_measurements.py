"""caveat measure --find-peak, --baseline and --loadgen: other measurements of the same endpoint, all kept."""

import importlib.util

import pytest

from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger
from caveat.loopback import behaviour_of, start_process

SHORT = ("--input", "16", "--output", "4", "--no-calibrate", "--no-probe")
CLOSED = """
[arrivals]
kind = "concurrency"
requests = 4
[lengths]
kind = "separate"
input = {kind = "fixed", value = 16}
output = {kind = "fixed", value = 4}
[limits]
requests = 40
"""
LIMITS = ("--slo", "ttft=500ms,tpot=100ms,p90")


@pytest.fixture(scope="module")
def server():
    """Four places of 20 ms each: 200 requests a second at most, far below what the client sends."""
    with start_process(behaviour_of({"ttft_s": 0.02, "slots": 4})) as running:
        yield running


def measured():
    return [run for run in Ledger().runs() if run.subject.startswith("measured/")]


def test_a_peak_is_an_interval_and_every_probe_is_kept(caveat, server):
    """The search ends at its budget; what it found is said in words, and each probe is a run of the ledger."""
    argv = ("measure", server.url, "--rate", "60", "--slo", "ttft=100ms,p90", *SHORT)
    done = caveat(*argv, "--find-peak", "--peak-width", "0.5", "--peak-within", "4s", "--no-confirm", "--json")
    found = done.json
    assert done.code in (EXIT_YES, EXIT_CANNOT_SAY), done
    if "error" in found:  # a machine so busy that not one probe was the server's
        assert {"client health"} <= {c.aspect for run in measured() for c in run.validity if c.outcome == "fail"}
        return
    assert (found["format"], found["review"]) == ("caveat-peak/1", "unverified")
    assert found["certified"] is None
    assert sorted(found["runs"]) == sorted(run.id for run in measured())
    assert next(probe["purpose"] for probe in found["probes"]) == "bracket"
    assert all("search for the peak" in run.notes[0] for run in measured())
    assert "MLPerf" not in done.out


def test_a_peak_needs_limits_and_a_rate_to_begin_with(caveat, server, tmp_path):
    """Neither is made up, and a scenario without limits has no peak."""
    closed = tmp_path / "closed.toml"
    closed.write_text(CLOSED)
    without_limits = caveat("measure", server.url, "--rate", "60", *SHORT, "--find-peak")
    assert (without_limits.code, "found no limits" in without_limits.err) == (EXIT_USAGE, True)
    rateless = caveat("measure", server.url, "--workload", closed, "--slo", "ttft=1s", "--no-calibrate", "--find-peak")
    assert (rateless.code, "found no rate to begin with" in rateless.err) == (EXIT_USAGE, True)
    offline = caveat("measure", server.url, "--scenario", "offline", "--rate", "4", *SHORT, "--find-peak")
    assert (offline.code, "expected server or interactive" in offline.err) == (EXIT_USAGE, True)


def test_only_one_kind_of_measurement_at_a_time(caveat, server):
    """Two of them would each measure the other."""
    done = caveat("measure", server.url, "--rate", "60", *LIMITS, *SHORT, "--find-peak", "--baseline")
    assert (done.code, "expected one of them" in done.err) == (EXIT_USAGE, True)


def test_the_baseline_is_the_pair_of_ones_own_system(caveat, server):
    """Offline, then server from the fastest down; its pair stands apart from the published ones."""
    argv = ("measure", server.url, "--baseline", "--rate", "40", *LIMITS, *SHORT)
    done = caveat(*argv, "--min-duration", "1s", "--min-queries", "64", "--json")
    found = done.json
    assert done.code in (EXIT_YES, EXIT_CANNOT_SAY), done
    assert (found["format"], found["derived"], found["review"]) == ("caveat-baseline/1", True, "unverified")
    assert found["tried"][0]["scenario"] == "offline"
    assert {one["scenario"] for one in found["tried"]} <= {"offline", "server"}
    assert len(measured()) == len(found["tried"])
    assert found["published"][0]["summary"]["n"] > 400
    for pair in [pair for one in found["own"] for pair in one["pairs"]]:
        assert pair["ratio"] == pytest.approx(pair["to"]["value"] / pair["from"]["value"], rel=1e-4)


def test_a_baseline_without_limits_is_refused(caveat, server):
    """What server means must be said; and it is no scenario by itself."""
    bare = caveat("measure", server.url, "--baseline", *SHORT)
    assert (bare.code, "found no limits" in bare.err) == (EXIT_USAGE, True)
    named = caveat("measure", server.url, "--baseline", "--scenario", "server", *LIMITS, *SHORT)
    assert (named.code, "leave out --scenario" in named.err) == (EXIT_USAGE, True)


@pytest.mark.skipif(importlib.util.find_spec("mlperf_loadgen") is None, reason="mlcommons-loadgen is not installed")
def test_a_run_of_the_official_loadgen_is_read_back_and_stays_unverified(caveat, server):
    """Its logs are kept, the schedule is LoadGen's own, and it names no round though the seeds are one's."""
    argv = ("measure", server.url, "--scenario", "server", "--profile", "llama3.1-8b@v6.1", "--rate", "100")
    done = caveat(*argv, "--short", "--min-duration", "1s", *SHORT, "--loadgen", "--json")
    assert done.code in (EXIT_YES, EXIT_NO), done
    (run,) = measured()
    c = run.conditions
    assert (c.text("harness"), c.text("review"), c.text("round")) == ("LoadGen", "unverified", "undisclosed")
    assert c.text("profile") == "llama3.1-8b of v6.1"
    assert c.text("schedule") == "reproduced"
    assert (Ledger().path / run.subject / "mlperf_log_detail.txt").is_file()
    assert run.primary == "loadgen-completed-tokens-rate"
    assert "unverified" in done.out


def test_the_official_loadgen_runs_scenarios_only(caveat, server):
    """It has no other."""
    done = caveat("measure", server.url, "--rate", "50", *SHORT, "--loadgen")
    assert (done.code, "found no scenario" in done.err) == (EXIT_USAGE, True)
