"""The search on a real endpoint: what each probe's spec is, what is kept, and one search from end to end."""

import dataclasses
import random

import msgspec
import pytest

from caveat.errors import CannotSayError, UsageError
from caveat.loadgen import (
    Endpoint,
    Replay,
    Settings,
    Spec,
    at_rate,
    find_peak,
    goal_of,
    peak_search,
    read_folder,
    record,
)
from caveat.loopback import Loopback, behaviour_of
from caveat.measure import PeakAsk, Slo, probe_of_samples, scenario_with, workload_of_scenario
from caveat.workload import Concurrency, Fixed, Limits, Poisson, Separate, Workload
from tests.loadgen.folders import poisson_spec

SHORT = Separate(input=Fixed(value=4), output=Fixed(value=1))
QUICK = Settings(timeout_s=5.0, connect_timeout_s=2.0, idle_s=5.0, drain_s=0.5)
ASK = PeakAsk(number=3, purpose="estimate", rate_qps=40.0, queries=500, seed=9)


class Asked:
    """A cancel."""

    asked = False

    def requested(self):
        return self.asked


def spec_at(url, *, rate_qps=100.0, slo=Slo(latency_s=0.2, percentile="p90")):  # noqa: B008
    workload = Workload(arrivals=Poisson(rate_qps=rate_qps), lengths=SHORT, limits=Limits(requests=10))
    return Spec(endpoint=Endpoint(url=url, model="m"), workload=workload, slo=slo, calibrated=False, settings=QUICK)


def searched(spec, goal, folder, **more):
    def folder_of(ask):
        return folder / str(ask.number), f"measured/{ask.number:032x}"

    return find_peak(
        spec, goal, folder_of, version="1", now=lambda: "2026-01-01T00:00:00+00:00", rng=random.Random(1), **more
    )


def test_a_search_on_two_slots_finds_a_rate_that_they_can_serve(tmp_path, monkeypatch):
    """Every probe is a whole run in its own folder, and the interval lies below what the slots can serve."""
    kept = []

    def whoever_was_the_limit(*columns, **known):  # machines that run tests are busy: this one is not about them
        return dataclasses.replace(probe_of_samples(*columns, **known), client_limited=False)

    monkeypatch.setattr(peak_search, "probe_of_samples", whoever_was_the_limit)
    with Loopback(behaviour_of({"ttft_s": 0.01, "itl_s": 0.0, "slots": 2})).start() as server:
        spec = spec_at(server.url)
        goal = goal_of(spec, start_qps=100.0, width=0.9, full_queries=200, full_s=0.1, most_s=4.0)
        peak = searched(spec, goal, tmp_path, on_probe=lambda ask, probe, folder: kept.append((ask, probe, folder)))
    assert goal.share == 0.1
    assert [row.number for row in peak.probes] == list(range(1, len(kept) + 1))
    assert {row.run for row in peak.probes} == {f"measured/{ask.number:032x}" for ask, *_ in kept}
    assert 20 < peak.low_qps < 250  # two slots of 10 ms serve 200 a second, and short probes see it late
    assert peak.certified is None or peak.certified.rate_qps < peak.low_qps
    ask, probe, folder = kept[0]
    again, notes = read_folder(folder)
    assert (again.workload.arrivals.rate_qps, again.workload.seed) == (ask.rate_qps, ask.seed)
    assert 0 < len(probe.over) <= ask.queries
    assert record(folder).subject == notes.subject == peak.probes[0].run


def test_an_interrupted_search_says_so_and_leaves_its_earlier_runs(tmp_path):
    """Cancelled after the first probe: that one was handed over, the next is not."""
    cancel, handed = Asked(), []

    def on_probe(ask, probe, folder):
        handed.append(ask.number)
        cancel.asked = True

    with Loopback(behaviour_of({"ttft_s": 0.002})).start() as server:
        spec = spec_at(server.url, slo=Slo(ttft_s=1.0, percentile="p90"))
        with pytest.raises(CannotSayError, match="interrupted"):
            searched(spec, goal_of(spec, start_qps=300.0), tmp_path, cancel=cancel, on_probe=on_probe)
    assert handed == [1]
    assert record(tmp_path / "1").subject == f"measured/{1:032x}"


def test_a_probe_differs_in_rate_length_and_seed_alone():
    """Everything else of the spec stays."""
    spec = poisson_spec(slo=Slo(ttft_s=1.0))
    changed = at_rate(spec, ASK)
    expected = msgspec.structs.replace(
        spec.workload, arrivals=Poisson(rate_qps=40.0), seed=9, limits=Limits(requests=500)
    )
    assert changed == msgspec.structs.replace(spec, workload=expected)


def test_a_probe_of_a_scenario_keeps_its_limits_and_a_confirmation_the_whole():
    """A short run must not be called a scenario's; the confirming one is that, with as many queries as were fixed."""
    scenario = scenario_with("server", ttft_s=2.0, tpot_s=0.2)
    workload = workload_of_scenario(scenario, SHORT, target_qps=5.0)
    spec = poisson_spec(scenario=scenario, workload=workload)
    probe = at_rate(spec, ASK)
    assert (probe.scenario, probe.slo) == (None, scenario.slo())
    assert sum(len(block.at_ns) for block in probe.plan().blocks()) == 500
    whole = PeakAsk(number=9, purpose="confirm", rate_qps=40.0, queries=24_500, seed=1)
    confirm = at_rate(spec, whole)
    assert confirm.scenario == scenario
    assert (confirm.workload.arrivals.target_qps, confirm.workload.arrivals.min_queries) == (40.0, 24_500)
    assert goal_of(spec, 5.0).full_length(40.0) == 24_000


def test_a_recording_is_played_faster_or_slower(tmp_path):
    """Its speed is changed so that its mean rate is the one asked for."""
    trace = tmp_path / "t.jsonl"
    lines = [
        f'{{"timestamp": {at * 100}, "input_length": 5, "output_length": 2, "hash_ids": [{at}]}}' for at in range(101)
    ]
    trace.write_text("\n".join(lines))
    spec = poisson_spec(slo=Slo(ttft_s=1.0), workload=None, replay=Replay(file=str(trace)))
    faster = at_rate(spec, ASK, base_qps=10.1)
    assert faster.replay.speed == pytest.approx(40.0 / 10.1)
    assert faster.replay.requests == 500


def test_a_closed_loop_has_no_rate_to_search(tmp_path):
    """Refused before anything is sent; so is a spec without limits."""
    spec = poisson_spec(slo=Slo(ttft_s=1.0))
    closed = msgspec.structs.replace(
        spec, workload=Workload(arrivals=Concurrency(requests=2), lengths=SHORT, limits=Limits(requests=10))
    )
    with pytest.raises(UsageError, match="expected some with one rate"):
        at_rate(closed, ASK)
    with pytest.raises(UsageError, match="no limits"):
        goal_of(msgspec.structs.replace(spec, slo=None), 5.0)
