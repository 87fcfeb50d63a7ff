"""caveat measure: a workload against a real endpoint, open loop, with nothing to hide behind."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from caveat import __version__
from caveat.cli.console import JsonOption, LedgerOption, emit, plural, show, verb_app
from caveat.cli.live_view import Interrupt, Progress
from caveat.cli.measured import print_measured, print_sweep
from caveat.cli.spec_options import at_point, endpoint, headers, known, slo, sweep, warmup, workload, workload_file
from caveat.errors import EXIT_NO, EXIT_YES, UsageError
from caveat.figures import Run
from caveat.ledger import Ledger
from caveat.loadgen import (
    ClientCalibration,
    Endpoint,
    Spec,
    calibration,
    experiment,
    measure_client,
    read_folder,
    read_spec,
    record,
    served_model,
)
from caveat.publish import cell, figure_json
from caveat.workload import PlanStatistics

app = verb_app()
COOL_DOWN_S = 2.0


@app.command()
def measure(
    url: Annotated[str | None, typer.Argument(help="Base address: http://localhost:8000.")] = None,
    spec_file: Annotated[Path | None, typer.Option("--spec", help="Whole experiment in a TOML or JSON file.")] = None,
    like: Annotated[str | None, typer.Option("--like", help="Repeat an earlier run of this ledger exactly.")] = None,
    workload_path: Annotated[Path | None, typer.Option("--workload", help="Workload document (TOML or JSON).")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model; default the only one served.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Requests per second, open loop.")] = None,
    cv: Annotated[float | None, typer.Option("--cv", help="Variation of the gaps: 1 Poisson, 0 constant.")] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", help="Requests in flight, closed loop.")] = None,
    input_length: Annotated[
        str, typer.Option("--input", help="Prompt tokens: 512, 100-900, lognormal:500:1.2.")
    ] = "512",
    output_length: Annotated[str, typer.Option("--output", help="Answer tokens, in the same words.")] = "128",
    duration: Annotated[str | None, typer.Option("--duration", help="How long requests arrive: 60s, 5min.")] = None,
    requests: Annotated[int | None, typer.Option("--requests", help="How many requests at most.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the plan.")] = 0,
    limits: Annotated[str | None, typer.Option("--slo", help="ttft=2s,tpot=200ms,e2e=20s,p95.")] = None,
    warm: Annotated[
        str | None, typer.Option("--warmup", help="Left out at the start: 10s, 100 (requests), steady.")
    ] = None,
    points: Annotated[str | None, typer.Option("--sweep", help="rate=1,2,4 or concurrency=1,8,64; a run each.")] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Runs of each point.", min=1, max=100)] = 1,
    processes: Annotated[int, typer.Option("--processes", help="Generator processes.", min=1)] = 1,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Environment variable with the API key.")] = None,
    header: Annotated[list[str] | None, typer.Option("--header", help="Further header, 'NAME: VALUE'.")] = None,
    completions: Annotated[bool, typer.Option("--completions", help="Text completions instead of chat.")] = False,
    whole: Annotated[bool, typer.Option("--no-stream", help="Whole answers: no token times.")] = False,
    facts: Annotated[list[str] | None, typer.Option("--known", help="A condition you know: accelerator=H100.")] = None,
    unsalted: Annotated[bool, typer.Option("--no-salt", help="Same prompts in every run (warms caches).")] = False,
    words: Annotated[bool, typer.Option("--no-probe", help="Send no probes: a word is taken for a token.")] = False,
    again: Annotated[bool, typer.Option("--recalibrate", help="Measure this client anew.")] = False,
    uncalibrated: Annotated[bool, typer.Option("--no-calibrate", help="Do not measure this client first.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, send nothing.")] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Offer a workload to an OpenAI-compatible endpoint and keep figures with everything that made them so.

    Send times are planned before and never wait for answers (open loop); latency counts from the planned time.
    The client measures itself, and a run in which it was the limit is not valid. Exit 1 where a run is not valid.

    \b
    Examples:
      caveat measure http://localhost:8000 --rate 4 --duration 60s --input 512 --output 128 --slo ttft=2s,tpot=100ms
      caveat measure http://localhost:8000 --sweep concurrency=1,8,64 --known accelerator=H100 --known accelerators=1
      caveat measure --spec run.toml --dry-run
      caveat measure --like 3f2a90c1
    """
    book = Ledger(ledger)
    if spec_file is not None:
        spec = read_spec(spec_file)
    elif like is not None:
        spec = _earlier(book, like).repeated(headers(header or ()))
    else:
        target = _endpoint(url, model, key_env=key_env, header=header or (), completions=completions, stream=not whole)
        spec = Spec(
            endpoint=target,
            workload=workload_file(workload_path)
            if workload_path is not None
            else workload(
                rate=_first(points, "rate", rate),
                cv=cv,
                concurrency=_whole(_first(points, "concurrency", concurrency)),
                input_length=input_length,
                output_length=output_length,
                duration=duration,
                requests=requests,
                seed=seed,
            ),
            slo=slo(limits),
            warmup=warmup(warm),
            processes=processes,
            salted=not unsalted,
            calibrated=not words,
            known=known(facts or ()),
        )
    specs = [at_point(spec, what, value) for what, values in [sweep(points)] for value in values] if points else [spec]
    if dry_run:
        return _dry_run(specs, as_json=as_json)
    client = None if uncalibrated else _client(spec.processes, again=again)
    order = [one for one in specs for _ in range(repeats)]
    rng = random.SystemRandom()
    rng.shuffle(order)  # drift of the machine must not look like an effect of the rate
    runs = _carry_out(order, book, client, rng, as_json=as_json)
    if as_json:
        emit({"format": "caveat-measured/1", "runs": [_run_json(run) for run in runs]})
    elif len(runs) == 1:
        print_measured(runs[0])
    else:
        print_sweep(runs)
    return EXIT_YES if all(run.outcome(run.primary or "") != "fail" for run in runs) else EXIT_NO


def _endpoint(
    url: str | None, model: str | None, *, key_env: str | None, header: Sequence[str], completions: bool, stream: bool
) -> Endpoint:
    if url is None:
        raise UsageError("measure needs an address, --spec or --like", next="caveat measure http://localhost:8000 ...")
    found = endpoint(url, model or "-", key_env=key_env, header=header, completions=completions, stream=stream)
    return found if model is not None else msgspec.structs.replace(found, model=served_model(found))


def _first(points: str | None, what: str, given: float | None) -> float | None:
    """The value of a sweep's first point stands in for the option that it sweeps."""
    if points is None or given is not None:
        return given
    swept, values = sweep(points)
    return values[0] if swept == what else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _earlier(book: Ledger, name: str) -> Spec:
    run = book.figure(name).run
    if run.samples is None:
        raise UsageError(f"{name} was not measured here: it has no samples", next="give a measured run, or --spec")
    return read_folder((book.path / run.samples).parent)[0]


def _client(processes: int, *, again: bool) -> ClientCalibration:
    """What this machine's generator can do, measured against the loopback endpoint or kept from today."""
    from caveat.loopback import Behaviour, start_process

    def measured() -> ClientCalibration:
        with start_process(Behaviour(one_write=True)) as server:
            return measure_client(Endpoint(url=server.url, model="loopback"), version=__version__, processes=processes)

    return calibration(measured, version=__version__, processes=processes, now_s=time.time(), again=again)


def _carry_out(
    specs: Sequence[Spec], book: Ledger, client: ClientCalibration | None, rng: random.Random, *, as_json: bool
) -> list[Run]:
    """Each spec once, with a pause between; what was measured before an interruption is kept."""
    runs: list[Run] = []
    interrupt = Interrupt()
    for number, spec in enumerate(specs):
        if interrupt.requested():
            break
        if number:
            time.sleep(COOL_DOWN_S)
        runs.append(_one(spec, book, client, rng, interrupt, as_json=as_json))
    return runs


def _one(
    spec: Spec,
    book: Ledger,
    client: ClientCalibration | None,
    rng: random.Random,
    interrupt: Interrupt,
    *,
    as_json: bool,
) -> Run:
    subject = f"measured/{uuid.uuid4().hex}"
    folder = book.path / subject
    view = Progress(expected=spec.workload.limits.requests, as_json=as_json)
    with interrupt.listening():
        try:
            experiment(
                spec,
                folder,
                version=__version__,
                started=datetime.now(UTC).isoformat(timespec="seconds"),
                rng=rng,
                calibration=client,
                cancel=interrupt,
                watch=view.watch,
            )
        finally:
            view.stop()
    run = record(folder, subject=subject)
    book.add([run])
    return run


def _dry_run(specs: Sequence[Spec], *, as_json: bool) -> int:
    plans = []
    for spec in specs:
        plan = spec.workload.plan()
        counted = PlanStatistics(plan)
        plans.append(
            {
                "plan": plan.describe(),
                "requests": counted.requests,
                "arrivals_s": counted.last_ns / 1e9,
                "input_tokens": counted.input_tokens.total(),
                "output_tokens": counted.output_tokens.total(),
                "endpoint": spec.endpoint.describe(),
            }
        )
    if as_json:
        emit({"format": "caveat-dry-run/1", "runs": plans})
        return EXIT_YES
    for plan_json in plans:
        show(
            cell(
                f"{plural(int(str(plan_json['requests'])), 'request')} over {plan_json['arrivals_s']:.1f} s to "
                f"{plan_json['endpoint']}: {plan_json['input_tokens']:,} tokens in, {plan_json['output_tokens']:,} out"
            )
        )
    show(cell("nothing was sent"))
    return EXIT_YES


def _run_json(run: Run) -> dict[str, object]:
    from caveat.figures import figures_of

    return {
        "id": run.id,
        "subject": run.subject,
        "figures": [figure_json(f) for f in figures_of(run)],
        "notes": run.notes,
    }
