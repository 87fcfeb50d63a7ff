"""caveat measure: a workload against a real endpoint, open loop, with nothing to hide behind."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from caveat.cli.asked import UNNAMED, Asked, specs
from caveat.cli.carry_out import carry_out, client_of_today
from caveat.cli.console import JsonOption, LedgerOption, emit, verb_app
from caveat.cli.dry_run import prices, show_dry_run
from caveat.cli.measured import is_valid, measured_json, print_measured, print_sweep
from caveat.cli.spec_options import Words, replayed, seconds
from caveat.errors import EXIT_NO, EXIT_YES
from caveat.ledger import Ledger
from caveat.loadgen import Spec, served_model, until_answering

app = verb_app()


@app.command()
def measure(
    url: Annotated[str | None, typer.Argument(help="Base address: http://localhost:8000.")] = None,
    spec_file: Annotated[Path | None, typer.Option("--spec", help="Whole experiment in a TOML or JSON file.")] = None,
    like: Annotated[str | None, typer.Option("--like", help="Repeat an earlier run of this ledger exactly.")] = None,
    workload_path: Annotated[Path | None, typer.Option("--workload", help="Workload document (TOML or JSON).")] = None,
    replay: Annotated[Path | None, typer.Option("--replay", help="Trace or traffic profile to replay.")] = None,
    first: Annotated[float | None, typer.Option("--first", help="Of a replay: only the first so many seconds.")] = None,
    thin: Annotated[int, typer.Option("--thin", help="Of a trace: every k-th request.", min=1)] = 1,
    speed: Annotated[float, typer.Option("--speed", help="Of a replay: times divided by this.")] = 1.0,
    scale: Annotated[str | None, typer.Option("--scale", help="Of a trace: lengths times INPUT,OUTPUT.")] = None,
    spread: Annotated[bool, typer.Option("--spread", help="Of a replay: spread a clock's coarse steps.")] = False,
    rate_scale: Annotated[float, typer.Option("--rate-scale", help="Of a profile: times the requests.")] = 1.0,
    model: Annotated[str | None, typer.Option("--model", help="Model; default the only one served.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Requests per second, open loop.")] = None,
    cv: Annotated[float | None, typer.Option("--cv", help="Variation of the gaps: 1 Poisson, 0 constant.")] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", help="Requests in flight, closed loop.")] = None,
    input_length: Annotated[
        str | None, typer.Option("--input", help="Prompt tokens: 512 (default), 100-900, lognormal:500:1.2.")
    ] = None,
    output_length: Annotated[
        str | None, typer.Option("--output", help="Answer tokens, in the same words; default 128.")
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", help="How long requests are sent: 60s, 5min; default 60s at a rate.")
    ] = None,
    requests: Annotated[int | None, typer.Option("--requests", help="How many requests at most.", min=1)] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the plan; default 0.")] = None,
    limits: Annotated[str | None, typer.Option("--slo", help="ttft=2s,tpot=200ms,e2e=20s,p95.")] = None,
    warm: Annotated[
        str | None, typer.Option("--warmup", help="Left out at the start: 10s, 100 (requests), steady.")
    ] = None,
    points: Annotated[str | None, typer.Option("--sweep", help="rate=1,2,4 or concurrency=1,8,64; a run each.")] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Runs of each point.", min=1, max=100)] = 1,
    cool_down: Annotated[str, typer.Option("--cool-down", help="Pause between runs.")] = "2s",
    processes: Annotated[int | None, typer.Option("--processes", help="Generator processes; default 1.", min=1)] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Environment variable with the API key.")] = None,
    header: Annotated[list[str] | None, typer.Option("--header", help="Further header, 'NAME: VALUE'.")] = None,
    completions: Annotated[bool, typer.Option("--completions", help="Text completions instead of chat.")] = False,
    whole: Annotated[bool, typer.Option("--no-stream", help="Whole answers: no token times.")] = False,
    facts: Annotated[list[str] | None, typer.Option("--known", help="A condition you know: accelerator=H100.")] = None,
    unsalted: Annotated[bool, typer.Option("--no-salt", help="Same prompts in every run (warms caches).")] = False,
    unprobed: Annotated[bool, typer.Option("--no-probe", help="Send no probes: a word is taken for a token.")] = False,
    wait: Annotated[str, typer.Option("--wait", help="How long to wait for a server that starts or loads.")] = "0s",
    again: Annotated[bool, typer.Option("--recalibrate", help="Measure this client anew.")] = False,
    uncalibrated: Annotated[bool, typer.Option("--no-calibrate", help="Do not measure this client first.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, send nothing.")] = False,
    price_in: Annotated[
        float | None, typer.Option("--price-in", help="For --dry-run: price of a million input tokens.", min=0)
    ] = None,
    price_out: Annotated[
        float | None, typer.Option("--price-out", help="For --dry-run: price of a million output tokens.", min=0)
    ] = None,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Offer a workload to an OpenAI-compatible endpoint and keep figures with everything that made them so.

    Send times are planned before and never wait for answers (open loop); latency counts from the planned time.
    The client measures itself, and a run in which it was the limit is not valid. Ctrl-C drains and keeps what was
    measured, a second one leaves. Exit 1 where a run is not valid, misses its limits or was interrupted.

    \b
    Examples:
      caveat measure http://localhost:8000 --rate 4 --duration 60s --input 512 --output 128 --slo ttft=2s,tpot=100ms
      caveat measure http://localhost:8000 --sweep concurrency=1,8,64 --known accelerator=H100 --known accelerators=1
      caveat measure --spec run.toml --dry-run --price-in 0.5 --price-out 1.5
      caveat measure http://localhost:8000 --replay trace.jsonl --first 600 --thin 10 --scale 0.1,0.1
      caveat measure --like 3f2a90c1
    """
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
        completions=completions,
        whole=whole,
        facts=facts or (),
        unsalted=unsalted,
        unprobed=unprobed,
    )
    book = Ledger(ledger)
    pause_s, wait_s, price = seconds(cool_down), seconds(wait), prices(price_in, price_out)
    order = [spec for spec in specs(asked, book) for _ in range(repeats)]
    if dry_run:
        show_dry_run(order, price, as_json=as_json)
        return EXIT_YES
    order = _ready(order, wait_s)
    client = None if uncalibrated else client_of_today(order[0].processes, again=again)
    rng = random.SystemRandom()
    rng.shuffle(order)  # drift of the machine must not look like an effect of the rate
    runs, interrupted = carry_out(order, book, client, rng, cool_down_s=pause_s, as_json=as_json)
    if as_json:
        emit(measured_json(runs))
    elif len(runs) == 1:
        print_measured(runs[0])
    else:
        print_sweep(runs)
    return EXIT_YES if all(map(is_valid, runs)) and not interrupted else EXIT_NO


def _ready(order: list[Spec], wait_s: float) -> list[Spec]:
    """The specs with the name of their model, once their endpoint answers; all of them have one endpoint."""
    there = order[0].endpoint
    until_answering(there, wait_s=wait_s)
    if there.model != UNNAMED:
        return order
    named = msgspec.structs.replace(there, model=served_model(there))
    return [msgspec.structs.replace(spec, endpoint=named) for spec in order]
