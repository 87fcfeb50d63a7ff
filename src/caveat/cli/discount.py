"""caveat discount: one system under two scenarios, all pairs, never one factor."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from caveat.cli.console import JsonOption, LedgerOption, WhereOption, emit, lines, plural, show, verb_app
from caveat.compare import Discount, Distribution, Pair, discount_json, estimate, estimate_json
from caveat.compare import discount as analyse
from caveat.errors import EXIT_CANNOT_SAY, EXIT_YES, CannotSayError
from caveat.ledger import Ledger, parse_where
from caveat.publish import cell, plain_table

app = verb_app()


@app.command()
def discount(
    where: WhereOption = None,
    from_scenario: Annotated[str, typer.Option("--from", help="Scenario of the first value.")] = "offline",
    to_scenario: Annotated[str, typer.Option("--to", help="Scenario of the second value.")] = "server",
    by: Annotated[
        str | None, typer.Option("--by", help="Group by a condition: accelerator, accelerators, model, round, ...")
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
    result = analyse(book.runs(conditions), from_scenario=from_scenario, to_scenario=to_scenario, by=by)
    if as_json:
        emit(discount_json(result))
    else:
        _print(result, from_scenario, to_scenario)
    return EXIT_YES if result.pairs else EXIT_CANNOT_SAY


def _print(result: Discount, from_scenario: str, to_scenario: str) -> None:
    heads = ["submitter", "platform", "benchmark", "chips", from_scenario, to_scenario, "ratio", "headroom", "flags"]
    table = plain_table(heads, right=[from_scenario, to_scenario, "ratio"])
    for pair in result.pairs:
        table.add_row(*(cell(text) for text in _row(pair)))
    show(table, cell(""))
    show(cell(_summary("all pairs", result.summary)))
    for name, distribution in result.groups.items():
        show(cell(_summary(name, distribution)))
    show(cell("\nexcluded: " + "; ".join(f"{reason} {count}" for reason, count in result.excluded.items())))
    show(cell("headroom: p99 TTFT / limit, p99 TPOT / limit of the second scenario; - where no log was seen"))
    show(cell(lines([result.basis], indent=0)))


def _row(pair: Pair) -> tuple[str, ...]:
    c = pair.right.conditions
    room = f"{pair.headroom.ttft:.2f} {pair.headroom.tpot:.2f}" if pair.headroom else "-"
    return (
        c.text("submitter"),
        c.text("platform"),
        f"{c.text('benchmark')} {c.text('round')}",
        f"{c.text('accelerators')} x {c.text('accelerator')}",
        pair.left.text.removesuffix(" tokens/s"),
        pair.right.text.removesuffix(" tokens/s"),
        f"{pair.ratio:.4f}",
        room,
        " ".join(pair.flags),
    )


def _summary(name: str, d: Distribution) -> str:
    if not d.n:
        return f"{name}: no pairs"
    quantiles = f", 10 % to 90 % {d.p10:.3f} to {d.p90:.3f}" if d.p10 is not None and d.p90 is not None else ""
    return (
        f"{name}: {plural(d.n, 'pair')}, ratio {d.min:.4f} to {d.max:.4f}, median {d.median:.4f}{quantiles}, "
        f"{d.inverted} inverted"
    )


def _estimate(book: Ledger, where: list[Any], from_scenario: str, to_scenario: str, *, as_json: bool) -> int:
    features = {condition.key: condition.value for condition in where if condition.operator == "="}
    if not features:
        raise CannotSayError(
            "an estimate needs to know of which system",
            next="--where benchmark=... --where accelerators=... describe it",
        )
    result = estimate(book.runs(), features, from_scenario=from_scenario, to_scenario=to_scenario)
    if as_json:
        emit(estimate_json(result))
        return EXIT_YES
    show(cell(lines(result.sentences(), indent=0)))
    return EXIT_YES
