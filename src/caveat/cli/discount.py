"""caveat discount: one system under two scenarios, all pairs, never one factor."""

from __future__ import annotations

from typing import Annotated

import typer

from caveat.cli.console import JsonOption, LedgerOption, WhereOption, emit, heading, plural, show, show_lines, verb_app
from caveat.compare import Discount, Distribution, Pair, discount_json, estimate, estimate_json
from caveat.compare import discount as analyse
from caveat.errors import EXIT_CANNOT_SAY, EXIT_YES, UsageError
from caveat.ledger import Ledger, Where, parse_where
from caveat.publish import cell, chips, plain_table, two_line_table

app = verb_app()
SHOWN_LIKE = 10


@app.command()
def discount(
    where: WhereOption = None,
    from_scenario: Annotated[
        str, typer.Option("--from", help="Scenario of the first value.", metavar="SCENARIO")
    ] = "offline",
    to_scenario: Annotated[
        str, typer.Option("--to", help="Scenario of the second value.", metavar="SCENARIO")
    ] = "server",
    by: Annotated[
        str | None,
        typer.Option("--by", help="Group by a condition: accelerator, model, round, ...", metavar="CONDITION"),
    ] = None,
    want_estimate: Annotated[
        bool, typer.Option("--estimate", help="Interval for an unseen system that --where describes.")
    ] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Pair one system's figures under two scenarios: both values, ratio, headroom, lengths, flags; a distribution.

    A private analysis of pairs, not a comparison of results: there is no factor from Offline to Server.
    Exit 0 with pairs or an interval, 3 without.

    \b
    Examples:
      caveat discount --where round=v6.1
      caveat discount --from server --to interactive --where benchmark=llama2-70b-99.9 --by round
      caveat discount --by accelerator --json
      caveat discount --estimate -w benchmark=llama2-70b-99.9 -w accelerator=MI355X -w accelerators=16
    """
    conditions = [parse_where(text) for text in where or ()]
    book = Ledger(ledger)
    if want_estimate:
        return _estimate(book, conditions, from_scenario, to_scenario, as_json=as_json)
    sides = Where("scenario", "=", f"{from_scenario},{to_scenario},undisclosed")  # no other run is looked at
    result = analyse(book.runs([*conditions, sides]), from_scenario=from_scenario, to_scenario=to_scenario, by=by)
    if as_json:
        emit(discount_json(result))
    else:
        print_discount(result, from_scenario, to_scenario)
    return EXIT_YES if result.pairs else EXIT_CANNOT_SAY


def print_discount(result: Discount, from_scenario: str = "offline", to_scenario: str = "server") -> None:
    """Table of pairs, distribution, exclusions and basis as text."""
    heads = ["benchmark", "chips", from_scenario, to_scenario, "ratio", "headroom"]
    rows = [(_row(pair), _system(pair)) for pair in result.pairs]
    if rows:
        show(two_line_table(heads, rows, right=[from_scenario, to_scenario, "ratio"]), cell(""))
    distributions = {"all pairs": result.summary, **result.groups}
    show_lines([_summary(name, distribution) for name, distribution in distributions.items()], indent=0)
    excluded = "; ".join(f"{count:,} {reason}" for reason, count in result.excluded.items())
    notes = [
        f"excluded: {excluded or 'nothing'}",
        "headroom: p99 TTFT / limit, p99 TPOT / limit of the second scenario; - where no log was seen",
        result.basis,
    ]
    show_lines(["", *notes], indent=0)


def _row(pair: Pair) -> tuple[str, ...]:
    c = pair.right.conditions
    room = (
        " ".join("-" if h is None else f"{h:.2f}" for h in (pair.headroom.ttft, pair.headroom.tpot))
        if pair.headroom
        else "-"
    )
    return (
        f"{c.text('round')} {c.text('benchmark')}",
        chips(pair.right),
        pair.left.text.removesuffix(" tokens/s"),
        pair.right.text.removesuffix(" tokens/s"),
        f"{pair.ratio:.4f}",
        room,
    )


def _system(pair: Pair) -> str:
    c = pair.right.conditions
    flags = f"   [{', '.join(pair.flags)}]" if pair.flags else ""
    return f"{c.text('submitter')} {c.text('platform')}{flags}"


def _summary(name: str, d: Distribution) -> str:
    if not d.n:
        return f"{name}: no pairs"
    quantiles = f", 10 % to 90 % {d.p10:.3f} to {d.p90:.3f}" if d.p10 is not None and d.p90 is not None else ""
    return (
        f"{name}: {plural(d.n, 'pair')}, ratio {d.min:.4f} to {d.max:.4f}, median {d.median:.4f}{quantiles}, "
        f"{d.inverted} inverted"
    )


def _estimate(book: Ledger, where: list[Where], from_scenario: str, to_scenario: str, *, as_json: bool) -> int:
    """The conditions describe the unseen system; the pairs come from the whole ledger."""
    features = {condition.key: _feature(condition) for condition in where}
    found = estimate(analyse(book.runs(), from_scenario=from_scenario, to_scenario=to_scenario), features)
    if as_json:
        emit(estimate_json(found))
        return EXIT_YES
    show_lines([found.words], indent=0)
    heading("assumptions")
    show_lines(found.assumptions)
    heads = ["most alike", "benchmark", "chips", "ratio"]
    table = plain_table(heads, right=["ratio"])
    for pair in found.like[:SHOWN_LIKE]:
        c = pair.right.conditions
        who = f"{c.text('submitter')} {c.text('platform')}"
        table.add_row(
            cell(who), cell(f"{c.text('benchmark')} {c.text('round')}"), cell(chips(pair.right)), f"{pair.ratio:.4f}"
        )
    show(cell(""), table, cell(""))
    show_lines([analyse(()).basis], indent=0)
    return EXIT_YES


def _feature(condition: Where) -> str | float:
    if condition.operator != "=":
        raise UsageError(
            f"--estimate: found {condition.key} {condition.operator}, expected one value for each condition",
            next="--where benchmark=llama2-70b-99.9 --where accelerators=16",
        )
    return float(condition.value) if condition.key == "accelerators" else condition.value
