"""The part of docs/validation.md about the loopback twin, from the kept result alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from benchmarks.bench_twin import LAG_P99_MS, SHARE, SLACK_MS, Outcome
from benchmarks.results import Result


def twin(result: Result) -> Iterator[str]:
    """Markdown, paragraph by paragraph."""
    outcomes = msgspec.convert(result.tables["outcomes"], list[Outcome])
    yield "## The loopback endpoint as the model's twin\n"
    yield (
        "`python -m benchmarks.bench_twin`. One plan and one model on both sides: in virtual time, and through the "
        "generator, the kernel and the loopback endpoint, which the model drives in real time. Poisson arrivals at a "
        f"share of the model's capacity, {int(result.notes['requests']):,} requests a case. This tests the simulator "
        "beside the whole way of measuring; it says nothing of how near the model is to any real engine.\n"
    )
    yield f"{_priority(result.notes['priority'])} Taken {result.machine.sentence()}.\n"
    if "later" in result.notes:
        yield f"{result.notes['later']}\n"
    yield _verdict(outcomes)
    rows = [_row(outcome, metric) for outcome in outcomes for metric in ("TTFT", "TPOT", "E2E")]
    yield "Simulated -> measured, milliseconds:\n"
    yield _table(("case", "requests/s", "", "p50", "p95", "p99", "within the aim"), rows)
    yield (
        "What a measured time to the first token has in it beside the model's, p50 / p99 in milliseconds. Nothing of "
        "it was taken away above. *Lag* is how late the endpoint wrote what was due; a run whose p99 over all writes "
        f"passes {LAG_P99_MS:g} ms does not count. *Drift* is the largest difference between "
        "when the endpoint had a token due and when a simulation of the arrivals that it saw has it due.\n"
    )
    heads = ("case", "sent late", "way in", "lag", "way out", "p99 of all lags", "drift, us", "tries", "preemptions")
    yield _table(heads, [_parts_row(outcome) for outcome in outcomes])
    yield "The model:\n"
    yield f"```toml\n{result.notes['model']}\n```\n"


def _priority(said: str) -> str:
    return (
        "Endpoint and generator had a core each and real-time priority, since strangers shared the machine."
        if said == "real-time"
        else "Endpoint and generator had a core each, with the usual priority."
    )


def _verdict(outcomes: Sequence[Outcome]) -> str:
    counted = [outcome for outcome in outcomes if outcome.counts]
    pairs = [pair for outcome in counted for pair in outcome.pairs]
    agree = sum(pair.agrees for pair in pairs)
    left_out = len(outcomes) - len(counted)
    also = f" {left_out} cases do not count, the endpoint was late." if left_out else ""
    apart = agree < len(pairs) and all(outcome.parts.drift_us == 0 for outcome in counted)
    why = (
        " Where one is not, the drift below is zero: the endpoint did to the nanosecond what the model does with the "
        "arrivals that it saw. They came a fraction of a millisecond later than planned, which can be enough for a "
        "router that counts requests under way to choose another replica, so that other requests make the tail."
    )
    return (
        f"Aim: each percentile within {SHARE:.0%} or {SLACK_MS:g} ms. {agree} of {len(pairs)} percentiles in "
        f"{len(counted)} cases are.{also}{why if apart else ''}\n"
    )


def _row(outcome: Outcome, metric: str) -> tuple[str, ...]:
    pairs = [pair for pair in outcome.pairs if pair.metric == metric]
    cells = (f"{pair.simulated_ms:.2f} -> {pair.measured_ms:.2f} ({pair.difference:+.1%})" for pair in pairs)
    met = "does not count" if not outcome.counts else "yes" if all(pair.agrees for pair in pairs) else "**no**"
    return (_name(outcome), f"{outcome.rate_qps:.1f}", metric, *cells, met)


def _parts_row(outcome: Outcome) -> tuple[str, ...]:
    parts = outcome.parts
    spans = (parts.lateness_ms, parts.way_in_ms, parts.lag_ms, parts.way_out_ms)
    cells = (f"{p50:.2f} / {p99:.2f}" for p50, p99 in spans)
    counts = (f"{outcome.tries}", f"{outcome.preemptions:,}")
    return (_name(outcome), *cells, f"{parts.lag_p99_ms:.2f}", f"{parts.drift_us:.3f}", *counts)


def _name(outcome: Outcome) -> str:
    return outcome.what if outcome.what.startswith("load") else f"{outcome.what}, load {outcome.load:g}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
