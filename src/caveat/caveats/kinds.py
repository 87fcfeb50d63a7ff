"""Kinds of figures: the questions that several caveats ask of one figure."""

from __future__ import annotations

from caveat.facts import accelerator_form, benchmark_named, benchmarks_of_model, scenarios
from caveat.figures import Conditions, Figure, Run, primary_figure
from caveat.units import Unit

SUITE = "MLPerf Inference"
SERVING = ("server", "interactive")
STREAMS = ("single-stream", "multi-stream")

_RATES = (Unit.TOKENS_PER_SECOND, Unit.SAMPLES_PER_SECOND, Unit.REQUESTS_PER_SECOND, Unit.TASKS_PER_SECOND)
# Tokens per second that are not, or not only, of the output.
_OTHER_TOKENS = ("caveat-input-tokens-rate", "caveat-total-tokens-rate")


def is_rate(figure: Figure) -> bool:
    """Tokens, samples, requests or tasks per second."""
    return figure.metric.unit in _RATES


def is_token_rate(figure: Figure) -> bool:
    """Output tokens per second."""
    return figure.metric.unit is Unit.TOKENS_PER_SECOND and not figure.metric.key.startswith(_OTHER_TOKENS)


def is_time(figure: Figure) -> bool:
    """A latency of some kind."""
    return figure.metric.unit is Unit.SECOND


def is_performance(figure: Figure) -> bool:
    """A rate or a latency: what people mean by how fast something is."""
    return is_rate(figure) or is_time(figure)


def is_offline(figure: Figure) -> bool:
    """Every sample was offered at once."""
    return figure.conditions.get("scenario") == "offline"


def is_serving(figure: Figure) -> bool:
    """Server or Interactive: Poisson arrivals under latency limits."""
    return figure.conditions.get("scenario") in SERVING


def is_published(figure: Figure) -> bool:
    """A result of the suite that somebody else published, as against our own runs of its scenarios."""
    return figure.provenance.origin == "imported" and figure.conditions.get("suite") == SUITE


def is_reviewed(figure: Figure) -> bool:
    """A published result that went through the publisher's review."""
    return figure.conditions.get("review") == "reviewed"


def is_good(figure: Figure) -> bool:
    """Nothing is known that would make the figure untrue."""
    return figure.outcome != "fail"


def tracks(conditions: Conditions) -> tuple[str, ...]:
    """The accuracy tracks that the benchmark's model has in this round; empty where either is not known."""
    benchmark, round_name = benchmark_named(conditions.words("benchmark") or ""), conditions.words("round")
    if benchmark is None or round_name is None:
        return ()
    return tuple(b.track for b in benchmarks_of_model(benchmark.model) if b.track and round_name in b.rounds)


def counts_in(conditions: Conditions) -> tuple[str, ...]:
    """The scenarios that count for this benchmark in this round; empty where either is not known."""
    return scenarios(conditions.words("benchmark") or "", conditions.words("round") or "")


def published(run: Run) -> Figure | None:
    """The published figure of a run, where it is a rate above zero and nothing speaks against it."""
    figure = primary_figure(run)
    if figure is None or not is_rate(figure) or not is_good(figure):
        return None
    return figure if figure.row.value > 0 else None


def form(conditions: Conditions) -> str:
    """The accelerator in its form, `H100-SXM`: a family of several forms is several kinds of hardware."""
    family = conditions.words("accelerator")
    return (
        accelerator_form(family, conditions.words("accelerator_stated")) if family else conditions.text("accelerator")
    )


def hardware(conditions: Conditions) -> str:
    """Accelerators for a table: `8 x MI355X`."""
    return f"{conditions.text('accelerators')} x {form(conditions)}"
