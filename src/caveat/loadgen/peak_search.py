"""The search for the peak on a real endpoint: each probe is a run of its own, in a folder of its own.

Probes differ from the spec in rate, length and seed alone; of a scenario they keep the limits, not the length. A run
that confirms is the spec's own at that rate, whole, with its scenario.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from caveat.errors import CannotSayError, UsageError
from caveat.loadgen.client_calibration import ClientCalibration
from caveat.loadgen.experiment import Watched, experiment
from caveat.loadgen.folder import SAMPLES, Notes
from caveat.loadgen.replay import Replay
from caveat.loadgen.selfcheck import limit_sentences
from caveat.loadgen.spec import Spec
from caveat.measure import (
    SHARES,
    Cancel,
    Client,
    Peak,
    PeakAsk,
    PeakGoal,
    PeakProbe,
    Slo,
    columns_of,
    probe_of_samples,
    search_peak,
)
from caveat.units import NS_PER_S
from caveat.workload import Limits, Loadgen, PlanStatistics, Workload

_HOPELESS_AFTER = 100  # answers, before a probe may be given up


def find_peak(
    spec: Spec,
    goal: PeakGoal,
    folder_of: Callable[[PeakAsk], tuple[Path, str]],
    *,
    version: str,
    now: Callable[[], str],
    rng: random.Random,
    calibration: ClientCalibration | None = None,
    cancel: Cancel | None = None,
    on_ask: Callable[[PeakAsk], None] | None = None,
    on_probe: Callable[[PeakAsk, PeakProbe, Path], None] | None = None,
    watch: Callable[[Watched], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Peak:
    """Search, one run after the other. `folder_of` names a new folder and the run's subject for each probe.

    `on_ask` is called before a probe (its outlook says what is known and how long it may take), `on_probe` after it,
    when its folder is whole: keep it then. `now` gives ISO times. A cancel ends the search with CannotSayError; the
    folder of that last run stays, and every earlier probe was handed over. Raises what `experiment` raises.
    """
    slo = limits_of(spec)
    base_qps = _recorded_rate(spec)
    search = search_peak(goal)
    ask = next(search)
    while True:
        if on_ask is not None:
            on_ask(ask)
        folder, subject = folder_of(ask)
        giving_up = _GivingUp(cancel, slo if ask.most_over is not None else None)
        notes = experiment(
            at_rate(spec, ask, base_qps=base_qps),
            folder,
            version=version,
            started=now(),
            rng=rng,
            subject=subject,
            calibration=calibration,
            cancel=giving_up,
            watch=giving_up.watching(watch),
            environ=environ,
        )
        if cancel is not None and cancel.requested():
            raise CannotSayError("peak: the search was interrupted", next="start it again: earlier probes are kept")
        probe = probe_of_samples(columns_of(folder / SAMPLES), slo, client=_client(notes), run=subject)
        if on_probe is not None:
            on_probe(ask, probe, folder)
        try:
            ask = search.send(probe)
        except StopIteration as end:
            peak: Peak = end.value
            return peak


def goal_of(spec: Spec, start_qps: float, **given: Any) -> PeakGoal:
    """The goal that a spec asks for: its percentile, and the length of its scenario's runs where it has one."""
    slo, scenario = limits_of(spec), spec.scenario
    asked: dict[str, Any] = {"share": round(1 - SHARES[slo.percentile], 6)}
    if scenario is not None:
        asked |= {"full_s": max(scenario.min_duration_s, 1e-9)}
        asked |= {"full_queries": max(scenario.min_queries, scenario.set_size or 1)}
    return PeakGoal(start_qps=start_qps, **{**asked, **given})


def start_rate(spec: Spec) -> float | None:
    """The rate of a spec's arrivals, from which a search may begin; None for arrivals without one."""
    if spec.workload is not None:
        return spec.workload.arrivals.rate()
    return _recorded_rate(spec)


def limits_of(spec: Spec) -> Slo:
    """The limits of a spec or of its scenario. UsageError where there are none."""
    slo = spec.scenario.slo() if spec.scenario is not None else spec.slo
    if slo is None:
        raise UsageError(
            "peak: found no limits, expected some: a peak is the highest rate that meets them",
            next="--slo ttft=2s,tpot=200ms, or a --scenario with a --profile",
        )
    return slo


def at_rate(spec: Spec, ask: PeakAsk, *, base_qps: float | None = None) -> Spec:
    """The spec at the rate, length and seed that are asked for. `base_qps` is the rate of a recording as it is.

    Raises UsageError for arrivals that have no rate: closed loops, bursts, streams.
    """
    whole = ask.purpose == "confirm"
    changes: dict[str, Any] = {} if whole or spec.scenario is None else {"scenario": None, "slo": limits_of(spec)}
    if spec.replay is not None:
        return msgspec.structs.replace(spec, replay=_faster(spec.replay, ask, base_qps or 1.0), **changes)
    assert spec.workload is not None
    return msgspec.structs.replace(
        spec, workload=_workload(spec.workload, ask, whole and spec.scenario is not None), **changes
    )


def _workload(workload: Workload, ask: PeakAsk, scenario: bool) -> Workload:
    arrivals = workload.arrivals
    if isinstance(arrivals, Loadgen):
        length: dict[str, Any] = {"min_queries": max(ask.queries, arrivals.min_queries)}
        if not scenario:
            length = {"min_queries": ask.queries, "min_duration_ns": 1, "equal_issue_samples": 0, "seed": ask.seed}
        loadgen = msgspec.structs.replace(arrivals, target_qps=ask.rate_qps, **length)
        return msgspec.structs.replace(workload, arrivals=loadgen, seed=ask.seed)
    if not hasattr(arrivals, "rate_qps"):
        raise UsageError(
            f"peak: found arrivals {arrivals.words()!r}, expected some with one rate",
            next="poisson, constant, gamma, weibull, loadgen, or a replay, whose speed is changed",
        )
    there: Any = arrivals
    return msgspec.structs.replace(
        workload,
        arrivals=msgspec.structs.replace(there, rate_qps=ask.rate_qps),
        seed=ask.seed,
        limits=Limits(requests=ask.queries),
    )


def _faster(replay: Replay, ask: PeakAsk, base_qps: float) -> Replay:
    speed = replay.speed * ask.rate_qps / base_qps
    return msgspec.structs.replace(replay, speed=speed, requests=ask.queries, seed=ask.seed % 2**31)


def _recorded_rate(spec: Spec) -> float | None:
    """Requests per second of the replay as the spec has it; None for a workload."""
    if spec.replay is None:
        return None
    last_ns = 0
    for block in spec.plan().blocks():
        last_ns = max(last_ns, int(block.at_ns.max(initial=0)))
    if last_ns <= 0:
        raise UsageError("peak: found a recording of one moment, expected one that lasts", next="give a longer one")
    return PlanStatistics(spec.plan()).requests * NS_PER_S / last_ns


def _client(notes: Notes) -> Client | None:
    """What the generator knows of itself, as far as it says whether it was the limit."""
    health = notes.health
    if health is None:
        return None
    return Client(
        cpu_share=health.cpu_share_p95,
        loop_lag_s=health.loop_lag_p99_s,
        ceiling_per_s=notes.calibration.requests_per_s if notes.calibration else None,
        limits=limit_sentences(health),
    )


class _GivingUp:
    """A cancel that also ends a probe without hope: half of the answers so far came after the limit on TTFT."""

    def __init__(self, cancel: Cancel | None, slo: Slo | None) -> None:
        self._cancel, self._slo = cancel, slo
        self._watched: Watched | None = None

    def watching(self, watch: Callable[[Watched], None] | None) -> Callable[[Watched], None]:
        """A watcher that keeps the live view for itself too."""

        def both(watched: Watched) -> None:
            self._watched = watched
            if watch is not None:
                watch(watched)

        return both

    def requested(self) -> bool:
        """Whether somebody asked to stop, or there is no hope."""
        if self._cancel is not None and self._cancel.requested():
            return True
        if self._watched is None or self._slo is None or self._slo.ttft_s is None:
            return False
        view = self._watched.live.view(self._watched.clock.now_ns())
        return view.ended >= _HOPELESS_AFTER and view.ttft_s[0] > self._slo.ttft_s
