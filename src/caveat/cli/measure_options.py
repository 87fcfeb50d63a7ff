"""The options of `caveat measure`: one line each, under the headings that --help shows."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from caveat.cli.console import FullOption

# The headings of --help, in the order in which they stand there.
_MEASURED: Any = partial(typer.Option, rich_help_panel="What is measured")
_WORKLOAD: Any = partial(typer.Option, rich_help_panel="A workload")
_REPLAY: Any = partial(typer.Option, rich_help_panel="A replay of a trace or profile")
_DEMANDED: Any = partial(typer.Option, rich_help_panel="What is demanded, and left out")
_SCENARIO: Any = partial(typer.Option, rich_help_panel="A scenario by MLPerf's rules, as caveat reads them")
_RUNS: Any = partial(typer.Option, rich_help_panel="Several runs")
_PEAK: Any = partial(typer.Option, rich_help_panel="The search for the peak")
_OTHER: Any = partial(typer.Option, rich_help_panel="Other measurements of the same endpoint")
_ACCURACY: Any = partial(typer.Option, rich_help_panel="Accuracy")
_CLIENT: Any = partial(typer.Option, rich_help_panel="The client and how it asks")
_BEFORE: Any = partial(typer.Option, rich_help_panel="Before anything is sent")

# what is measured
Url = Annotated[str | None, typer.Argument(help="Base address: http://localhost:8000.")]
SpecFile = Annotated[Path | None, _MEASURED("--spec", help="Whole experiment in a TOML or JSON file.")]
Like = Annotated[str | None, _MEASURED("--like", help="Repeat an earlier run of this ledger exactly.")]
Model = Annotated[str | None, _MEASURED("--model", help="Model; default the only one served.")]

# a workload
Rate = Annotated[float | None, _WORKLOAD("--rate", help="Requests per second, open loop.")]
Cv = Annotated[float | None, _WORKLOAD("--cv", help="Variation of the gaps: 1 Poisson, 0 constant.")]
ConcurrencyOption = Annotated[int | None, _WORKLOAD("--concurrency", help="Requests in flight, closed loop.")]
InputLength = Annotated[
    str | None, _WORKLOAD("--input", help="Prompt tokens: 512 (default), 100-900, lognormal:500:1.2.")
]
OutputLength = Annotated[str | None, _WORKLOAD("--output", help="Answer tokens, in the same words; default 128.")]
Duration = Annotated[
    str | None, _WORKLOAD("--duration", help="How long requests are sent: 60s, 5min; default 60s at a rate.")
]
Requests = Annotated[int | None, _WORKLOAD("--requests", help="How many requests at most.", min=1)]
Seed = Annotated[int | None, _WORKLOAD("--seed", help="Seed of the plan; default 0.")]
WorkloadPath = Annotated[Path | None, _WORKLOAD("--workload", help="Workload document (TOML or JSON).")]
DatasetPath = Annotated[
    Path | None, _WORKLOAD("--dataset", help="JSONL of prompts, each sent as its own text, in shuffled passes.")
]

# a replay
ReplayPath = Annotated[Path | None, _REPLAY("--replay", help="Trace or traffic profile to replay.")]
First = Annotated[float | None, _REPLAY("--first", help="Of a replay: only the first so many seconds.")]
Thin = Annotated[int, _REPLAY("--thin", help="Of a trace: every k-th request.", min=1)]
Speed = Annotated[float, _REPLAY("--speed", help="Of a replay: times divided by this.")]
Scale = Annotated[str | None, _REPLAY("--scale", help="Of a trace: lengths times INPUT,OUTPUT.")]
Spread = Annotated[bool, _REPLAY("--spread", help="Of a replay: spread a clock's coarse steps.")]
RateScale = Annotated[float, _REPLAY("--rate-scale", help="Of a profile: times the requests.")]

# what is demanded
SloOption = Annotated[str | None, _DEMANDED("--slo", help="ttft=2s,tpot=200ms,e2e=20s,p95.")]
WarmupOption = Annotated[str | None, _DEMANDED("--warmup", help="Left out at the start: 10s, 100 (requests), steady.")]

# a scenario
ScenarioOption = Annotated[
    str | None,
    _SCENARIO("--scenario", help="offline, server, interactive, single-stream or multi-stream, by MLPerf's rules."),
]
ProfileOption = Annotated[
    str | None, _SCENARIO("--profile", help="Limits, set and seeds of llama2-70b-99.9@v6.1, say.")
]
MinDuration = Annotated[str | None, _SCENARIO("--min-duration", help="At least so long; 10min.")]
MinQueries = Annotated[int | None, _SCENARIO("--min-queries", help="At least so many.", min=1)]
SetSize = Annotated[int | None, _SCENARIO("--samples", help="Samples of the set.", min=1)]
Short = Annotated[bool, _SCENARIO("--short", help="10 s, 64 queries, 64 samples, p90: a try.")]

# runs
Sweep = Annotated[str | None, _RUNS("--sweep", help="rate=1,2,4 or concurrency=1,8,64; a run each.")]
Repeats = Annotated[int, _RUNS("--repeats", help="Runs of each point, each drawn from the next seed.", min=1, max=100)]
SameDraw = Annotated[bool, _RUNS("--same-draw", help="Repeats send the same plan; so they do beside --like.")]
CoolDown = Annotated[str, _RUNS("--cool-down", help="Pause between runs.")]

# the search for the peak
FindPeak = Annotated[bool, _PEAK("--find-peak", help="Search the highest rate that meets the limits.")]
PeakWidth = Annotated[float, _PEAK("--peak-width", help="How wide its 90 % interval may be.", min=0.05, max=0.9)]
PeakWithin = Annotated[str | None, _PEAK("--peak-within", help="The search ends after so long; 2h.")]
NoConfirm = Annotated[bool, _PEAK("--no-confirm", help="No run of full length at the end.")]

# other measurements
Baseline = Annotated[
    bool, _OTHER("--baseline", help="Offline, server and interactive, as the pair of your own system.")
]
ByLoadgen = Annotated[
    bool, _OTHER("--loadgen", help="Of a scenario: through the official LoadGen, with its logs (extra mlperf).")
]
Deadline = Annotated[str | None, _OTHER("--deadline", help="Of --loadgen: what is in flight then is over.")]

# accuracy
AccuracyData = Annotated[
    Path | None, _ACCURACY("--accuracy", help="JSONL with prompts and references: score the answers, time nothing.")
]
Require = Annotated[list[str] | None, _ACCURACY("--require", help="What must be reached; rouge1>=38.4.")]
AccuracyLike = Annotated[str | None, _ACCURACY("--accuracy-like", help="The demands of llama2-70b-99@v5.1, say.")]
AccuracyScore = Annotated[list[str] | None, _ACCURACY("--accuracy-score", help="A further score to take: rouge2.")]
AccuracyPattern = Annotated[
    str | None, _ACCURACY("--accuracy-pattern", help="Picks what exact match compares, as a regular expression.")
]
AccuracyRun = Annotated[
    str | None, _ACCURACY("--accuracy-run", help="Accuracy run of this endpoint whose result the run carries.")
]

# the client and how it asks
Processes = Annotated[int | None, _CLIENT("--processes", help="Generator processes; default 1.", min=1)]
KeyEnv = Annotated[str | None, _CLIENT("--key-env", help="Environment variable with the API key.")]
HeaderOption = Annotated[list[str] | None, _CLIENT("--header", help="Further header, 'NAME: VALUE'.")]
ExtraBody = Annotated[
    list[str] | None, _CLIENT("--extra-body", help="Further field of every body, NAME=JSON: top_k=20. It is kept.")
]
CaFile = Annotated[Path | None, _CLIENT("--ca-file", help="Certificates to trust (PEM) instead of the system's.")]
NoVerify = Annotated[bool, _CLIENT("--no-verify", help="Trust any certificate; the run says so.")]
Temperature = Annotated[
    str | None, _CLIENT("--temperature", help="Default 0; server leaves it to the server.", metavar="<float|server>")
]
AnyLength = Annotated[
    bool, _CLIENT("--any-length", help="Answers may end by themselves: no min_tokens, no ignore_eos.")
]
ChunkTimes = Annotated[bool, _CLIENT("--chunk-times", help="Keep the time of every delta in the samples.")]
Completions = Annotated[bool, _CLIENT("--completions", help="Text completions instead of chat.")]
NoStream = Annotated[bool, _CLIENT("--no-stream", help="Whole answers: no token times.")]
Known = Annotated[list[str] | None, _CLIENT("--known", help="A condition you know: accelerator=H100.")]
Tokenizer = Annotated[
    Path | None, _CLIENT("--tokenizer", help="tokenizer.json: exact prompt lengths, answers counted by it as well.")
]
NoSalt = Annotated[bool, _CLIENT("--no-salt", help="Same prompts in every run (warms caches).")]
NoProbe = Annotated[bool, _CLIENT("--no-probe", help="Send no probes: a word is taken for a token.")]
Wait = Annotated[str, _CLIENT("--wait", help="How long to wait for a server that starts or loads.")]
Recalibrate = Annotated[bool, _CLIENT("--recalibrate", help="Measure this client anew.")]
NoCalibrate = Annotated[bool, _CLIENT("--no-calibrate", help="Do not measure this client first.")]

# the screen
Full = FullOption

# before anything is sent
DryRun = Annotated[bool, _BEFORE("--dry-run", help="Say what would be sent, send nothing.")]
PriceIn = Annotated[float | None, _BEFORE("--price-in", help="For --dry-run: price of a million input tokens.", min=0)]
PriceOut = Annotated[
    float | None, _BEFORE("--price-out", help="For --dry-run: price of a million output tokens.", min=0)
]
