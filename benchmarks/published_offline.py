"""From Offline to Server: a model calibrated on one rate asks how fast it may go under the latency limits.

Interval by interval beside `compare.estimate`, which looks at other systems' ratios and at no model. Every system is
left out of what is learned for it: the share of the mean that p99 takes, how far submitters stay below the limit, and
the widening.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from benchmarks.published_points import BENCHMARK, INPUT_TOKENS
from caveat.compare import Discount, Estimate, Pair, discount, estimate
from caveat.errors import CannotSayError
from caveat.facts import benchmark_named
from caveat.figures import Run
from caveat.simulator import capacity as cap
from caveat.simulator.evidence import offline
from caveat.simulator.grades import NOMINAL, Held, measure_coverage
from caveat.simulator.length_mix import LengthMix, mix_of_means
from caveat.simulator.posterior import fit
from caveat.simulator.published import Layout, layout_of, offline_of
from caveat.simulator.step_time import StepTime

FEWEST = 8
SOURCE = "published Offline and Server rates, one system left out at a time"


def input_tokens_of(benchmark: str) -> float | None:
    """Mean prompt: known for one benchmark, else half the longest, since the same prompts stand on both sides."""
    if benchmark.startswith(BENCHMARK):
        return INPUT_TOKENS
    facts = benchmark_named(benchmark)
    return facts.input_tokens_max / 2 if facts and facts.input_tokens_max else None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of rates of one system in tokens/s, with what the run says of its p99 TPOT where it says it."""

    pair: Pair
    layout: Layout
    mix: LengthMix
    offline: float
    server: float
    limit_s: float
    system: str
    benchmark: str
    p99_over_mean: float | None


def cases_of(pairs: Iterable[Pair]) -> tuple[list[Case], int]:
    """Closed-division pairs that are no twins, with layout, limit and lengths known; and how many others there are."""
    found, left_out = [], 0
    for pair in pairs:
        c = pair.conditions
        if c.words("division") != "closed" or pair.twin_of:
            continue
        try:
            found.append(_case(pair))
        except CannotSayError:
            left_out += 1
    return found, left_out


def _case(pair: Pair) -> Case:
    rate, server = offline_of(pair.left.run), pair.right.run
    mean, p99 = server.row("loadgen-tpot.mean"), server.row("loadgen-tpot.p99")
    limit_s = server.conditions.number("tpot_limit_s")
    c = pair.conditions
    benchmark = c.words("benchmark") or ""
    prompt = input_tokens_of(benchmark)
    if limit_s is None or prompt is None or rate.output_tokens is None:
        raise CannotSayError("limit or lengths undisclosed")
    return Case(
        pair=pair,
        layout=layout_of(pair.left.run),
        mix=mix_of_means(prompt, rate.output_tokens),
        offline=pair.left.row.value,
        server=pair.right.row.value,
        limit_s=limit_s,
        system=f"{c.words('submitter')} {c.words('platform')}",
        benchmark=benchmark.removesuffix(".9").removesuffix("-99"),
        p99_over_mean=p99.value / mean.value if mean and p99 else None,
    )


def server_rate(case: Case, p99_over_mean: float, rng: np.random.Generator) -> cap.Interval:
    """Tokens/s of the whole system at the largest batch whose mean TPOT, raised to p99, meets the limit."""
    roofline, replicas = case.layout.roofline, case.layout.replicas
    basis = roofline.basis()
    most = roofline.kv_tokens() / case.mix.context_tokens
    seen = offline(basis, case.mix, tokens_per_s=case.offline / replicas, most_sequences=most)
    rates = []
    for steps in fit([seen], rng).step_times(basis):
        sequences = _largest_batch(steps, case, case.limit_s / p99_over_mean, most)
        rates.append(replicas * sequences / cap.mean_step_s(steps, case.mix, sequences))
    return cap.interval_of(rates)


def _largest_batch(steps: StepTime, case: Case, most_s: float, most: float) -> float:
    if cap.mean_step_s(steps, case.mix, most) <= most_s:
        return most
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if cap.mean_step_s(steps, case.mix, middle) <= most_s else (low, middle)
    return max(low, 1e-6)


def run(runs: Sequence[Run], rng: np.random.Generator) -> dict[str, Any]:
    """Over all pairs and by benchmark: coverage and width of the model's intervals and of those of `compare`."""
    found = discount(runs)
    cases, left_out = cases_of(found.pairs)
    held = [
        Held(seen=one.server, predicted=server_rate(one, _p99_over_mean(cases, one), rng), system=one.system)
        for one in cases
    ]
    names = sorted({one.benchmark for one in cases})
    return {
        "pairs": len(cases),
        "left out": left_out,
        "all": measure_coverage("B", "server rate from offline", held, SOURCE),
        "by benchmark": [_of_benchmark(name, found, cases, held) for name in names],
    }


def _of_benchmark(name: str, found: Discount, cases: Sequence[Case], held: Sequence[Held]) -> dict[str, Any]:
    of = [(case, one) for case, one in zip(cases, held, strict=True) if case.benchmark == name]
    values = [one for _, one in of]
    ratios = [one.seen / one.predicted.median for one in values]
    return {
        "benchmark": name,
        "figure": measure_coverage("B", f"server rate from offline, {name}", values, SOURCE),
        "high / low": float(np.median([one.predicted.high / one.predicted.low for one in values])),
        "seen / predicted": [float(np.quantile(ratios, q)) for q in (0.1, 0.5, 0.9)],
        "recentred": _recentred(values),
        "estimate": _by_estimate(name, found, [case for case, _ in of]),
    }


def _p99_over_mean(cases: Sequence[Case], left_out: Case) -> float:
    return float(np.median([c.p99_over_mean for c in cases if c.p99_over_mean and c.system != left_out.system]))


def _recentred(held: Sequence[Held]) -> dict[str, float] | None:
    """Intervals from the model's median and the 10 % and 90 % of seen / predicted of the other systems of the
    benchmark. None with fewer than 8 others."""
    inside, widths, errors = [], [], []
    for one in held:
        others = [math.log(h.seen / h.predicted.median) for h in held if h.system != one.system]
        if len(others) < FEWEST:
            return None
        low, middle, high = np.quantile(others, [(1 - NOMINAL) / 2, 0.5, (1 + NOMINAL) / 2])
        miss = math.log(one.seen / one.predicted.median)
        inside.append(low <= miss <= high)
        widths.append(high - low)
        errors.append(abs(math.expm1(middle - miss)))
    return {
        "coverage": float(np.mean(inside)),
        "high / low": float(np.exp(np.median(widths))),
        "median error": float(np.median(errors)),
    }


def _by_estimate(benchmark: str, found: Discount, cases: Sequence[Case]) -> dict[str, float] | None:
    """What the analysis of pairs says for the same systems; its coverage leaves systems out by itself."""
    answers: dict[tuple[float, str], Estimate] = {}
    refused = set()
    for one in cases:
        c = one.pair.conditions
        key = (c.number("accelerators") or 0.0, c.words("accelerator") or "")
        if key in answers or key in refused:
            continue
        try:
            asked: dict[str, str | float] = {"benchmark": benchmark, "accelerators": key[0], "accelerator": key[1]}
            answers[key] = estimate(found, asked)
        except CannotSayError:
            refused.add(key)
    if not answers:
        return None
    return {
        "questions": len(answers) + len(refused),
        "refused": len(refused),
        "coverage": float(np.median([one.coverage for one in answers.values()])),
        "high / low": float(np.median([one.high / one.low for one in answers.values()])),
    }
