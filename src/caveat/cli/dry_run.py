"""What a run would send, before anything is sent: requests, time, tokens, and money where a price is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from caveat.cli.console import emit, plural, show_lines
from caveat.cli.measured_words import draw_words
from caveat.errors import InputError, UsageError
from caveat.loadgen import Spec, tokenizer_identity
from caveat.measure import Scenario, budget, fewest_to_certify, queries_needed
from caveat.units import format_number, format_seconds
from caveat.workload import Plan, PlanStatistics, plan_digest, queries_of

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
    """One run before it is made. None is what only the server decides: how many of a closed loop, how long."""
    _check_files(spec)
    plan = spec.plan()
    counted = PlanStatistics(plan)
    tokens = (counted.input_tokens.total(), counted.output_tokens.total())
    by_clock, closed = spec.stop_after_s is not None or queries_of(plan) is not None, plan.concurrency is not None
    known = spec.dataset is None  # nobody has counted the tokens of a data set's prompts, nor how long answers will be
    return {
        "endpoint": spec.endpoint.describe(),
        "plan": plan.describe(),
        "plan_digest": plan_digest(plan),
        "requests": None if by_clock else counted.requests,
        "scenario": None if spec.scenario is None else _demanded(spec.scenario, plan, counted.requests),
        "duration_s": spec.stop_after_s if closed else counted.last_ns / 1e9,
        "input_tokens": tokens[0] if known and not by_clock else None,
        "output_tokens": tokens[1] if known and not by_clock else None,
        "mean_input_tokens": tokens[0] / counted.requests if known else None,
        "mean_output_tokens": tokens[1] / counted.requests if known else None,
        "cost": price.cost(*tokens) if price and known and not by_clock else None,
        "cost_per_request": price.cost(*tokens) / counted.requests if price and known else None,
    }


def _check_files(spec: Spec) -> None:
    """InputError for a file that the run will need and that is not there: a dry run is to find it out."""
    if spec.tokenizer_file is not None:
        tokenizer_identity(Path(spec.tokenizer_file))
    certificates = spec.endpoint.ca_file
    if certificates is not None and not Path(certificates).is_file():
        raise InputError(f"{certificates}: found no file, expected certificates in PEM form", next="check --ca-file")


def _demanded(scenario: Scenario, plan: Plan, requests: int) -> dict[str, Any]:
    """What the scenario asks, and how many queries may be above a limit for it to be certified."""
    queries = None if queries_of(plan) is not None else requests // scenario.samples_per_query
    return {
        **scenario.conditions(),
        **scenario.limits(),
        "note": scenario.note,
        "set_size": scenario.set_size,
        "percentile": scenario.percentile,
        "queries": queries,
        "fewest_queries": _fewest(scenario),
        "may_be_above": budget(scenario.percentile, queries) if queries and scenario.limits() else None,
    }


def _fewest(scenario: Scenario) -> int | None:
    """Fewest queries that early stopping lets pass; offline asks for none."""
    if scenario.name == "offline":
        return None
    return queries_needed(scenario.percentile, 0) if scenario.limits() else fewest_to_certify(scenario.percentile)


def show_dry_run(specs: Sequence[Spec], price: Prices | None, *, as_json: bool) -> None:
    """Print what the runs would send; a spec that is repeated stands as often."""
    runs = [planned(spec, price) for spec in specs]
    if as_json:
        emit({"format": FORMAT, "runs": runs})
        return
    for run in runs:
        show_lines([_sentence(run, price), *_draw(run["plan"]), *_rules(run["scenario"])], indent=0)
    costs = [run["cost"] for run in runs]
    if len(runs) > 1 and price is not None and None not in costs:
        show_lines([f"cost of all: {format_number(sum(costs))}{_at(price)}"], indent=0)
    show_lines(["nothing was sent"], indent=0)


def _draw(plan: dict[str, Any]) -> Iterator[str]:
    """`asked 10/s; this draw schedules 12.97/s, ...`: a random plan has a rate of its own."""
    rate_qps = plan.get("target_qps")
    said = draw_words(rate_qps, plan.get("scheduled_qps")) if rate_qps is not None else ""
    if said:
        yield f"asked {rate_qps:g}/s; {said}"


def _sentence(run: dict[str, Any], price: Prices | None) -> str:
    where = f"{run['plan']['arrivals']} to {run['endpoint']['url']}, plan {run['plan_digest'][:10]}"
    lasting = None if run["duration_s"] is None else format_seconds(run["duration_s"])
    if run["requests"] is None:
        until = f"are answered in {lasting}" if lasting else "it takes"
        money = _money(run["cost_per_request"], price)
        return f"{where}: as many requests as {until}, each of {_mean_lengths(run)}{money}"
    how = f"over {lasting}" if lasting else "as fast as they are answered"
    return f"{where}: {plural(run['requests'], 'request')} {how}, {_all_lengths(run)}{_money(run['cost'], price)}"


def _mean_lengths(run: dict[str, Any]) -> str:
    if run["mean_input_tokens"] is None:
        return f"a prompt of {run['plan']['dataset']}"
    given, answered = format_number(run["mean_input_tokens"]), format_number(run["mean_output_tokens"])
    return f"{given} tokens in, {answered} out on average"


def _all_lengths(run: dict[str, Any]) -> str:
    if run["input_tokens"] is None:
        return f"prompts of {run['plan']['dataset']}"
    return f"{run['input_tokens']:,} tokens in, {run['output_tokens']:,} out"


def _rules(asked: dict[str, Any] | None) -> Iterator[str]:
    """What a scenario demands, a line each."""
    if asked is None:
        return
    percentile = f"p{100 * asked['percentile']:g}"
    whose = f"profile {asked['profile']}" if "profile" in asked else "limits of your own"
    least = f"at least {format_seconds(asked['min_duration_s'])} and {plural(asked['min_queries'], 'query', 'queries')}"
    yield f"scenario {asked['scenario']}, {whose}: {least}"
    if asked["set_size"] is not None:
        yield f"in whole passes over a set of {plural(asked['set_size'], 'sample')}"
    if "profile_changes" in asked:
        yield f"not as the profile asks: {asked['profile_changes']}"
    for field, words in (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("latency_s", "latency")):
        if field in asked:
            yield f"{percentile} {words} within {format_seconds(asked[field])}"
    if asked["note"]:
        yield asked["note"]
    yield from _certainty(asked, percentile)


def _certainty(asked: dict[str, Any], percentile: str) -> Iterator[str]:
    fewest, queries, above = asked["fewest_queries"], asked["queries"], asked["may_be_above"]
    if fewest is None:
        return
    needs = f"early stopping needs {fewest:,} queries to certify {percentile}"
    if queries is None:
        yield needs
    elif above is None:
        yield f"{needs}; these are {queries:,}: too few, the run cannot be valid"
    else:
        yield f"{needs}; of these {queries:,} at most {above:,} may lie above a limit ({above / queries:.2%})"


def _money(cost: float | None, price: Prices | None) -> str:
    return "" if cost is None or price is None else f", cost {format_number(cost)}{_at(price)}"


def _at(price: Prices) -> str:
    """What the cost was made of: a cost without its price is a number without its condition."""
    return f" at {format_number(price.input)} a million tokens in and {format_number(price.output)} out"
