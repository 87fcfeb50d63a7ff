"""What `caveat simulate` was asked for, as documents of simulations: one, or one for each point of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from caveat.cli.scenario_options import ScenarioWords, scenario_of, scenario_workload
from caveat.cli.simulation import Simulation
from caveat.cli.spec_options import known, slo, sweep, warmup
from caveat.cli.workload_options import Words, stop_after_s, workload, workload_at, workload_file
from caveat.errors import UsageError
from caveat.figures import TABLE, Value
from caveat.loadgen import Replay
from caveat.measure import Scenario
from caveat.simulator import DRAWS, Model
from caveat.workload import Workload

_SAYABLE_GROUPS = ("model", "system", "stack")
_SAYABLE = {row.key for row in TABLE if row.group in _SAYABLE_GROUPS}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOfModel:
    """The options that shape a simulation. None, False and empty are what was not said."""

    model: Model
    words: Words
    workload_path: Path | None = None
    replay: Replay | None = None
    limits: str | None = None
    warm: str | None = None
    points: str | None = None
    rules: ScenarioWords = field(default_factory=ScenarioWords)
    draws: int = DRAWS
    stepping: bool = False
    extrapolate: bool = False
    facts: Sequence[str] = ()


def simulations(asked: AskedOfModel) -> list[Simulation]:
    """One, or one for each point of the sweep. UsageError for options that contradict each other."""
    _check_one_source(asked)
    if asked.points is None:
        return [_simulation(asked, asked.words, _offered(asked, asked.words))]
    what, values = sweep(asked.points)
    return [_at(asked, what, value) for value in values]


def _at(asked: AskedOfModel, what: str, value: float) -> Simulation:
    """At one point: of a workload that was given whole its arrivals are changed, else the words."""
    if asked.replay is not None:
        raise UsageError("--sweep: found a replay, expected a workload", next="simulate it at several --speed by hand")
    if asked.workload_path is not None:
        changed = workload_at(workload_file(asked.workload_path), what, value)
        return _simulation(asked, asked.words, changed)
    words = asked.words.at(what, value)
    return _simulation(asked, words, _offered(asked, words))


def _simulation(asked: AskedOfModel, words: Words, offered: Workload | None) -> Simulation:
    scenario = _scenario(asked, words)
    return Simulation(
        model=asked.model,
        workload=offered,
        replay=asked.replay.settled() if asked.replay is not None else None,
        slo=slo(asked.limits) if scenario is None else None,
        scenario=scenario,
        warmup=warmup(asked.warm),
        stop_after_s=stop_after_s(words),
        draws=asked.draws,
        seed=words.seed or 0,
        stepping=asked.stepping,
        extrapolate=asked.extrapolate,
        known=_known(asked.facts),
    )


def _scenario(asked: AskedOfModel, words: Words) -> Scenario | None:
    return scenario_of(asked.rules, asked.limits, words.seed or 0, None)


def _offered(asked: AskedOfModel, words: Words) -> Workload | None:
    if asked.replay is not None:
        return None
    if asked.workload_path is not None:
        return workload_file(asked.workload_path)
    scenario = _scenario(asked, words)
    return workload(words) if scenario is None else scenario_workload(scenario, words, None)


def _check_one_source(asked: AskedOfModel) -> None:
    """A workload, a replay, or words; a scenario makes its own arrivals."""
    given = {
        "--workload": asked.workload_path is not None,
        "--replay": asked.replay is not None,
        "options of a workload": asked.words != Words(),
    }
    found = [name for name, there in given.items() if there]
    if len(found) > 1:
        raise UsageError(f"found {' beside '.join(found)}, expected one of them", next=f"leave out {found[-1]}")
    if asked.rules.name is not None and (given["--workload"] or given["--replay"]):
        raise UsageError(f"found {found[0]} beside --scenario, which says when requests arrive", next="leave one out")


def _known(texts: Sequence[str]) -> dict[str, Value]:
    """What a person says of the modelled system; nothing of the run itself, nor of who stands behind it."""
    said = known(texts)
    for key in said:
        if key not in _SAYABLE:
            raise UsageError(
                f"--known {key}: found a value, expected none: the simulation itself says it",
                next="give what is known of model, system and software: docs/conditions.md",
            )
    return said
