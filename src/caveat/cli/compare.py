"""caveat compare: may these figures be compared, and why not."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, lines, show, verb_app
from caveat.compare import Verdict, exit_code, verdicts
from caveat.errors import UsageError
from caveat.ledger import Ledger
from caveat.publish import cell, plain_table

app = verb_app()


@app.command()
def compare(
    figures: Annotated[list[str], typer.Argument(help="Two or more figures: ids (prefixes will do) or subjects.")],
    per_accelerator: Annotated[
        bool, typer.Option("--per-accelerator", help="Also the ratio per accelerator: derived, with its basis.")
    ] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Say whether figures may be compared, with the rules that said so, and the ratio where one may be formed.

    Exit 0 comparable (also with caveats), 1 not comparable, 3 cannot say; the worst pair decides.

    \b
    Examples:
      caveat compare 3f2a90c1 77be01d2
      caveat compare 3f2a90c1 77be01d2 --per-accelerator
      caveat compare 3f2a90c1 77be01d2 a01f3c55 --json
    """
    if len(figures) < 2:
        raise UsageError("compare needs two figures or more", next="caveat figures lists their ids")
    book = Ledger(ledger)
    found = [book.figure(text) for text in figures]
    results = verdicts(found, per_accelerator=per_accelerator)
    if as_json:
        emit(_json(results))
        return exit_code(results)
    for result in results:
        _print(result)
    return exit_code(results)


def _json(results: tuple[Verdict, ...]) -> dict[str, Any]:
    pairs = [_pair_json(result) for result in results]
    return {"format": "caveat-verdict/1", **(pairs[0] if len(pairs) == 1 else {"pairs": pairs})}


def _pair_json(result: Verdict) -> dict[str, Any]:
    return {
        "left": result.left.id,
        "right": result.right.id,
        "verdict": result.verdict,
        "ratio": result.ratio,
        "ratio_of": "left / right",
        "difference": result.difference,
        "shape_slack": result.slack,
        "per_accelerator": msgspec.to_builtins(result.per_accelerator),
        "findings": [msgspec.to_builtins(finding) for finding in result.findings],
    }


def _print(result: Verdict) -> None:
    show(cell(f"left   {result.left}"), cell(f"right  {result.right}"), cell(""))
    ratio = f"   left / right = {result.ratio:.4f}" if result.ratio is not None else "   no ratio is formed"
    show(cell(f"{result.verdict.upper()}{ratio}"))
    if result.difference:
        slack = f" (shape slack {result.slack * 100:.1f} %)" if result.slack is not None else ""
        show(cell(f"{result.difference}{slack}"))
    if result.findings:
        table = plain_table(["", "rule", "left", "right"])
        for finding in result.findings:
            table.add_row(cell(finding.severity), cell(finding.rule), cell(finding.left), cell(finding.right))
        show(cell(""), table, cell(""))
    for finding in result.findings:
        show(cell(lines([f"{finding.rule}: {finding.message}"])))
        if finding.remedy:
            show(cell(lines([f"next: {finding.remedy}"], indent=4)))
    show(cell(""))
