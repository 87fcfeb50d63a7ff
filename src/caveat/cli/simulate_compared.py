"""Answers of a model about itself, marked simulated: where Offline and Server part; what each technique is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from caveat.cli.console import emit, heading, show, show_lines
from caveat.cli.simulation import Simulation
from caveat.cli.spec_options import length, seconds, slo
from caveat.errors import CannotSayError, UsageError
from caveat.publish import cell, plain_table
from caveat.simulator import (
    Ablation,
    Explanation,
    Model,
    Offline,
    Point,
    Question,
    Ratios,
    Served,
    Side,
    Worth,
    ablate,
    ablation_json,
    explain,
    explain_json,
    standing_of,
)
from caveat.units import format_number, format_seconds
from caveat.workload import Separate

DRAWS_OF_RATIOS = 10
"""Draws of the model behind the range of a ratio: each serves the plan twice for each technique, and again at other
rates for the highest."""
# what is shown of the ratios: heading, name, and whether more is better
SHOWN_RATIOS = (
    ("tokens/s", "output_tokens_per_s"),
    ("TTFT p95", "ttft_p95"),
    ("TPOT p50", "tpot_p50"),
    ("highest rate", "peak"),
)

Step = Callable[[int, int], None]


def ablated(simulation: Simulation, step: Step | None, *, as_json: bool) -> bool:
    """Print what each technique is worth for this plan on this model. Returns whether anything can be said.

    CannotSayError outside the validated range unless it was asked for.
    """
    if simulation.scenario is not None:
        raise UsageError("--ablate: found a scenario, expected a workload or a replay with --slo", next="leave it out")
    model, plan = simulation.model, simulation.plan()
    whole = model.prefix_hit == "unknown" and not model.scheduler.prefix_cache  # then no side with a cache is served
    standing = standing_of(model, plan, prefix_hit=0.0 if whole else None, extrapolate=simulation.extrapolate)
    found = ablate(
        model,
        plan,
        simulation.slo,
        draws=min(simulation.draws, DRAWS_OF_RATIOS),
        step=step,
    )
    if as_json:
        emit({**ablation_json(found), "extrapolated": list(standing.outside)})
    else:
        print_ablation(found, standing.outside)
    return any(worth.ratios is not None for worth in found.worth)


def print_ablation(found: Ablation, outside: Sequence[str] = ()) -> None:
    """One row a technique: how much with it, in parts of without it; the load before any of them."""
    rate = "no rate of its own" if found.rate_per_s is None else f"{format_number(found.rate_per_s)} requests/s"
    show(cell(f"SIMULATED: {found.model} (grade {found.grade}), {found.requests:,} requests, {rate}"))
    show_lines([f"load fraction, without it and with it: {_loads(found)}"], indent=0)
    if outside:
        show_lines([f"extrapolated: {'; '.join(outside)}"], indent=0)
    table = plain_table(["technique", *(head for head, _ in SHOWN_RATIOS)])
    for worth in found.worth:
        if worth.ratios is not None:
            table.add_row(worth.technique, *(cell(_ratio(worth.ratios, name)) for _, name in SHOWN_RATIOS))
    show(cell(""), table)
    show_lines(["with it / without it; of times, less is better; in brackets 80 % of the model's draws"])
    heading("what was compared")
    show_lines([_compared(worth) for worth in found.worth])
    if untold := [f"{worth.technique}: {worth.untold}" for worth in found.worth if worth.untold]:
        heading("what is not told")
        show_lines(untold)
    heading("how to read it")
    limits = [] if found.slo is not None else ["no highest rate: no limits were given (--slo ttft=2s,tpot=100ms)"]
    show_lines([*limits, *found.notes])


def _loads(found: Ablation) -> str:
    """Of each pair of sides."""
    sides = ((worth.technique, worth.off, worth.on) for worth in found.worth)
    said = [
        f"{name} {off.load.median:.2f}, {on.load.median:.2f}"
        for name, off, on in sides
        if off is not None and on is not None and off.load is not None and on.load is not None
    ]
    return "; ".join(said) or "none, the plan sets no rate"


def _ratio(ratios: Ratios, name: str) -> str:
    value = getattr(ratios, name)
    if value is None:
        return "-"
    around = ratios.ranges.get(name)
    return f"{value:.2f}" + (f" ({around.low:.2f}-{around.high:.2f})" if around is not None else "")


def _compared(worth: Worth) -> str:
    if worth.reason:
        return f"{worth.technique}: cannot be said: {worth.reason}"
    return f"{worth.technique}: {worth.assumed or 'as the model and the plan have it'}{_rates(worth)}"


def _rates(worth: Worth) -> str:
    """The highest rates behind a ratio of them."""
    if worth.off is None or worth.on is None or worth.off.peak is None or worth.on.peak is None:
        return ""
    return f"; highest rate {_rate(worth.off)} without, {_rate(worth.on)} with it (requests/s)"


def _rate(side: Side) -> str:
    assert side.peak is not None
    least, around = "at least " if side.peak.at_least else "", side.peak_range
    said = "" if around is None else f" ({format_number(around.low)} to {format_number(around.high)})"
    return f"{least}{format_number(side.peak.rate_per_s)}{said}"


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


def refuse_unasked(*, extrapolate: bool) -> None:
    """CannotSayError unless an extrapolation was asked for: the scales of an explanation are no run's."""
    if not extrapolate:
        raise CannotSayError(
            "explain: found scales and rates that are the question's own, at which no model was validated",
            code="outside-validated-range",
            next="--extrapolate answers all the same, and marks it",
        )


def explained(model: Model, question: Question, draws: int, step: Step | None, *, as_json: bool) -> None:
    """Print where Offline, Server and Interactive of this model part, over scale."""
    found = explain(model, question, draws=draws, step=step)
    if as_json:
        emit(explain_json(found))
    else:
        print_explanation(found)


def print_explanation(found: Explanation) -> None:
    """One row a scale: Offline with what it loses, and the other two as parts of it."""
    show(cell(f"SIMULATED: {found.model} (grade {found.grade}), {found.question.set_size:,} samples and more"))
    heads = ["replicas", "accelerators", "seats", "full batch", "offline", "ramp", "tail", "server", "interactive"]
    table = plain_table(heads, right=heads[:7])
    for point in found.points:
        table.add_row(
            f"{point.replicas:,}",
            "not said" if point.accelerators is None else f"{point.accelerators:,}",
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
    if found.draws:
        heading(f"80 % of {found.draws} draws of the model")
        show_lines([_ranges(point) for point in found.points])
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


_RANGES = (
    ("full_batch_tokens_per_s", "full batch", ",.0f"),
    ("offline_tokens_per_s", "offline", ",.0f"),
    ("server_ratio", "server in parts of offline", ".2f"),
    ("interactive_ratio", "interactive in parts of offline", ".2f"),
)


def _ranges(point: Point) -> str:
    said = [
        f"{name} {point.ranges[key].low:{form}} to {point.ranges[key].high:{form}}"
        for key, name, form in _RANGES
        if key in point.ranges
    ]
    return f"{point.replicas:,} replicas: {', '.join(said)}"


def _samples(offline: Offline) -> str:
    return (
        f"at the smallest scale offline had {offline.samples:,} samples, {offline.samples_per_seat:.1f} for each seat, "
        f"and lasted {format_seconds(offline.duration_s)}"
    )
