"""A small ledger for the command line: one made-up submitter, every kind of run that a verb treats in its own way."""

from typing import Any

from caveat.figures import Check, Provenance, Row, Run, Source, Spread, conditions_of
from tests.builders import published_run

ACME: dict[str, Any] = {
    "submitter": "Acme",
    "system": "Acme box (8x Chip-1)",
    "platform": "box-8",
    "accelerator": "Chip-1",
}
SERVER = "v6.1/closed/Acme/box-8/llama2-70b-99.9/server/run_1"
OFFLINE = "v6.1/closed/Acme/box-8/llama2-70b-99.9/offline/run_1"
RIVAL = "v6.1/closed/Acme/rack-16/llama2-70b-99.9/server/run_1"
INVALID = "v6.1/closed/Acme/broken-8/llama2-70b-99.9/server/run_1"
OWN = "bench/acme/monday"


def acme_runs() -> dict[str, Run]:
    """The runs by name."""
    tail = (
        Row(metric="loadgen-ttft.p99", value=1.18, n=400_000, source_key="result_first_token_99.00_percentile"),
        Row(metric="tokens-per-sample.mean", value=283.5),
    )
    return {
        "server": published_run(
            100_000.0, rows=tail, headroom_ttft=0.59, headroom_tpot=0.75, result_id="6.1-0042", **ACME
        ),
        "offline": published_run(110_000.0, scenario="offline", **_BURST, **ACME),
        "rival": published_run(
            190_000.0,
            **{**ACME, "system": "Acme rack (16x Chip-1)", "platform": "rack-16", "accelerators": 16, "nodes": 2},
        ),
        "invalid": published_run(
            999_000.0,
            validity=(Check(aspect="harness verdict", outcome="fail", sentence="LoadGen calls the run INVALID"),),
            **{**ACME, "platform": "broken-8"},
        ),
        "own": own_run(),
    }


_BURST: dict[str, Any] = {"loop": "burst", "arrivals": "all at once", "ttft_limit_s": None, "tpot_limit_s": None}


def own_run(**changes) -> Run:
    """A run of one's own, by another tool: nobody reviewed it."""
    values = {
        "benchmark": None,
        "dataset": "own prompts",
        "model": "llama2-70b",
        "scenario": None,
        "loop": "closed",
        "arrivals": "a fixed number in flight",
        "concurrency": 64,
        "submitter": "Acme",
        "system": "Acme box (8x Chip-1)",
        "accelerator": "Chip-1",
        "accelerators": 8,
        "harness": "some bench",
        "review": "unverified",
        **changes,
    }
    return Run(
        subject=OWN,
        conditions=conditions_of(values),
        provenance=Provenance(origin="measured", sources=(Source(kind="tool-result", path="monday.json"),)),
        rows=(
            Row(
                metric="caveat-output-tokens-rate-usage",
                value=4_321.0,
                n=5_000,
                spread=Spread(low=4_300.0, high=4_340.0, method="95 % of the mean, batch means"),
            ),
        ),
        validity=(Check(aspect="client health", outcome="pass"),),
        primary="caveat-output-tokens-rate-usage",
    )


def derived_run() -> Run:
    """A quotient of two scenarios: an analysis, never a claim."""
    return Run(
        subject="derived/acme/ratio",
        conditions=conditions_of({"submitter": "Acme"}),
        provenance=Provenance(origin="derived", formula="server / offline", inputs=("aa.x", "bb.y")),
        rows=(Row(metric="loadgen-completed-tokens-rate", value=0.9),),
        primary="loadgen-completed-tokens-rate",
    )


# Everything that a vendor could write into a name to act on a terminal, a page, a spreadsheet or a reader.
HOSTILE_NAMES = (
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "[bold red]markup[/] [link=https://evil.example]x[/link]",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    '=HYPERLINK("https://evil.example","x")',
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200bzero",
    "line one\nline two\r\n| a | table |\n# head",
    "\x9b31mC1 control",
    "100% & $x_1^2 #{brace} \\input{/etc/passwd} ~tilde }}{{",
    "`code` *bold* [a](javascript:alert(1)) ![i](x)",
    "N" * 10_000,
)


def hostile_run(name: str, scenario: str = "server") -> Run:
    """A published result whose every name says something hostile."""
    names: dict[str, Any] = dict.fromkeys(
        ("submitter", "system", "platform", "accelerator", "engine", "dataset", "result_id"), name
    )
    return published_run(
        50_000.0, scenario=scenario, subject=f"mlperf-inference/v6.1/closed/Evil/{scenario}/run_1", **names
    )
