"""What caveat trace prints for people: a description, problems, candidates of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from caveat.cli.console import heading, plural, show, show_lines
from caveat.errors import Problem
from caveat.publish import cell, plain_table
from caveat.units import format_number, format_seconds
from caveat.workload import Candidate, ReplayDifference, TraceDescription


def print_description(d: TraceDescription, problems: Sequence[Problem]) -> None:
    """Source, rates, lengths, sharing, conversations, notes and problems."""
    show(cell(d.source.words()))
    rate = f", {format_number(d.mean_qps)} requests/s" if d.mean_qps is not None else ""
    cv = f", cv of gaps {d.gap_cv:.2f}" if d.gap_cv is not None else ""
    over = f"over {format_seconds(d.span_s)}" if d.source.timed else "without times"
    show(cell(f"{plural(d.requests, 'request')} {over}{rate}{cv}"))
    if d.rates:
        _print_rates(d)
    heading("tokens")
    show_lines([f"input   {_statistics(d.input_tokens)}", f"output  {_statistics(d.output_tokens)}"], indent=0)
    if d.correlation is not None:
        show(cell(f"rank correlation of input and output {d.correlation:.2f}; {d.without_output:,} without output"))
    if d.prefixes is not None:
        p = d.prefixes
        heading("shared prefixes")
        show_lines(
            [
                f"{p.share:.1%} of {p.blocks:,} blocks of {p.block_tokens} tokens were seen before "
                f"({p.share_of_tokens:.1%} of input tokens), in {p.reusing:.1%} of requests",
                "if forgotten after so many seconds: " + ", ".join(f"{k} {v:.1%}" for k, v in p.within_s.items()),
                "with a cache of so many blocks: " + ", ".join(f"{k} {v:.1%}" for k, v in p.within_blocks.items()),
            ],
            indent=0,
        )
    if d.sessions is not None:
        s = d.sessions
        heading("conversations")
        show_lines(
            [f"{s.sessions:,}; turns {_statistics(s.turns)}; seconds between {_statistics(s.between_s)}"], indent=0
        )
    show_lines(d.notes, indent=0)
    print_problems(problems)


def _print_rates(d: TraceDescription) -> None:
    heading("rates")
    names = list(msgspec.structs.asdict(d.rates[0]))
    table = plain_table([name.replace("_", " ") for name in names], right=[name.replace("_", " ") for name in names])
    for row in d.rates:
        table.add_row(*(_cell(value) for value in msgspec.structs.asdict(row).values()))
    show(table)


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {number:.2f}" for key, number in value.items())
    if isinstance(value, float):
        return format_number(value)
    return "-" if value is None else f"{value:,}"


def _statistics(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {format_number(value)}" for name, value in numbers.items())


def print_problems(problems: Sequence[Problem]) -> None:
    """Each kind of fault once: code, what it means, the lines, what to do; in the order of the problems."""
    by_code: dict[str, list[Problem]] = {}
    for problem in problems:
        by_code.setdefault(problem.code, []).append(problem)
    if by_code:
        heading(f"findings in {problems[0].path}")
    for code, some in by_code.items():
        where = f" ({_places(some)})" if _places(some) else ""
        show_lines([f"{code}: {some[0].message}{where}. Expected {some[0].expected}; {some[0].next}."], indent=0)


def _places(problems: Sequence[Problem]) -> str:
    """`lines 3, 7; 5 more`, or each line with what was found there."""
    lines = [f"{problem.line:,}" for problem in problems if problem.line]
    plain = all(problem.found is None for problem in problems if problem.line)
    if plain and lines:
        rest = [problem.found for problem in problems if not problem.line and problem.found]
        return "; ".join([f"line{'s' if len(lines) > 1 else ''} {', '.join(lines)}", *rest])
    said = (": ".join(filter(None, (f"line {one.line:,}" if one.line else "", one.found))) for one in problems)
    return "; ".join(filter(None, said))


def print_replay(differences: Sequence[ReplayDifference] | None) -> None:
    """How far a replay of the profile is from the trace, where that was looked at."""
    if differences is None:
        show_lines(["how far a replay of it is off was not looked at: --check"], indent=0)
        return
    missed = [one for one in differences if not one.met]
    show(
        cell(
            f"one replay of it beside the trace: {len(differences) - len(missed)} of {len(differences)} numbers are "
            "within 10 % (dispersion), 5 % (lengths) and 2 points (reuse)"
        )
    )
    show_lines([f"off: {one.words()}" for one in missed])


def print_candidates(what: str, candidates: Sequence[Candidate]) -> None:
    """Each candidate with the tests that it failed."""
    heading(what)
    for candidate in candidates:
        show(cell(f"{'ok' if candidate.passed else 'NO'}  {candidate.kind}: {candidate.words}"))
        for test in (test for test in candidate.tests if not test.passed):
            p = "" if test.p_value is None else f", p {test.p_value:.3g}"
            show_lines(
                [f"{test.name}: {format_number(test.observed)} here, {format_number(test.expected)} of it{p}"], indent=6
            )
