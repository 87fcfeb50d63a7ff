"""From a Spec with a scenario to the settings of the same run through the official LoadGen."""

from __future__ import annotations

import numpy as np

from caveat.errors import UsageError
from caveat.facts import ROUNDS
from caveat.loadgen.official.settings import OfficialSettings, ScenarioName
from caveat.loadgen.prompts import PromptSettings
from caveat.loadgen.spec import Spec
from caveat.measure import Scenario
from caveat.workload import Loadgen, Plan

_NAMES: dict[str, ScenarioName] = {
    "offline": "offline",
    "server": "server",
    "interactive": "server",
    "single-stream": "single-stream",
    "multi-stream": "multi-stream",
}
_LIMITED = ("server", "interactive")
_LEAST_QPS = 1e-3  # of an offline run, whose size stands in min_queries


def settings_of(spec: Spec, prompts: PromptSettings) -> OfficialSettings:
    """The settings. The same sample has the same text and lengths as in a run of our own with these prompts.

    UsageError for a spec without a scenario, with a data set whose answers have lengths of their own, or with lengths
    that vary and no set of samples: LoadGen asks for samples, not for requests.
    """
    scenario = spec.scenario
    if scenario is None or spec.workload is None:
        raise UsageError("--loadgen: found no scenario, expected one: LoadGen runs nothing else", next="--scenario ...")
    inputs, outputs = _lengths(spec.plan(), scenario.set_size)
    ttft_s, tpot_s, latency_s = _limits(scenario)
    arrivals = spec.workload.arrivals
    offline = scenario.name == "offline"
    count = spec.workload.limits.requests
    return OfficialSettings(
        scenario=_NAMES[scenario.name],
        target_qps=arrivals.target_qps if isinstance(arrivals, Loadgen) else _LEAST_QPS,
        min_duration_s=_whole_ms(scenario.min_duration_s),
        min_queries=count if offline and count is not None else scenario.min_queries,
        token_latencies=scenario.latency_s is None,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        latency_s=latency_s,
        percentile=scenario.percentile,
        samples_per_query=max(2, scenario.samples_per_query) if scenario.name == "multi-stream" else 8,
        performance_samples=scenario.set_size or len(inputs),
        equal_issue=scenario.set_size is not None,
        qsl_seed=_qsl_seed(scenario),
        sample_index_seed=scenario.sample_index_seed,
        schedule_seed=scenario.schedule_seed,
        input_tokens=inputs,
        output_tokens=outputs,
        prompts=() if spec.dataset is None else tuple(row.prompt for row in spec.dataset.read().rows),
        decoding=spec.decoding,
        prompt_words=prompts,
        distinct_prompts=scenario.set_size is None,
        client=spec.settings,
    )


def _limits(scenario: Scenario) -> tuple[float | None, float | None, float | None]:
    """LoadGen's server scenario has limits on both token latencies, or one on whole requests."""
    if scenario.name not in _LIMITED:
        return None, None, None
    if scenario.latency_s is not None and (scenario.ttft_s is not None or scenario.tpot_s is not None):
        raise UsageError("--loadgen: found limits on tokens and on whole requests, expected one kind")
    if scenario.latency_s is None and (scenario.ttft_s is None or scenario.tpot_s is None):
        raise UsageError("--loadgen: found one token limit, expected both: LoadGen has both or none", next="--slo")
    return scenario.ttft_s, scenario.tpot_s, scenario.latency_s


def _whole_ms(seconds: float) -> float:
    return round(seconds * 1000) / 1000


def _qsl_seed(scenario: Scenario) -> int:
    """The third seed of the round whose schedule seed this is; without a round it is the sample seed."""
    seeds = (one.seeds for one in ROUNDS if one.seeds.schedule == scenario.schedule_seed)
    return next((found.qsl for found in seeds), scenario.sample_index_seed)


def _lengths(plan: Plan, set_size: int | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Input and output tokens, one for all samples or one for each."""
    inputs: dict[int, int] = {}
    outputs: dict[int, int] = {}
    for block in plan.blocks():
        samples = block.sample if len(block.sample) else np.zeros(len(block.at_ns), np.int64)
        for sample, into, out in zip(
            samples.tolist(), block.input_tokens.tolist(), block.output_tokens.tolist(), strict=True
        ):
            if inputs.setdefault(sample, into) != into or outputs.setdefault(sample, out) != out:
                raise UsageError(
                    "--loadgen: found lengths that vary and no set of samples, expected a set",
                    next="--samples 1024, a --profile, or fixed lengths",
                )
        if set_size is not None and len(inputs) == set_size:
            break
    return _tuple(inputs, set_size, least=1), _tuple(outputs, set_size, least=1)


def _tuple(values: dict[int, int], set_size: int | None, *, least: int) -> tuple[int, ...]:
    """Lengths that nobody counted (of a data set) are 0 in a plan; LoadGen's library wants one at least."""
    found = {max(least, value) for value in values.values()}
    if set_size is None or len(found) == 1:
        return (found.pop(),)
    if len(values) < set_size:
        raise UsageError(f"--loadgen: the plan asks {len(values):,} of {set_size:,} samples, expected all of them")
    return tuple(max(least, values[sample]) for sample in range(set_size))
