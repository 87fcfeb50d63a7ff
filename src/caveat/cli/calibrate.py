"""caveat calibrate: a model of a server, from its own samples, from published figures, or from data sheets alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from caveat.cli.calibrate_runs import Made, of_runs, unseen
from caveat.cli.calibrated import model_json, print_model
from caveat.cli.console import JsonOption, LedgerOption, emit, progress, show_lines, verb_app
from caveat.cli.measure_options import Seed
from caveat.cli.simulate_options import DataSheet, InputTokens, ModelFile, ModelTitle, Published, RunNames, Set
from caveat.cli.simulate_settings import settings_of
from caveat.errors import EXIT_YES, NotFoundError, UsageError
from caveat.ledger import Ledger, parse_where
from caveat.simulator import (
    Calibration,
    Layout,
    Model,
    Roofline,
    encode_model,
    fleet_of,
    from_data_sheets,
    from_published,
    prefix_hit_of,
    scheduler_of,
)

app = verb_app()

SHEET_KEYS = ("accelerator", "model", "tp", "precision", "kv_precision", "replicas")


@app.command()
def calibrate(
    runs: RunNames = None,
    published: Published = None,
    datasheet: DataSheet = None,
    input_tokens: InputTokens = None,
    settings: Set = None,
    title: ModelTitle = None,
    seed: Seed = None,
    output: ModelFile = None,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Make a model file, and say what was identified, its grade and the range in which it may be asked.

    From measured runs (grade A): every answer counts. From published runs of one system (grade B): Server,
    Interactive and Offline rates through Little's law. From data sheets (grade C): a roofline, and what is believed
    of engines in general. Settings of the scheduler are given with --set scheduler.KEY=VALUE; what nobody gave is
    unknown in the file, never zero. Runs that no engine with continuous batching gives make no model, but a reason
    (exit 3).

    \b
    Examples:
      caveat calibrate 3f2a90c1 77be01d2 --set scheduler.static_slots=8 -o engine.toml
      caveat calibrate --published round=v6.0 --published platform=NAME --input-tokens 294 -o published.toml
      caveat calibrate --datasheet accelerator=H100-SXM,model=llama3.1-8b,tp=1,precision=fp8 -o h100.toml
    """
    made_of = {"RUN": runs, "--published": published, "--datasheet": datasheet}
    given = [name for name, value in made_of.items() if value]
    if len(given) != 1:
        raise UsageError(
            f"found {' and '.join(given) or 'nothing'} to calibrate from, expected one of {', '.join(made_of)}",
            next="caveat calibrate --help shows an example of each",
        )
    if input_tokens is not None and not published:
        raise UsageError("found --input-tokens without --published: other sources state lengths", next="leave it out")
    made = _made(settings_of(settings), title, seed, of_runs=bool(runs))
    with progress() as bar:
        bar.add_task("looking for models that give what was seen", total=None)
        found = _found(made, Ledger(ledger), runs or (), published or (), datasheet, input_tokens)
    model = found.model
    if output is not None:
        output.write_bytes(encode_model(model))
    if as_json:
        emit(model_json(found, file=output))
        return EXIT_YES
    print_model(found)
    if output is not None:
        show_lines(["", f"model file: {output}"], indent=0)
    return EXIT_YES


def _made(settings: Mapping[str, str], title: str | None, seed: int | None, *, of_runs: bool) -> Made:
    known = ("scheduler", "fleet", "prefix_hit") if of_runs else ("scheduler", "prefix_hit")
    if wrong := [key for key in settings if key.partition(".")[0] not in known]:
        raise UsageError(
            f"--set: found {wrong[0][:60]!r}, expected a key of {', '.join(known)}: the rest comes from what is given",
            next="replicas of a data sheet: --datasheet ...,replicas=2",
        )
    return Made(
        title=title,
        scheduler=scheduler_of(_of_table(settings, "scheduler.")),
        fleet=fleet_of(_of_table(settings, "fleet.")),
        prefix_hit=prefix_hit_of(settings["prefix_hit"]) if "prefix_hit" in settings else None,
        date=datetime.now(UTC).date().isoformat(),
        rng=np.random.default_rng(seed or 0),
    )


def _of_table(settings: Mapping[str, str], table: str) -> dict[str, str]:
    return {key.removeprefix(table): text for key, text in settings.items() if key.startswith(table)}


def _found(
    made: Made,
    book: Ledger,
    runs: Sequence[str],
    published: Sequence[str],
    datasheet: str | None,
    input_tokens: float | None,
) -> Calibration:
    if datasheet is not None:
        return unseen(of_data_sheet(made, datasheet))
    if published:
        return unseen(of_published(made, book, published, input_tokens))
    return of_runs(made, [book.figure(name).run for name in runs], book)


def of_published(made: Made, book: Ledger, where: Sequence[str], input_tokens: float | None) -> Model:
    """From published runs of one system."""
    if input_tokens is None:
        raise UsageError(
            "--published needs --input-tokens: published runs do not state how long their prompts are",
            next="give the mean of the data set, 294 for OpenOrca in the tokens of Llama 2",
        )
    runs = book.runs([parse_where(text) for text in where])
    if not runs:
        raise NotFoundError(f"no run fits {' and '.join(where)}", next="caveat figures lists what there is")
    c = runs[0].conditions
    return from_published(
        made.title or f"{c.text('benchmark')} on {c.text('platform')}, {c.text('submitter')}, {c.text('round')}",
        runs,
        made.rng,
        input_tokens=input_tokens,
        date=made.date,
        scheduler=made.scheduler,
        prefix_hit=0.0 if made.prefix_hit is None else made.prefix_hit,
    )


def of_data_sheet(made: Made, text: str) -> Model:
    """From the tables of facts: `accelerator=H100-SXM,model=llama3.1-8b,tp=1,precision=fp8,replicas=2`."""
    sheet = _sheet(text)
    roofline = Roofline(
        accelerator=sheet["accelerator"],
        model=sheet["model"],
        tensor_parallel=_count(sheet, "tp"),
        precision=sheet.get("precision", "bf16"),
        kv_precision=sheet.get("kv_precision", "bf16"),  # type: ignore[arg-type]
    )
    return from_data_sheets(
        made.title or f"{sheet['model']} on {sheet['accelerator']}",
        Layout(roofline=roofline, replicas=_count(sheet, "replicas"), assumed=False),
        made.rng,
        date=made.date,
        scheduler=made.scheduler,
        prefix_hit="unknown" if made.prefix_hit is None else made.prefix_hit,
    )


def _sheet(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    sheet = {key.strip(): value.strip() for key, equals, value in pairs if equals and value.strip()}
    wrong = [key for key, equals, _ in pairs if not equals or key.strip() not in SHEET_KEYS]
    missing = [key for key in SHEET_KEYS[:2] if key not in sheet]
    if wrong or missing:
        raise UsageError(
            f"--datasheet: found {text[:120]!r}, expected KEY=VALUE of {', '.join(SHEET_KEYS)}",
            next="--datasheet accelerator=H100-SXM,model=llama3.1-8b,tp=1,precision=fp8",
        )
    return sheet


def _count(sheet: Mapping[str, str], key: str) -> int:
    text = sheet.get(key, "1")
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 100_000):
        raise UsageError(f"--datasheet: {key}: found {text[:60]!r}, expected a whole number from 1")
    return int(text)
