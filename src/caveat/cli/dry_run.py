"""What a run would send, before anything is sent: requests, time, tokens, and money where a price is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from caveat.cli.console import emit, plural, show_lines
from caveat.errors import UsageError
from caveat.loadgen import Spec
from caveat.units import format_number, format_seconds
from caveat.workload import PlanStatistics, plan_digest

FORMAT = "caveat-dry-run/1"
_MILLION = 1e6


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """Money for a million tokens, in whatever currency the prices are."""

    input: float
    output: float

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """Of so many tokens."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


def prices(per_million_in: float | None, per_million_out: float | None) -> Prices | None:
    """The prices, where both are given; none where neither is. UsageError for one alone: the other is not zero."""
    if per_million_in is None and per_million_out is None:
        return None
    if per_million_in is None or per_million_out is None:
        raise UsageError("found one price, expected --price-in and --price-out", next="give 0 for what costs nothing")
    return Prices(input=per_million_in, output=per_million_out)


def planned(spec: Spec, price: Prices | None) -> dict[str, Any]:
    """One run before it is made. None is what only the server's speed decides: of a closed loop ended by its clock."""
    plan = spec.plan()
    counted = PlanStatistics(plan)
    tokens = (counted.input_tokens.total(), counted.output_tokens.total())
    by_clock, closed = spec.stop_after_s is not None, plan.concurrency is not None
    return {
        "endpoint": spec.endpoint.describe(),
        "plan": plan.describe(),
        "plan_digest": plan_digest(plan),
        "requests": None if by_clock else counted.requests,
        "duration_s": spec.stop_after_s if closed else counted.last_ns / 1e9,
        "input_tokens": None if by_clock else tokens[0],
        "output_tokens": None if by_clock else tokens[1],
        "mean_input_tokens": tokens[0] / counted.requests,
        "mean_output_tokens": tokens[1] / counted.requests,
        "cost": None if price is None or by_clock else price.cost(*tokens),
        "cost_per_request": None if price is None else price.cost(*tokens) / counted.requests,
    }


def show_dry_run(specs: Sequence[Spec], price: Prices | None, *, as_json: bool) -> None:
    """Print what the runs would send; a spec that is repeated stands as often."""
    runs = [planned(spec, price) for spec in specs]
    if as_json:
        emit({"format": FORMAT, "runs": runs})
        return
    for run in runs:
        show_lines([_sentence(run)], indent=0)
    costs = [run["cost"] for run in runs]
    if len(runs) > 1 and price is not None and None not in costs:
        show_lines([f"cost of all: {format_number(sum(costs))}"], indent=0)
    show_lines(["nothing was sent"], indent=0)


def _sentence(run: dict[str, Any]) -> str:
    where = f"{run['plan']['arrivals']} to {run['endpoint']['url']}, plan {run['plan_digest'][:10]}"
    lasting = None if run["duration_s"] is None else format_seconds(run["duration_s"])
    if run["requests"] is None:
        lengths = f"{format_number(run['mean_input_tokens'])} tokens in, {format_number(run['mean_output_tokens'])} out"
        money = _money(run["cost_per_request"])
        return f"{where}: as many requests as are answered in {lasting}, each of {lengths} on average{money}"
    money = _money(run["cost"])
    how = f"over {lasting}" if lasting else "as fast as they are answered"
    tokens = f"{run['input_tokens']:,} tokens in, {run['output_tokens']:,} out"
    return f"{where}: {plural(run['requests'], 'request')} {how}, {tokens}{money}"


def _money(cost: float | None) -> str:
    return "" if cost is None else f", cost {format_number(cost)}"
