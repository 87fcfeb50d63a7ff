"""Which results belong together: partners of one system, and results of like hardware in one competition."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from caveat.caveats.evidence import grouped
from caveat.caveats.kinds import form, published
from caveat.caveats.twins import counted_once
from caveat.figures import Figure, Run


def partner_key(run: Run) -> Hashable:
    """Equal for the scenarios of one system, model and round."""
    return _values(run, ("round", "division", "submitter", "platform", "benchmark", "model_submitted"))


def published_once(runs: Sequence[Run]) -> list[Figure]:
    """The published rates of these runs, twins counted once."""
    return [figure for run in counted_once(runs) if (figure := published(run)) is not None]


def of_like_hardware(runs: Sequence[Run]) -> list[list[Figure]]:
    """Closed results of one round, benchmark and scenario on equally many accelerators of one form, two or more.

    An SXM and a PCIe part of one family are two kinds; so are a run tuned for power and one tuned for speed.
    """
    keys = ("round", "benchmark", "scenario", "accelerator", "accelerators")
    figures = [
        figure
        for figure in published_once(runs)
        if figure.conditions.get("division") == "closed" and _known(figure, keys)
    ]
    groups = grouped(
        figures,
        lambda f: (f.metric.key, form(f.conditions), f.conditions.get("power_run"), *_values(f.run, keys)),
    )
    return [group for group in groups.values() if len(group) > 1]


def spread(figures: Sequence[Figure]) -> float:
    """Largest over smallest value of figures of one metric."""
    values = [figure.row.value for figure in figures]
    return max(values) / min(values)


def _known(figure: Figure, keys: Iterable[str]) -> bool:
    return all(figure.conditions.get(key) is not None for key in keys)


def _values(run: Run, keys: Iterable[str]) -> tuple[Hashable, ...]:
    """The conditions as written; a platform is compared by its name, in whatever case."""
    return tuple(run.conditions.text(key) for key in keys)
