"""Server and Interactive results: data sheets alone, and one system's pair predicting other systems and rounds."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from caveat.errors import CannotSayError
from caveat.figures import Run
from caveat.simulator import capacity as cap
from caveat.simulator.evidence import closed_loop, step_coefficients
from caveat.simulator.grades import Held, measure_coverage
from caveat.simulator.length_mix import LengthMix, mix_of_means
from caveat.simulator.posterior import Posterior, fit
from caveat.simulator.published import OPEN_LOOP, Layout, Point, layout_of, line_through, point_of
from caveat.simulator.roofline import Basis

BENCHMARK = "llama2-70b"
INPUT_TOKENS = 294.0
"""Mean prompt of the benchmark's data set, taken as published elsewhere; no source of the shipped figures states it."""
FIGURES = ("tpot", "tpot p99", "ttft", "ttft p99")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One open-loop run, with the system that it is of and the replicas that it is taken to have."""

    point: Point
    layout: Layout
    system: str
    submitter: str
    round: str
    group: tuple[str, str]

    @property
    def basis(self) -> Basis:
        """Of one replica."""
        return self.layout.roofline.basis()

    @property
    def mix(self) -> LengthMix:
        """From the two means."""
        return mix_of_means(INPUT_TOKENS, self.point.output_tokens)

    @property
    def sequences(self) -> float:
        """In decode in one replica."""
        return self.point.sequences / self.layout.replicas

    def value(self, figure: str) -> float:
        """One of FIGURES, as published."""
        p = self.point
        return {"tpot": p.tpot_s, "tpot p99": p.tpot_p99_s, "ttft": p.ttft_s, "ttft p99": p.ttft_p99_s}[figure]


def seen_of(runs: Iterable[Run]) -> tuple[list[Seen], Counter[str]]:
    """Distinct closed-division runs of the benchmark with logs, and why others are left out."""
    found: dict[str, Seen] = {}
    why: Counter[str] = Counter()
    for run in runs:
        c = run.conditions
        if c.words("division") != "closed" or c.words("scenario") not in OPEN_LOOP:
            continue
        if not (c.words("benchmark") or "").startswith(BENCHMARK):
            why["another benchmark: its mean prompt is not known"] += 1
            continue
        try:
            one = _seen(run, point_of(run), layout_of(run))
        except CannotSayError as error:
            why[_reason(error.message)] += 1
            continue
        key = c.words("fingerprint") or run.id
        why["the same run entered twice"] += key in found
        found.setdefault(key, one)
    return list(found.values()), why


def _seen(run: Run, point: Point, layout: Layout) -> Seen:
    c = run.conditions
    submitter, round_ = c.words("submitter") or "", c.words("round") or ""
    return Seen(
        point=point,
        layout=layout,
        system=f"{submitter} {c.words('platform')} {round_}",
        submitter=submitter,
        round=round_,
        group=(str(layout.roofline.accelerator), layout.roofline.precision),
    )


def _reason(message: str) -> str:
    kinds = {
        "not disclosed": "a figure undisclosed",
        "no specifications": "accelerator without specifications",
        "not fit": "weights fit nowhere as stated",
        "by tokens": "Little's law misses by more than 3 %",
        "do not make": "model, precision or count unknown",
    }
    return next((said for part, said in kinds.items() if part in message), message)


def little(points: Sequence[Seen]) -> dict[str, float]:
    """How near the two ways to N come to each other."""
    ratios = sorted(one.point.little_ratio for one in points)
    return {"runs": len(ratios), **{f"p{p}": float(np.percentile(ratios, p)) for p in (5, 50, 95)}}


def from_data_sheets(points: Sequence[Seen], rng: np.random.Generator, *, kv: str | None = None) -> dict[str, Any]:
    """Grade C: TPOT at the concurrency that was reached, from facts and prior alone. `kv` sets its precision."""
    prior = fit([], rng)
    held = []
    for one in points:
        roofline = one.layout.roofline
        replica = roofline if kv is None else msgspec.structs.replace(roofline, kv_precision=kv)
        predicted = _tpot(prior, replica.basis(), one)
        held.append(Held(seen=one.point.tpot_s, predicted=predicted, system=one.system))
    source = "published Server and Interactive runs of one benchmark, from data sheets"
    return {
        "figures": {"tpot": measure_coverage("C", "tpot", held, source)},
        "by accelerator": _by_accelerator(points, held),
    }


def _by_accelerator(points: Sequence[Seen], held: Sequence[Held]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for one, value in zip(points, held, strict=True):
        groups[one.group].append(value)
    return [
        {
            "accelerator": accelerator,
            "precision": precision,
            "runs": len(values),
            "seen / predicted": float(np.median([one.seen / one.predicted.median for one in values])),
            "inside": sum(one.predicted.low <= one.seen <= one.predicted.high for one in values),
        }
        for (accelerator, precision), values in sorted(groups.items())
    ]


def _tpot(posterior: Posterior, basis: Basis, one: Seen) -> cap.Interval:
    return cap.interval_of(posterior.table() @ step_coefficients(basis, one.mix, one.sequences))


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """One system's pair: its posterior, and how its own percentiles and first tokens stand to its mean TPOT."""

    pair: tuple[Seen, Seen]
    posterior: Posterior
    ratios: dict[str, dict[str, float]]


def pairs_of(points: Sequence[Seen]) -> tuple[list[tuple[Seen, Seen]], Counter[str]]:
    """Server with Interactive of one system and precision that pass the intercept check, and why others do not."""
    systems: dict[tuple[str, tuple[str, str]], dict[str, Seen]] = defaultdict(dict)
    for one in points:
        systems[one.system, one.group].setdefault(one.point.scenario, one)
    good, why = [], Counter[str]()
    for both in systems.values():
        if len(both) < 2:
            continue
        server, interactive = both["server"], both["interactive"]
        try:
            holds = line_through(server.point, interactive.point).holds
        except CannotSayError:
            why["loads too alike"] += 1
            continue
        why["pass" if holds else "intercept above the fastest token, or not above 0"] += 1
        good += [(server, interactive)] if holds else []
    return good, why


def train(pair: tuple[Seen, Seen], rng: np.random.Generator) -> Trained:
    """Fit the multipliers to both points."""
    seen = [closed_loop(one.basis, one.mix, sequences=one.sequences, tpot_s=one.point.tpot_s) for one in pair]
    ratios = {one.point.scenario: {figure: one.value(figure) / one.point.tpot_s for figure in FIGURES} for one in pair}
    return Trained(pair=pair, posterior=fit(seen, rng), ratios=ratios)


def held_out(points: Sequence[Seen], rng: np.random.Generator) -> dict[str, Any]:
    """Grade B: each pair that passes predicts every other system's runs on its accelerator that pool with it."""
    pairs, checks = pairs_of(points)
    held: dict[str, list[Held]] = defaultdict(list)
    by_kind: dict[str, list[Held]] = defaultdict(list)
    trained_on, refused = 0, 0
    for pair in pairs:
        trained, line = train(pair, rng), line_through(pair[0].point, pair[1].point)
        others = [one for one in points if one.group == pair[0].group and one.system != pair[0].system]
        fit_ = [one for one in others if line.pools_with(one.point)]
        refused += len(others) - len(fit_)
        trained_on += bool(fit_)
        for one in fit_:
            base = _tpot(trained.posterior, one.basis, one)
            for figure in FIGURES:
                ratio = trained.ratios[one.point.scenario][figure]
                held[figure].append(_held(one, figure, base, ratio))
            by_kind[_kind(pair[0], one)].append(_held(one, "tpot", base, 1.0))
            held["tpot at the rate"].append(_at_rate(trained, one))
    source = "published pairs of one benchmark, predicting other systems with the same accelerator and precision"
    return {
        "intercept check": dict(checks),
        "trained on": trained_on,
        "not pooled": refused,
        "figures": {name: measure_coverage("B", name, values, source) for name, values in held.items()},
        "tpot by distance": {name: measure_coverage("B", "tpot", v, name) for name, v in sorted(by_kind.items())},
    }


def _held(one: Seen, figure: str, base: cap.Interval, ratio: float) -> Held:
    predicted = cap.Interval(low=base.low * ratio, median=base.median * ratio, high=base.high * ratio)
    return Held(seen=one.value(figure), predicted=predicted, system=one.system)


def _kind(trained: Seen, one: Seen) -> str:
    submitter = "same submitter" if trained.submitter == one.submitter else "another submitter"
    return f"{submitter}, {'same round' if trained.round == one.round else 'another round'}"


def _at_rate(trained: Trained, one: Seen) -> Held:
    """TPOT at the rate that was reached: N follows from the model, so that an error in the step is raised by load.

    A full KV cache where the rate is past what a draw carries.
    """
    rate = one.point.rate_per_s / one.layout.replicas
    limit = one.layout.roofline.kv_tokens() / one.mix.context_tokens
    times = []
    for steps in trained.posterior.step_times(one.basis):
        sequences = cap.steady_sequences(steps, one.mix, rate, limit)
        times.append(cap.mean_step_s(steps, one.mix, limit if sequences is None else sequences))
    return Held(seen=one.point.tpot_s, predicted=cap.interval_of(times), system=one.system)
