"""Open-loop stages of vLLM on H100: calibrate on the low rate of an experiment, predict its high rate and others."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from caveat.simulator import capacity as cap
from caveat.simulator.evidence import FIRST_TOKEN_STEPS, first_token, open_loop
from caveat.simulator.grades import Held, measure_coverage
from caveat.simulator.length_mix import LengthMix, mix_of_means
from caveat.simulator.multipliers import multipliers_of
from caveat.simulator.posterior import DRAWS, fit
from caveat.simulator.roofline import Roofline, step_time
from caveat.simulator.step_time import StepTime

MODELS = {
    "llama-2-7b": "llama2-7b",
    "llama-2-70b": "llama2-70b",
    "codellama-34b": "codellama-34b",
    "mixtral-8x7b": "mixtral-8x7b",
}
UNCACHED = 16.0
"""Prompt tokens left to compute where the whole prompt is in the prefix cache but the last block: a guess."""
ASSUMPTIONS = ("nothing cached", "all but 16 tokens cached", "prefix hit unknown")
HITS = 5  # values of the hit rate from none to all but 16 tokens, where it is unknown


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage of 600 or 1,200 s at a constant rate."""

    experiment: str
    model: str
    tensor_parallel: int
    max_num_seqs: int
    token_budget: int
    rate_per_s: float
    failed: int
    input_tokens: float
    output_tokens: float
    tpot_s: float
    ttft_s: dict[str, float]

    @property
    def sequences(self) -> float:
        """In decode, by Little."""
        return self.rate_per_s * self.output_tokens * self.tpot_s

    def roofline(self) -> Roofline:
        """Weights and KV cache in bf16, the engine's default."""
        return Roofline(
            accelerator="H100-SXM", model=self.model, tensor_parallel=self.tensor_parallel, precision="bf16"
        )

    def limit(self, mix: LengthMix) -> float:
        """Sequences that fit: the engine's limit, its token budget, or its KV cache."""
        settings = {"max_num_seqs": self.max_num_seqs, "token_budget": self.token_budget}
        return cap.batch_limit(mix, **settings, kv_tokens=self.roofline().kv_tokens()).sequences

    def mix(self, computed: float) -> LengthMix:
        """Lengths, with so many prompt tokens left to compute."""
        return mix_of_means(self.input_tokens, self.output_tokens, prompt_tokens=min(computed, self.input_tokens))


class Belief(msgspec.Struct, frozen=True):
    """Draws after the low stage under one assumption: (step time, overhead, prompt tokens computed)."""

    draws: list[tuple[StepTime, float, float]]
    mode: StepTime
    computed: float


def read_stages(path: Path) -> list[Stage]:
    """The stages of the table, in its order."""
    with path.open(newline="") as lines:
        return [_stage(row) for row in csv.DictReader(lines)]


def _stage(row: dict[str, str]) -> Stage:
    return Stage(
        experiment=row["experiment"].partition("-")[2].partition("-")[2],
        model=next(ours for theirs, ours in MODELS.items() if theirs in row["model"].lower()),
        tensor_parallel=int(row["tp"]),
        max_num_seqs=int(row["max_num_seqs"]),
        token_budget=int(row["max_num_batched_tokens"]),
        rate_per_s=float(row["rate_req_s"]),
        failed=int(row["failed"] or 0),
        input_tokens=float(row["prompt_len_mean"]),
        output_tokens=float(row["output_len"]),
        tpot_s=float(row["tpot_from_e2e_mean_s"]),
        ttft_s={"p50": float(row["ttft_p50_s"]), "p95": float(row["ttft_p95_s"])},
    )


def believe(low: Stage, assumption: str, rng: np.random.Generator) -> Belief:
    """What the low stage teaches under one assumption about the prefix cache."""
    least = min(UNCACHED, low.input_tokens)
    values = {
        ASSUMPTIONS[0]: [low.input_tokens],
        ASSUMPTIONS[1]: [least],
        ASSUMPTIONS[2]: np.linspace(least, low.input_tokens, HITS).tolist(),
    }[assumption]
    basis = low.roofline().basis()
    draws, modes = [], []
    for computed in values:
        mix = low.mix(computed)
        seen = [
            open_loop(basis, mix, rate_per_s=low.rate_per_s, tpot_s=low.tpot_s),
            first_token(basis, mix, sequences=low.sequences, ttft_s=low.ttft_s["p50"]),
        ]
        found = fit(seen, rng, draws=DRAWS // len(values))
        modes.append(step_time(basis, found.multipliers))
        draws += [(step_time(basis, multipliers_of(row)), row[4], computed) for row in found.draws]
    middle = len(values) // 2
    return Belief(draws, modes[middle], values[middle])


def predict(belief: Belief, stage: Stage) -> dict[str, Any]:
    """Load fraction, TPOT and TTFT of a stage, with what was seen."""
    times, fractions = [], []
    firsts: dict[str, list[float]] = {name: [] for name in FIRST_TOKEN_STEPS}
    for steps, overhead_s, computed in belief.draws:
        mix = stage.mix(computed)
        fractions.append(stage.rate_per_s / cap.largest_rate(steps, mix, stage.limit(mix)))
        tpot_s = _tpot(steps, mix, stage)
        times.append(tpot_s)
        for name, count in FIRST_TOKEN_STEPS.items():
            firsts[name].append(overhead_s + count * tpot_s)
    load = cap.interval_of(fractions)
    return {
        "experiment": stage.experiment,
        "rate_per_s": stage.rate_per_s,
        "failed": stage.failed,
        "load": load,
        "predictable": cap.why_unpredictable(load) is None,
        "tpot": {"seen": stage.tpot_s, "predicted": cap.interval_of(times)},
        "tpot_mode": _tpot(belief.mode, stage.mix(belief.computed), stage),
        **{
            f"ttft {name}": {"seen": stage.ttft_s[name], "predicted": cap.interval_of(values)}
            for name, values in firsts.items()
        },
    }


def _tpot(steps: StepTime, mix: LengthMix, stage: Stage) -> float:
    """At the stage's rate; that of a full batch where the rate is past what it carries."""
    limit = stage.limit(mix)
    sequences = cap.steady_sequences(steps, mix, stage.rate_per_s, limit)
    return cap.mean_step_s(steps, mix, limit if sequences is None else sequences)


def run(path: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Both questions under each assumption."""
    stages = read_stages(path)
    experiments = list(_experiments(stages))
    return {
        "stages": len(stages),
        "assumptions": {name: _under(name, experiments, stages, rng) for name in ASSUMPTIONS},
    }


def _experiments(stages: Sequence[Stage]) -> Iterator[list[Stage]]:
    for name in dict.fromkeys(stage.experiment for stage in stages):
        yield sorted((one for one in stages if one.experiment == name), key=lambda one: one.rate_per_s)


def _under(
    assumption: str, experiments: Sequence[list[Stage]], stages: Sequence[Stage], rng: np.random.Generator
) -> dict[str, Any]:
    high, others = [], []
    for low, *rest in experiments:
        if low.failed:
            continue
        belief = believe(low, assumption, rng)
        high += [predict(belief, stage) for stage in rest]
        same = [one for one in stages if one.model == low.model and one.experiment != low.experiment]
        others += [predict(belief, stage) for stage in same]
    both = _summary(high + others)["figures"]
    return {
        "high rate": _summary(high),
        "other lengths and rates": {name: part for name, part in _summary(others).items() if name != "rows"},
        "both": both,
    }


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Errors and coverage; stages that failed requests count by whether the model said that they would."""
    fine = [row for row in rows if not row["failed"]]
    told = [row for row in fine if row["predictable"]]
    kinds = {"tpot": fine, "ttft p50": told, "ttft p95": told}
    errors = sorted(abs(row["tpot_mode"] / row["tpot"]["seen"] - 1) for row in fine)
    return {
        "rows": rows,
        "predictable": len(told),
        "not predictable": len(fine) - len(told),
        "overloaded": sum(row["failed"] > 0 for row in rows),
        "overloaded and said so": sum(row["failed"] > 0 and not row["predictable"] for row in rows),
        "error of the mode": {"median": errors[len(errors) // 2], "worst": errors[-1]},
        "figures": {
            name: measure_coverage("B", f"{name}, open loop", held_of(name, of), SOURCE)
            for name, of in kinds.items()
            if of
        },
    }


SOURCE = "open-loop vLLM on H100, predicted from the low-rate stage"


def held_of(name: str, rows: list[dict[str, Any]]) -> list[Held]:
    """Rows as held-out values of one figure."""
    return [Held(seen=row[name]["seen"], predicted=row[name]["predicted"], system=row["experiment"]) for row in rows]
