"""The options of `caveat measure`: one line each, in the groups in which they are meant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# what is measured
Url = Annotated[str | None, typer.Argument(help="Base address: http://localhost:8000.")]
SpecFile = Annotated[Path | None, typer.Option("--spec", help="Whole experiment in a TOML or JSON file.")]
Like = Annotated[str | None, typer.Option("--like", help="Repeat an earlier run of this ledger exactly.")]
Model = Annotated[str | None, typer.Option("--model", help="Model; default the only one served.")]

# a workload
Rate = Annotated[float | None, typer.Option("--rate", help="Requests per second, open loop.")]
Cv = Annotated[float | None, typer.Option("--cv", help="Variation of the gaps: 1 Poisson, 0 constant.")]
ConcurrencyOption = Annotated[int | None, typer.Option("--concurrency", help="Requests in flight, closed loop.")]
InputLength = Annotated[
    str | None, typer.Option("--input", help="Prompt tokens: 512 (default), 100-900, lognormal:500:1.2.")
]
OutputLength = Annotated[str | None, typer.Option("--output", help="Answer tokens, in the same words; default 128.")]
Duration = Annotated[
    str | None, typer.Option("--duration", help="How long requests are sent: 60s, 5min; default 60s at a rate.")
]
Requests = Annotated[int | None, typer.Option("--requests", help="How many requests at most.", min=1)]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of the plan; default 0.")]
WorkloadPath = Annotated[Path | None, typer.Option("--workload", help="Workload document (TOML or JSON).")]
DatasetPath = Annotated[
    Path | None, typer.Option("--dataset", help="JSONL of prompts, each sent as its own text, in shuffled passes.")
]

# a replay
ReplayPath = Annotated[Path | None, typer.Option("--replay", help="Trace or traffic profile to replay.")]
First = Annotated[float | None, typer.Option("--first", help="Of a replay: only the first so many seconds.")]
Thin = Annotated[int, typer.Option("--thin", help="Of a trace: every k-th request.", min=1)]
Speed = Annotated[float, typer.Option("--speed", help="Of a replay: times divided by this.")]
Scale = Annotated[str | None, typer.Option("--scale", help="Of a trace: lengths times INPUT,OUTPUT.")]
Spread = Annotated[bool, typer.Option("--spread", help="Of a replay: spread a clock's coarse steps.")]
RateScale = Annotated[float, typer.Option("--rate-scale", help="Of a profile: times the requests.")]

# what is demanded
SloOption = Annotated[str | None, typer.Option("--slo", help="ttft=2s,tpot=200ms,e2e=20s,p95.")]
WarmupOption = Annotated[
    str | None, typer.Option("--warmup", help="Left out at the start: 10s, 100 (requests), steady.")
]
ScenarioOption = Annotated[
    str | None,
    typer.Option("--scenario", help="offline, server, interactive, single-stream or multi-stream, by MLPerf's rules."),
]
ProfileOption = Annotated[
    str | None, typer.Option("--profile", help="Of a scenario: limits, set and seeds of llama2-70b-99.9@v6.1, say.")
]
MinDuration = Annotated[str | None, typer.Option("--min-duration", help="Of a scenario: at least so long; 10min.")]
MinQueries = Annotated[int | None, typer.Option("--min-queries", help="Of a scenario: at least so many.", min=1)]
SetSize = Annotated[int | None, typer.Option("--samples", help="Of a scenario: samples of the set.", min=1)]
Short = Annotated[bool, typer.Option("--short", help="Of a scenario: 10 s, 64 queries, 64 samples, p90: a try.")]

# runs
Sweep = Annotated[str | None, typer.Option("--sweep", help="rate=1,2,4 or concurrency=1,8,64; a run each.")]
Repeats = Annotated[int, typer.Option("--repeats", help="Runs of each point.", min=1, max=100)]
CoolDown = Annotated[str, typer.Option("--cool-down", help="Pause between runs.")]

# other measurements of the same endpoint
FindPeak = Annotated[bool, typer.Option("--find-peak", help="Search the highest rate that meets the limits.")]
PeakWidth = Annotated[
    float, typer.Option("--peak-width", help="Of --find-peak: how wide its 90 % interval may be.", min=0.05, max=0.9)
]
PeakWithin = Annotated[
    str | None, typer.Option("--peak-within", help="Of --find-peak: the search ends after so long; 2h.")
]
NoConfirm = Annotated[bool, typer.Option("--no-confirm", help="Of --find-peak: no run of full length at the end.")]
Baseline = Annotated[
    bool, typer.Option("--baseline", help="Offline, server and interactive, as the pair of your own system.")
]
ByLoadgen = Annotated[
    bool, typer.Option("--loadgen", help="Of a scenario: through the official LoadGen, with its logs (extra mlperf).")
]
Deadline = Annotated[str | None, typer.Option("--deadline", help="Of --loadgen: what is in flight then is over.")]
AccuracyData = Annotated[
    Path | None, typer.Option("--accuracy", help="JSONL with prompts and references: score the answers, time nothing.")
]
Require = Annotated[
    list[str] | None, typer.Option("--require", help="Of --accuracy: what must be reached; rouge1>=38.4.")
]
AccuracyLike = Annotated[
    str | None, typer.Option("--accuracy-like", help="Of --accuracy: the demands of llama2-70b-99@v5.1, say.")
]
AccuracyRun = Annotated[
    str | None, typer.Option("--accuracy-run", help="Accuracy run of this endpoint whose result the run carries.")
]

# the client and how it asks
Processes = Annotated[int | None, typer.Option("--processes", help="Generator processes; default 1.", min=1)]
KeyEnv = Annotated[str | None, typer.Option("--key-env", help="Environment variable with the API key.")]
HeaderOption = Annotated[list[str] | None, typer.Option("--header", help="Further header, 'NAME: VALUE'.")]
Completions = Annotated[bool, typer.Option("--completions", help="Text completions instead of chat.")]
NoStream = Annotated[bool, typer.Option("--no-stream", help="Whole answers: no token times.")]
Known = Annotated[list[str] | None, typer.Option("--known", help="A condition you know: accelerator=H100.")]
NoSalt = Annotated[bool, typer.Option("--no-salt", help="Same prompts in every run (warms caches).")]
NoProbe = Annotated[bool, typer.Option("--no-probe", help="Send no probes: a word is taken for a token.")]
Wait = Annotated[str, typer.Option("--wait", help="How long to wait for a server that starts or loads.")]
Recalibrate = Annotated[bool, typer.Option("--recalibrate", help="Measure this client anew.")]
NoCalibrate = Annotated[bool, typer.Option("--no-calibrate", help="Do not measure this client first.")]

# before anything is sent
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, send nothing.")]
PriceIn = Annotated[
    float | None, typer.Option("--price-in", help="For --dry-run: price of a million input tokens.", min=0)
]
PriceOut = Annotated[
    float | None, typer.Option("--price-out", help="For --dry-run: price of a million output tokens.", min=0)
]
