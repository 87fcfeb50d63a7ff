"""caveat compare: may these figures be compared, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from caveat.cli.console import JsonOption, LedgerOption, emit, show, show_lines, verb_app
from caveat.cli.measured_difference import differences_json, measured_differences, print_differences
from caveat.cli.prediction_check import held_json, print_held
from caveat.compare import NO_DIFFERENCE, Verdict, exit_code, verdicts, verdicts_json
from caveat.compare import Difference as Slack
from caveat.errors import UsageError
from caveat.ledger import Ledger
from caveat.measure import Difference
from caveat.publish import cell

app = verb_app()

_DIFFERENCES: dict[Slack, str] = {
    "difference": "a difference beyond shape slack",
    NO_DIFFERENCE: "no difference beyond shape slack",
    "unknown": "shape slack is unknown: whether this is a difference cannot be said",
}


@app.command()
def compare(
    figures: Annotated[
        list[str], typer.Argument(help="Two or more: ids (prefixes will do) or subjects.", metavar="FIGURE")
    ],
    per_accelerator: Annotated[
        bool, typer.Option("--per-accelerator", help="Also the ratio per accelerator: derived, with its basis.")
    ] = False,
    as_json: JsonOption = False,
    ledger: LedgerOption = None,
) -> int:
    """Say whether figures may be compared, with the rules that said so, and the ratio where one may be formed.

    For two runs that were measured or simulated here it also says, from their samples and with intervals, whether they
    differ; for a measured and a simulated one, whether what was measured lies in the model's ranges.
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
    apart = [measured_differences(result.left, result.right, book) for result in results]
    if as_json:
        emit(_with_samples(verdicts_json(results), results, apart))
        return exit_code(results)
    for result, found_apart in zip(results, apart, strict=True):
        print_verdict(result, by_samples=bool(found_apart))
        print_held(result.left, result.right)
        print_differences(found_apart)
    return exit_code(results)


def _with_samples(
    content: dict[str, Any], results: Sequence[Verdict], apart: Sequence[tuple[Difference, ...]]
) -> dict[str, Any]:
    """Each pair with what its samples say, and how a model fared, below the verdict."""
    for pair, result, found in zip(content.get("pairs", [content]), results, apart, strict=True):
        pair["measured_difference"] = differences_json(found)
        pair["prediction"] = held_json(result.left, result.right)
    return content


def print_verdict(result: Verdict, *, by_samples: bool = False) -> None:
    """One verdict as text. Where samples say whether there is a difference, shape slack has nothing to add to it."""
    show_lines([f"left   {result.left}", f"right  {result.right}", ""], indent=0, hang=7)
    ratio = f"   left / right = {result.ratio:.4f}" if result.ratio is not None else "   no ratio is formed"
    show(cell(f"{result.verdict.upper()}{ratio}"))
    if result.difference and not by_samples:
        slack = f" ({result.slack * 100:.1f} %)" if result.slack is not None else ""
        show(cell(f"{_DIFFERENCES[result.difference]}{slack}"))
    if result.per_accelerator is not None:
        show(cell(f"per accelerator, derived: left / right = {result.per_accelerator.ratio:.4f}"))
    for finding in result.findings:
        show_lines([f"[{finding.severity}] {finding.rule}: {finding.message}"])
        if finding.remedy:
            show_lines([f"next: {finding.remedy}"], indent=4, hang=6)
    show(cell(""))
