"""caveat trace: recorded traffic described, fitted, made into a profile that holds no text, and synthesized."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from caveat.cli.console import JsonOption, emit, heading, plural, show, show_lines
from caveat.cli.drawn import print_chart
from caveat.cli.trace_printed import print_candidates, print_description, print_problems, print_replay
from caveat.cli.trace_read import ColumnsOption, FirstOption, FormatOption, TraceFile, UnitOption, changed, read
from caveat.errors import EXIT_NO, EXIT_YES, InputError, Problem, UsageError
from caveat.publish import cell, is_chart_name, plot_trace, write_chart
from caveat.workload import (
    Profile,
    ReplayDifference,
    TraceDescription,
    Workload,
    decode_profile,
    decode_workload,
    describe_trace,
    encode_profile,
    encode_workload,
    fit_trace,
    is_servegen,
    privacy_statement,
    profile_of,
    replay_differences,
    servegen_workload,
    synthesize,
)

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Describe, fit, profile or synthesize recorded traffic.

    Known formats: Mooncake and Bailian JSONL, Azure and BurstGPT CSV, AIPerf's JSONL, OpenAI-style request logs
    (text is counted and dropped), folders of ServeGen's parameters (requests are drawn from them), and CSV, JSONL
    or Parquet with a map of columns. Prompt sets without times (vLLM's custom JSONL, ShareGPT, any table of
    lengths) are described by their lengths only.
    Every action takes --json.

    \b
    Examples:
      caveat trace describe conversation_trace.jsonl
      caveat trace describe conversation_trace.jsonl --plot trace.svg
      caveat trace fit AzureLLMInferenceTrace_conv.csv -o workload.json
      caveat trace profile requests.jsonl -o traffic.json --privacy
      caveat trace synthesize traffic.json -o replay.jsonl --requests 10000
      caveat trace synthesize servegen/language -o replay.jsonl --first 600
    """,
)

_CHECKED = 100_000
"""Requests up to which a profile is replayed to see how far off it is: a second or two."""

ThinOption = Annotated[int, typer.Option("--thin", help="Every k-th request.", min=1)]
SpeedOption = Annotated[float, typer.Option("--speed", help="Times divided by this.")]
ScaleOption = Annotated[str | None, typer.Option("--scale", help="Lengths times these: INPUT,OUTPUT.")]
PlotFile = Annotated[Path | None, typer.Argument(help="With --plot: a .png, .svg, .html or .json file to write.")]
PlotOption = Annotated[bool, typer.Option("--plot", help="Draw it here, or into the file named behind.")]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")]


@app.command()
def describe(
    file: TraceFile,
    chart: PlotFile = None,
    form: FormatOption = None,
    columns: ColumnsOption = None,
    time_unit: UnitOption = None,
    first: FirstOption = None,
    thin: ThinOption = 1,
    speed: SpeedOption = 1.0,
    scale: ScaleOption = None,
    plot: PlotOption = False,
    as_json: JsonOption = False,
) -> int:
    """Rates at several time scales, burstiness, lengths, prefix reuse, sessions; what is wrong with the file.

    With --plot it is drawn beside Poisson traffic of the same rate. PNG, SVG and HTML need the extra `report`.
    Exit 1 where the file has problems.
    """
    if chart is not None and not plot:
        raise UsageError(f"found a second file, {chart.name!r}", next="--plot draws into it")
    if chart is not None and is_chart_name(file.name) and not is_chart_name(chart.name):
        file, chart = chart, file  # `--plot trace.svg FILE` means the same
    found = read(file, form, columns, time_unit, first)
    problems = found.problems
    description = describe_trace(changed(found.recording, thin=thin, speed=speed, scale=scale))
    if plot:
        _plot(description, problems, chart, as_json=as_json)
    elif as_json:
        emit({**msgspec.to_builtins(description), "problems": [msgspec.to_builtins(p) for p in problems]})
    else:
        print_description(description, problems)
    return EXIT_NO if problems else EXIT_YES


@app.command()
def fit(
    file: TraceFile,
    form: FormatOption = None,
    columns: ColumnsOption = None,
    time_unit: UnitOption = None,
    first: FirstOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the tests.")] = 0,
    output: OutputOption = None,
    as_json: JsonOption = False,
) -> int:
    """The simplest workload that passes stated tests, what it fails to reproduce, and what was not tested.

    Exit 1 where anything that was tested is missed.
    """
    found = read(file, form, columns, time_unit, first)
    problems = found.problems
    result = fit_trace(found.recording, name=file.stem, seed=seed)
    if output is not None:
        output.write_bytes(encode_workload(result.workload))
    if as_json:
        emit({**msgspec.to_builtins(result), "problems": [msgspec.to_builtins(p) for p in problems]})
    else:
        print_problems(problems)
        print_candidates("arrivals", result.arrivals)
        print_candidates("lengths", result.lengths)
        heading("what the chosen workload does not reproduce")
        show_lines(result.misses or ("nothing that was tested",))
        if result.doubtful:
            heading("what its plans seldom have")
            show_lines(result.doubtful)
        heading("what was not tested")
        show_lines(result.not_tested)
        heading("notes")
        show_lines(result.notes)
        if output is not None:
            show(cell(f"workload: {output}"))
    return EXIT_YES if result.passed else EXIT_NO


@app.command()
def profile(
    file: TraceFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    form: FormatOption = None,
    columns: ColumnsOption = None,
    time_unit: UnitOption = None,
    min_count: Annotated[int, typer.Option("--min-count", help="No record stands for fewer requests.", min=2)] = 10,
    privacy: Annotated[bool, typer.Option("--privacy", help="Say what can and cannot be recovered.")] = False,
    name: Annotated[str, typer.Option("--name", help="A name to keep in it; none unless given.")] = "",
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check", help=f"Replay it and say how far off that is.  [default: up to {_CHECKED:,} requests]"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """A small file that anybody can replay: arrivals, lengths, their dependence, sharing; no text and no names."""
    found = read(file, form, columns, time_unit)
    problems = found.problems
    made = profile_of(found.recording, min_count=min_count, name=name)
    content = encode_profile(made)
    output.write_bytes(content)
    wanted = made.requests <= _CHECKED if check is None else check
    differences = replay_differences(found.recording, made) if wanted else None
    said = privacy_statement(made).splitlines() if privacy else []
    if as_json:
        emit(
            {
                "format": "caveat-profiled/1",
                "file": str(output),
                "bytes": len(content),
                "requests": made.requests,
                "privacy": said,
                "replay": None if differences is None else [_difference(one) for one in differences],
            }
        )
        return EXIT_NO if problems else EXIT_YES
    print_problems(problems)
    show(cell(f"{output}: {plural(made.requests, 'request')} in {len(content):,} bytes"))
    print_replay(differences)
    show_lines(said, indent=0)
    return EXIT_NO if problems else EXIT_YES


def _difference(one: ReplayDifference) -> dict[str, object]:
    return {**msgspec.to_builtins(one), "met": one.met}


@app.command("synthesize")
def synthesize_(
    source: Annotated[Path, typer.Argument(help="Traffic profile, workload document or folder of ServeGen's.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Trace file to write.")],
    requests: Annotated[int | None, typer.Option("--requests", help="At most so many.", min=1)] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Another seed.")] = None,
    form: Annotated[str, typer.Option("--form", help="caveat or mooncake.")] = "caveat",
    first: FirstOption = None,
    as_json: JsonOption = False,
) -> int:
    """A new trace of the same traffic, from a profile or a workload."""
    if form not in ("caveat", "mooncake"):
        raise UsageError(f"--form: found {form!r}, expected caveat or mooncake")
    shape: Literal["caveat", "mooncake"] = "mooncake" if form == "mooncake" else "caveat"
    count = synthesize(_source(source, first), output, requests=requests, seed=seed, form=shape)
    if as_json:
        emit({"format": "caveat-synthesized/1", "file": str(output), "requests": count})
    else:
        show(cell(f"{output}: {plural(count, 'request')}"))
    return EXIT_YES


def _source(path: Path, first: float | None) -> Profile | Workload:
    """What is synthesized from; of a folder of ServeGen's the clients' first seconds."""
    if is_servegen(path):
        return servegen_workload(path) if first is None else servegen_workload(path, duration_s=first)
    if first is not None:
        raise UsageError("--first: found it for a file, expected a folder of ServeGen's", next="--requests N")
    return read_source(path)


def read_source(path: Path) -> Profile | Workload:
    """A traffic profile or a workload document, told apart by its format key. InputError names the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}", next="check the path") from error
    try:
        if b"caveat-profile/" in data[:4096]:
            return decode_profile(data)
        return decode_workload(data, "toml" if path.suffix.lower() == ".toml" else "json")
    except InputError as error:
        raise InputError(f"{path.name}: {error.message}", code=error.code, next=error.next) from error


def _plot(d: TraceDescription, problems: Sequence[Problem], file: Path | None, *, as_json: bool) -> None:
    drawn = plot_trace(d, problems)
    if file is not None:
        write_chart(drawn.spec, file)
    if as_json:
        where = {"file": str(file)} if file is not None else {"spec": drawn.spec}
        emit({"format": "caveat-chart/1", "figures": [], **where})
    elif file is not None:
        show(cell(f"{file}: {drawn.spec['title']['text']}"))
    else:
        print_chart(drawn)
