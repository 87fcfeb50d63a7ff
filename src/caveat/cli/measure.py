"""caveat measure: a workload against a real endpoint, open loop, with nothing to hide behind."""

from __future__ import annotations

import os
import random
import resource
from contextlib import suppress

import msgspec
import typer

from caveat.cli import measure_options as options
from caveat.cli.accuracy_run import ANSWERED_AT_ONCE, AccuracyWords, accuracy, accuracy_run_named
from caveat.cli.asked import Asked, endpoint_of, specs
from caveat.cli.baseline import baseline as measure_baseline
from caveat.cli.carry_out import carry_out, client_of_today
from caveat.cli.console import GroupedCommand, JsonOption, LedgerOption, said_options, verb_app
from caveat.cli.dry_run import prices, show_dry_run
from caveat.cli.find_peak import peak_from
from caveat.cli.measure_kinds import check_options, kind_of
from caveat.cli.measured import is_valid
from caveat.cli.measured_sweep import report
from caveat.cli.official_run import run_official
from caveat.cli.scenario_options import ScenarioWords
from caveat.cli.spec_options import known, seconds
from caveat.cli.turns import Turn, turns
from caveat.cli.workload_options import Words, replayed
from caveat.errors import EXIT_NO, EXIT_YES, UsageError
from caveat.ledger import Ledger
from caveat.loadgen import UNNAMED, served_model, until_answering

app = verb_app()


@app.command(cls=GroupedCommand)
def measure(
    context: typer.Context,
    url: options.Url = None,
    spec_file: options.SpecFile = None,
    like: options.Like = None,
    model: options.Model = None,
    rate: options.Rate = None,
    cv: options.Cv = None,
    concurrency: options.ConcurrencyOption = None,
    input_length: options.InputLength = None,
    output_length: options.OutputLength = None,
    duration: options.Duration = None,
    requests: options.Requests = None,
    seed: options.Seed = None,
    dataset_path: options.DatasetPath = None,
    workload_path: options.WorkloadPath = None,
    replay: options.ReplayPath = None,
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
    repeats: options.Repeats = 1,
    same_draw: options.SameDraw = False,
    cool_down: options.CoolDown = "2s",
    find_peak: options.FindPeak = False,
    peak_width: options.PeakWidth = 0.06,
    peak_within: options.PeakWithin = None,
    no_confirm: options.NoConfirm = False,
    baseline: options.Baseline = False,
    by_loadgen: options.ByLoadgen = False,
    deadline: options.Deadline = None,
    accuracy_data: options.AccuracyData = None,
    require: options.Require = None,
    accuracy_like: options.AccuracyLike = None,
    accuracy_scores: options.AccuracyScore = None,
    accuracy_pattern: options.AccuracyPattern = None,
    accuracy_run: options.AccuracyRun = None,
    processes: options.Processes = None,
    key_env: options.KeyEnv = None,
    header: options.HeaderOption = None,
    extra_body: options.ExtraBody = None,
    ca_file: options.CaFile = None,
    no_verify: options.NoVerify = False,
    completions: options.Completions = False,
    whole: options.NoStream = False,
    temperature: options.Temperature = None,
    any_length: options.AnyLength = False,
    chunk_times: options.ChunkTimes = False,
    facts: options.Known = None,
    tokenizer: options.Tokenizer = None,
    unsalted: options.NoSalt = False,
    unprobed: options.NoProbe = False,
    wait: options.Wait = "0s",
    again: options.Recalibrate = False,
    uncalibrated: options.NoCalibrate = False,
    dry_run: options.DryRun = False,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
    full: options.Full = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Offer a workload to an OpenAI-compatible endpoint and keep figures with everything that made them so.

    Send times are planned before and never wait for answers (open loop); latency counts from the planned time.
    The client measures itself, and a run in which it was the limit is not valid. Ctrl-C drains and keeps what was
    measured, a second one leaves. Exit 1 where a run is not valid, misses its limits or was interrupted. A scenario
    is measured by MLPerf's rules as caveat reads them; what it gives is unverified and no MLPerf result.

    \b
    Examples:
      caveat measure http://localhost:8000 --rate 4 --duration 60s --input 512 --output 128 --slo ttft=2s,tpot=100ms
      caveat measure http://localhost:8000 --rate 4 --duration 60s --repeats 5
      caveat measure http://localhost:8000 --sweep concurrency=1,8,64 --known accelerator=H100 --known accelerators=1
      caveat measure --spec run.toml --dry-run --price-in 0.5 --price-out 1.5
      caveat measure http://localhost:8000 --replay trace.jsonl --first 600 --thin 10 --scale 0.1,0.1
      caveat measure http://localhost:8000 --scenario server --profile llama2-70b-99.9@v6.1 --rate 4 --dry-run
      caveat measure http://localhost:8000 --rate 4 --slo ttft=2s,tpot=100ms,p99 --find-peak --peak-within 2h
      caveat measure http://localhost:8000 --baseline --profile llama3.1-8b@v6.1 --short
      caveat measure http://localhost:8000 --accuracy data.jsonl --require 'rouge1>=38.4'
      caveat measure --like 3f2a90c1
    """
    said = said_options(context)
    check_options(said)
    _raise_descriptors()
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own pool keeps what it once had: 40 MB a run
    asked = Asked(
        url=url,
        spec_file=spec_file,
        like=like,
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
        model=model,
        limits=limits,
        warm=warm,
        points=points,
        processes=processes,
        key_env=key_env,
        header=header or (),
        body=extra_body or (),
        ca_file=ca_file,
        unverified=no_verify,
        completions=completions,
        whole=whole,
        temperature=temperature,
        any_length=any_length,
        chunk_times=chunk_times,
        rules=ScenarioWords(
            name=scenario,
            profile=profile,
            min_duration=min_duration,
            min_queries=min_queries,
            samples=set_size,
            short=short,
        ),
        dataset_path=dataset_path,
        facts=facts or (),
        tokenizer=tokenizer,
        unsalted=unsalted,
        unprobed=unprobed,
    )
    book = Ledger(ledger)
    pause_s, wait_s, price = seconds(cool_down, "--cool-down"), seconds(wait, "--wait"), prices(price_in, price_out)
    kind = kind_of(said)
    if accuracy_data is not None:
        words = AccuracyWords(
            data=accuracy_data,
            require=require or (),
            like=accuracy_like,
            scores=accuracy_scores or (),
            pattern=accuracy_pattern,
            concurrency=concurrency or ANSWERED_AT_ONCE,
            tokenizer=tokenizer,
        )
        return accuracy(words, endpoint_of(asked), book, known=known(asked.facts), wait_s=wait_s, as_json=as_json)
    rng = random.SystemRandom()
    gate = accuracy_run_named(accuracy_run, book) if accuracy_run is not None else None
    if baseline:
        until_answering(endpoint_of(asked), wait_s=wait_s)
        client = None if uncalibrated else client_of_today(processes or 1, again=again)
        return measure_baseline(asked, book, client, rng, as_json=as_json)
    order = turns(specs(asked, book), repeats, same_draw=same_draw or like is not None)
    if dry_run:
        show_dry_run([turn.spec for turn in order], price, as_json=as_json)
        return EXIT_YES
    if kind and len(order) != 1:
        raise UsageError(f"found {len(order)} runs beside {kind}, expected one", next="leave out --sweep and --repeats")
    order = _ready(order, wait_s)
    if by_loadgen:
        limit_s = seconds(deadline, "--deadline") if deadline is not None else None
        return run_official(order[0].spec, book, rng, deadline_s=limit_s, gate=gate, full=full, as_json=as_json)
    client = None if uncalibrated else client_of_today(order[0].spec.processes, again=again)
    if find_peak:
        most_s = seconds(peak_within, "--peak-within") if peak_within is not None else None
        confirm = not no_confirm
        return peak_from(
            order[0].spec,
            book,
            client,
            rng,
            width=peak_width,
            most_s=most_s,
            confirm=confirm,
            full=full,
            as_json=as_json,
        )
    rng.shuffle(order)  # drift of the machine must not look like an effect of the rate
    each = [turn.spec for turn in order]
    runs, interrupted = carry_out(each, book, client, rng, cool_down_s=pause_s, as_json=as_json, gate=gate)
    report(order, runs, interrupted=interrupted, full=full, as_json=as_json)
    return EXIT_YES if all(map(is_valid, runs)) and not interrupted else EXIT_NO


def _raise_descriptors() -> None:
    """As many open files as this user may have: a burst has a connection for each request, the default is 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # where the system has a lower bound of its own
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _ready(order: list[Turn], wait_s: float) -> list[Turn]:
    """The runs with the name of their model, once their endpoint answers; all of them have one endpoint."""
    there = order[0].spec.endpoint
    until_answering(there, wait_s=wait_s)
    if there.model != UNNAMED:
        return order
    named = msgspec.structs.replace(there, model=served_model(there))
    return [Turn(turn.point, msgspec.structs.replace(turn.spec, endpoint=named)) for turn in order]
