"""caveat simulate: the same workload, the same figures, from a modelled server in virtual time."""

from __future__ import annotations

from functools import partial
from typing import Any

import typer
from typer.core import TyperGroup

from caveat.cli import measure_options as options
from caveat.cli.console import FullOption, JsonOption, LedgerOption, emit, progress, steps
from caveat.cli.measured import is_valid
from caveat.cli.scenario_options import ScenarioWords
from caveat.cli.simulate_asked import AskedOfModel, simulations
from caveat.cli.simulate_compared import ablated, explained, question_of, refuse_unasked
from caveat.cli.simulate_options import (
    Ablate,
    BatchLimits,
    Draws,
    ExplainDraws,
    Extrapolate,
    InteractiveSlo,
    ModelName,
    Scales,
    Set,
    Stepping,
)
from caveat.cli.simulate_run import one
from caveat.cli.simulate_settings import refuse_unused, settings_of
from caveat.cli.simulated import print_models, print_simulated, print_simulated_sweep, simulated_json
from caveat.cli.simulation import Simulation
from caveat.cli.workload_options import Words, replayed
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES, UsageError
from caveat.figures import Run
from caveat.ledger import Ledger
from caveat.simulator import DRAWS, changed, model_named


class RunUnlessNamed(TyperGroup):
    """`caveat simulate MODEL ...` is `caveat simulate run MODEL ...`: a first word that is no action begins a run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments with the action in front."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=RunUnlessNamed,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Offer a workload to a modelled server, in virtual time.

    `caveat simulate MODEL` takes the words of `caveat measure` and gives the same samples, figures and validity, marked
    simulated; `caveat simulate run --help` shows all options. MODEL is a model file (caveat calibrate makes them) or
    the name of one that ships with the package. Every action takes --json.

    \b
    Examples:
      caveat simulate models
      caveat simulate engine.toml --rate 4 --duration 10min --input 512 --output 128 --slo ttft=2s,tpot=100ms
      caveat simulate engine.toml --replay trace.jsonl --set fleet.replicas=4
      caveat simulate h100-llama3.1-8b --sweep rate=2,8,32 --requests 500 --extrapolate
      caveat simulate engine.toml --replay trace.jsonl --slo ttft=2s,tpot=100ms --ablate
      caveat simulate explain h100x8-llama3.1-70b --scales 1,8,72 --extrapolate
    """,
)


@app.command()
def run(
    name: ModelName,
    workload_path: options.WorkloadPath = None,
    replay: options.ReplayPath = None,
    rate: options.Rate = None,
    cv: options.Cv = None,
    concurrency: options.ConcurrencyOption = None,
    input_length: options.InputLength = None,
    output_length: options.OutputLength = None,
    duration: options.Duration = None,
    requests: options.Requests = None,
    seed: options.Seed = None,
    first: options.First = None,
    thin: options.Thin = 1,
    speed: options.Speed = 1.0,
    scale: options.Scale = None,
    spread: options.Spread = False,
    rate_scale: options.RateScale = 1.0,
    limits: options.SloOption = None,
    warm: options.WarmupOption = None,
    scenario: options.ScenarioOption = None,
    profile: options.ProfileOption = None,
    min_duration: options.MinDuration = None,
    min_queries: options.MinQueries = None,
    set_size: options.SetSize = None,
    short: options.Short = False,
    points: options.Sweep = None,
    settings: Set = None,
    extrapolate: Extrapolate = False,
    draws: Draws = DRAWS,
    stepping: Stepping = False,
    want_ablation: Ablate = False,
    facts: options.Known = None,
    full: FullOption = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Offer a workload to a modelled server and keep the figures, marked simulated.

    The load fraction comes first: where its upper end passes 0.9, figures that hold waiting are not told. A value is
    the median and its interval 80 % of the draws of the model, each a simulation. Outside the range in which the model
    was validated nothing is answered (exit 3) unless --extrapolate is given, which is marked. Exit 1 where a limit is
    missed. With --ablate the answer is what each technique is worth for this workload, under the same
    refusals; nothing is kept then.

    \b
    Examples:
      caveat simulate engine.toml --rate 4 --duration 10min --input 512 --output 128 --slo ttft=2s,tpot=100ms
      caveat simulate engine.toml --replay trace.jsonl --first 600 --set fleet.replicas=4
      caveat simulate engine.toml --scenario server --profile llama2-70b-99.9@v6.1 --rate 4
      caveat simulate h100-llama3.1-8b --sweep rate=2,8,32 --requests 500 --extrapolate
      caveat simulate engine.toml --replay trace.jsonl --slo ttft=2s,tpot=100ms --ablate
    """
    asked = AskedOfModel(
        model=changed(model_named(name), settings_of(settings)),
        workload_path=workload_path,
        replay=replayed(replay, first=first, thin=thin, speed=speed, scale=scale, spread=spread, rate_scale=rate_scale),
        words=Words(
            rate=rate,
            cv=cv,
            concurrency=concurrency,
            input=input_length,
            output=output_length,
            duration=duration,
            requests=requests,
            seed=seed,
        ),
        limits=limits,
        warm=warm,
        points=points,
        rules=ScenarioWords(
            name=scenario,
            profile=profile,
            min_duration=min_duration,
            min_queries=min_queries,
            samples=set_size,
            short=short,
        ),
        draws=draws,
        stepping=stepping,
        extrapolate=extrapolate,
        facts=facts or (),
    )
    order = simulations(asked)
    refuse_unused(settings_of(settings), order)
    if want_ablation:
        return _ablated(order, as_json=as_json)
    runs = _carried_out(order, Ledger(ledger))
    _show(runs, full=full, as_json=as_json)
    return EXIT_YES if all(map(is_valid, runs)) else EXIT_NO


@app.command()
def explain(
    name: ModelName,
    scales: Scales = None,
    batch_limits: BatchLimits = None,
    input_length: options.InputLength = None,
    output_length: options.OutputLength = None,
    limits: options.SloOption = None,
    interactive: InteractiveSlo = None,
    samples: options.SetSize = None,
    min_duration: options.MinDuration = None,
    seed: options.Seed = None,
    settings: Set = None,
    extrapolate: Extrapolate = False,
    draws: ExplainDraws = 0,
    as_json: JsonOption = False,
) -> int:
    """Offline, Server and Interactive of one modelled system over scale: when Server passes Offline, and why.

    Offline loses a ramp and a tail, Server what its limits leave to waiting. The answer is the model's about itself,
    simulated, at scales and rates at which nothing was validated: always an extrapolation, which --extrapolate must ask
    for (else exit 3). With --draws it has ranges, and takes so many times as long.

    \b
    Examples:
      caveat simulate explain h100x8-llama3.1-70b --scales 1,8,72 --extrapolate
      caveat simulate explain engine.toml --slo ttft=2s,tpot=200ms --min-duration 10min --draws 8 --extrapolate --json
    """
    refuse_unasked(extrapolate=extrapolate)
    question = question_of(
        scales=scales,
        batch_limits=batch_limits,
        input_length=input_length,
        output_length=output_length,
        server=limits,
        interactive=interactive,
        samples=samples,
        min_duration=min_duration,
        seed=seed,
    )
    model = changed(model_named(name), settings_of(settings))
    with progress() as bar:
        explained(model, question, draws, partial(steps(bar), "scales"), as_json=as_json)
    return EXIT_YES


@app.command()
def models(as_json: JsonOption = False) -> int:
    """The models that ship with the package: what they stand for, and how far they may be trusted.

    \b
    Examples:
      caveat simulate models
    """
    print_models(as_json=as_json)
    return EXIT_YES


def _ablated(order: list[Simulation], *, as_json: bool) -> int:
    if len(order) != 1:
        raise UsageError("found --sweep beside --ablate, expected one workload", next="leave out --sweep")
    with progress() as bar:
        told = ablated(order[0], partial(steps(bar), "techniques by draws"), as_json=as_json)
    return EXIT_YES if told else EXIT_CANNOT_SAY


def _carried_out(order: list[Simulation], book: Ledger) -> list[Run]:
    with progress() as bar:
        step = steps(bar)
        return [one(simulation, book, partial(step, _what(n, order))) for n, simulation in enumerate(order)]


def _what(number: int, order: list[Simulation]) -> str:
    return "draws of the model" if len(order) == 1 else f"draws, run {number + 1} of {len(order)}"


def _show(runs: list[Run], *, full: bool, as_json: bool) -> None:
    if as_json:
        emit(simulated_json(runs))
    elif len(runs) == 1:
        print_simulated(runs[0], full=full)
    else:
        print_simulated_sweep(runs)
