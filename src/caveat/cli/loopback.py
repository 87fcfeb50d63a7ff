"""caveat loopback: an endpoint of our own, for calibration, demos and tests; driven by fixed delays or a model."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from caveat.cli.console import JsonOption, emit, verb_app
from caveat.cli.simulate_settings import settings_of
from caveat.cli.spec_options import seconds
from caveat.errors import EXIT_YES, UsageError
from caveat.loopback import Behaviour, FixedEngine, MakeEngine, behaviour_of, modelled, read_behaviour, run

app = verb_app()


@app.command()
def loopback(
    port: Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    exposed: Annotated[bool, typer.Option("--exposed", help="Allow an address that others can reach.")] = False,
    ttft: Annotated[
        str, typer.Option("--ttft", help="100ms, or a law: lognormal(100ms, 0.5), exponential(0.1s).")
    ] = "0",
    itl: Annotated[str, typer.Option("--itl", help="20ms between tokens, or a law; bare numbers are seconds.")] = "0",
    slots: Annotated[int, typer.Option("--slots", help="Requests served at once; 0 is no limit.", min=0)] = 0,
    file: Annotated[Path | None, typer.Option("--behaviour", help="TOML file with all of it, faults included.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Model file, or the name of a shipped model, in place of delays.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the model: fleet.replicas=2; several may be given.")
    ] = None,
    draw: Annotated[
        int | None, typer.Option("--draw", help="Which draw of the model's step times; default: its best guess.", min=0)
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Serve an OpenAI-compatible endpoint that answers in known times and logs the truth about every request.

    With a model it answers when a simulation of the model would, in real time. It ends with Ctrl-C or SIGTERM. What it
    did, and how late it was: GET /loopback/log.

    \b
    Examples:
      caveat loopback --port 8000 --ttft 100ms --itl 20ms
      caveat loopback --ttft 'lognormal(200ms, 0.6)' --slots 8
      caveat loopback --behaviour faulty.toml --port 0 --json
      caveat loopback --model h100-llama3.1-8b --port 8000
    """
    behaviour = read_behaviour(file) if file is not None else _behaviour(ttft, itl, slots)
    engine = _engine(model, settings_of(settings), draw)

    def ready(url: str, stop: Callable[[], None]) -> None:
        signal.signal(signal.SIGTERM, lambda *_: stop())
        if as_json:
            emit({"format": "caveat-loopback/1", "url": url})
        else:
            print(f"serving {url}, Ctrl-C ends it")
        sys.stdout.flush()

    run(behaviour, host, port, exposed=exposed, engine=engine, ready=ready)
    return EXIT_YES


def _behaviour(ttft: str, itl: str, slots: int) -> Behaviour:
    return behaviour_of({"ttft_s": _law(ttft, "--ttft"), "itl_s": _law(itl, "--itl"), "slots": slots})


def _engine(name: str | None, settings: dict[str, str], draw: int | None) -> MakeEngine:
    """Fixed delays, or the model that was named."""
    if name is not None:
        from caveat.simulator import changed, model_named

        return modelled(changed(model_named(name), settings), draw=draw)
    if settings or draw is not None:
        raise UsageError("found --set or --draw without --model, expected a model that they are of")
    return FixedEngine


def _law(text: str, option: str) -> float | str:
    """A time as `100ms` or bare seconds, or a law whose first number is one; the rest stays what it is."""
    try:
        return float(text)
    except ValueError:
        pass
    if "(" not in text:
        return seconds(text, option)
    name, _, inside = text.partition("(")
    first, comma, rest = inside.rstrip().removesuffix(")").partition(",")
    return f"{name}({seconds(first, option)!r}{comma}{rest})"
