"""Answers of a model about itself, marked simulated: where Offline and Server part; what each technique is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caveat.cli.console import emit, heading, show, show_lines
from caveat.cli.simulation import Simulation
from caveat.cli.spec_options import length, seconds, slo
from caveat.errors import UsageError
from caveat.publish import cell, plain_table
from caveat.simulator import (
    Ablation,
    Explanation,
    Model,
    Offline,
    Question,
    Ratios,
    Served,
    Worth,
    ablate,
    ablation_json,
    explain,
    explain_json,
)
from caveat.units import format_number, format_seconds
from caveat.workload import Separate

DRAWS_OF_RATIOS = 10
"""Draws of the model behind the range of a ratio: each serves the plan twice for each technique."""
# what is shown of the ratios: heading, name, and whether more is better
SHOWN_RATIOS = (
    ("tokens/s", "output_tokens_per_s"),
    ("TTFT p95", "ttft_p95"),
    ("TPOT p50", "tpot_p50"),
    ("highest rate", "peak"),
)

Step = Callable[[int, int], None]


def ablated(simulation: Simulation, step: Step | None, *, as_json: bool) -> bool:
    """Print what each technique is worth for this plan on this model. Returns whether anything can be said."""
    if simulation.scenario is not None:
        raise UsageError("--ablate: found a scenario, expected a workload or a replay with --slo", next="leave it out")
    found = ablate(
        simulation.model,
        simulation.plan(),
        simulation.slo,
        draws=min(simulation.draws, DRAWS_OF_RATIOS),
        step=step,
    )
    if as_json:
        emit(ablation_json(found))
    else:
        print_ablation(found)
    return any(worth.ratios is not None for worth in found.worth)


def print_ablation(found: Ablation) -> None:
    """One row a technique: how much with it, in parts of without it."""
    rate = "no rate of its own" if found.rate_per_s is None else f"{format_number(found.rate_per_s)} requests/s"
    show(cell(f"SIMULATED: {found.model} (grade {found.grade}), {found.requests:,} requests, {rate}"))
    table = plain_table(["technique", *(head for head, _ in SHOWN_RATIOS)])
    for worth in found.worth:
        if worth.ratios is not None:
            table.add_row(worth.technique, *(cell(_ratio(worth.ratios, name)) for _, name in SHOWN_RATIOS))
    show(cell(""), table)
    show_lines(["with it / without it; of times, less is better; in brackets 80 % of the model's draws"])
    heading("what was compared")
    show_lines([_compared(worth) for worth in found.worth])
    heading("how to read it")
    limits = [] if found.slo is not None else ["no highest rate: no limits were given (--slo ttft=2s,tpot=100ms)"]
    show_lines([*limits, *found.notes])


def _ratio(ratios: Ratios, name: str) -> str:
    value = getattr(ratios, name)
    if value is None:
        return "-"
    around = ratios.ranges.get(name)
    return f"{value:.2f}" + (f" ({around.low:.2f}-{around.high:.2f})" if around is not None else "")


def _compared(worth: Worth) -> str:
    if worth.reason:
        return f"{worth.technique}: cannot be said: {worth.reason}"
    return f"{worth.technique}: {worth.assumed or 'as the model and the plan have it'}"


def question_of(
    *,
    scales: str | None,
    batch_limits: str | None,
    input_length: str | None,
    output_length: str | None,
    server: str | None,
    interactive: str | None,
    samples: int | None,
    min_duration: str | None,
    seed: int | None,
) -> Question:
    """The question that the options ask; what is not said is as Question has it."""
    usual = Question()
    lengths = usual.lengths
    if input_length is not None or output_length is not None:
        lengths = Separate(input=length(input_length or "512"), output=length(output_length or "128"))
    return Question(
        lengths=lengths,
        server=slo(server) or usual.server,
        interactive=slo(interactive) or usual.interactive,
        set_size=samples or usual.set_size,
        min_duration_s=usual.min_duration_s if min_duration is None else seconds(min_duration),
        scales=usual.scales if scales is None else _counts("--scales", scales),
        batch_limits=() if batch_limits is None else _counts("--batch-limits", batch_limits),
        seed=seed or 0,
    )


def _counts(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"{option}: found {text[:60]!r}, expected whole numbers like 1,8,72") from error


def explained(model: Model, question: Question, step: Step | None, *, as_json: bool) -> None:
    """Print where Offline, Server and Interactive of this model part, over scale."""
    found = explain(model, question, step=step)
    if as_json:
        emit(explain_json(found))
    else:
        print_explanation(found)


def print_explanation(found: Explanation) -> None:
    """One row a scale: Offline with what it loses, and the other two as parts of it."""
    show(cell(f"SIMULATED: {found.model} (grade {found.grade}), {found.question.set_size:,} samples and more"))
    heads = ["replicas", "seats", "full batch", "offline", "ramp", "tail", "server", "interactive"]
    table = plain_table(heads, right=heads[:6])
    for point in found.points:
        table.add_row(
            f"{point.replicas:,}",
            f"{point.seats:,.0f}",
            f"{point.full_batch_tokens_per_s:,.0f}",
            f"{point.offline.tokens_per_s:,.0f}",
            f"{point.offline.ramp:.1%}",
            f"{point.offline.tail:.1%}",
            cell(_served(point.server)),
            cell(_served(point.interactive)),
        )
    show(cell(""), table)
    show_lines(
        [
            "rates in output tokens/s; server and interactive in parts of offline, each at the highest rate that keeps "
            "its limits; starved: offline had too few samples for each seat; saturated: it had enough"
        ]
    )
    heading("why")
    show_lines(_reasons(found))
    heading("how to read it")
    show_lines([_samples(found.points[0].offline), *found.notes])


def _served(served: Served | None) -> str:
    if served is None:
        return "not asked"
    if served.ratio is None:
        return "limits never kept"
    return f"{'at least ' if served.at_least else ''}{served.ratio:.2f} {served.verdict}"


def _reasons(found: Explanation) -> Sequence[str]:
    return [
        f"{point.replicas:,} replicas, {name}: {served.why}"
        for point in found.points
        for name, served in (("server", point.server), ("interactive", point.interactive))
        if served is not None
    ]


def _samples(offline: Offline) -> str:
    return (
        f"at the smallest scale offline had {offline.samples:,} samples, {offline.samples_per_seat:.1f} for each seat, "
        f"and lasted {format_seconds(offline.duration_s)}"
    )
