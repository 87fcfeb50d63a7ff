"""The options of a scenario: its rules from a profile or from limits of one's own, and the workload that they give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caveat.cli.spec_options import Length, length, limit_values, seconds
from caveat.cli.workload_options import Words
from caveat.errors import UsageError
from caveat.loadgen import DatasetFile
from caveat.measure import Scenario, altered, scenario_of_profile, scenario_with, workload_of_scenario
from caveat.workload import Fixed, Separate, Workload

SHORT = {"min_duration_s": 10.0, "min_queries": 64, "set_size": 64, "percentile": 0.9}
"""What --short asks for: enough to certify p90, and to see whether a set-up works at all."""

DEFAULT_CAP = 1024
"""Where an answer to a data set's prompt is cut of which nobody said it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioWords:
    """The options. None and False are what was not said."""

    name: str | None = None
    profile: str | None = None
    min_duration: str | None = None
    min_queries: int | None = None
    samples: int | None = None
    short: bool = False

    def said(self) -> list[str]:
        """The options that mean something in a scenario only."""
        values = {
            "--profile": self.profile,
            "--min-duration": self.min_duration,
            "--min-queries": self.min_queries,
            "--samples": self.samples,
            "--short": self.short or None,
        }
        return [option for option, value in values.items() if value is not None]


def scenario_of(words: ScenarioWords, limits: str | None, seed: int, dataset_size: int | None) -> Scenario | None:
    """The scenario that the options describe; None where none was named. UsageError for its options without it."""
    if words.name is None:
        if said := words.said():
            raise UsageError(f"found {', '.join(said)} without --scenario", next="--scenario server, say")
        return None
    asked = _asked(words, limits, dataset_size)
    if words.profile is None:
        return scenario_with(words.name, **{"schedule_seed": seed, "sample_index_seed": seed, **asked})
    benchmark, _, round_name = words.profile.partition("@")
    if not round_name:
        raise UsageError(
            f"--profile: found {words.profile[:80]!r}, expected a benchmark and a round as NAME@v6.1",
            next="--profile llama2-70b-99.9@v6.1, say",
        )
    return altered(scenario_of_profile(benchmark, round_name, words.name), **asked)


def _asked(words: ScenarioWords, limits: str | None, dataset_size: int | None) -> dict[str, Any]:
    """What was said, by field of a scenario; what is said word for word goes before --short."""
    asked: dict[str, Any] = dict(SHORT) if words.short else {}
    if words.short and words.profile is None and words.samples is None:
        del asked["set_size"]
    asked |= limit_values(limits)
    if words.min_duration is not None:
        asked["min_duration_s"] = seconds(words.min_duration)
    if words.min_queries is not None:
        asked["min_queries"] = words.min_queries
    if words.samples is not None and dataset_size is not None:
        raise UsageError("found --samples beside --dataset, whose samples are the set", next="leave out --samples")
    size = dataset_size or words.samples
    return asked | ({"set_size": size} if size is not None else {})


def scenario_workload(scenario: Scenario, words: Words, dataset: DatasetFile | None) -> Workload:
    """What the scenario offers, in lengths that were asked for or that the profile would have."""
    _no_other_arrivals(words)
    lengths = Separate(
        input=_input(scenario, words, dataset),
        output=length(words.output) if words.output else Fixed(value=_output(scenario, dataset)),
        input_max=None if dataset is not None else scenario.input_tokens_max,
        output_cap=scenario.output_tokens_cap,
    )
    return workload_of_scenario(scenario, lengths, target_qps=words.rate, seed=words.seed or 0)


def _input(scenario: Scenario, words: Words, dataset: DatasetFile | None) -> Length:
    if dataset is None:
        return length(words.input or "512")
    if words.input is not None:
        raise UsageError("found --input beside --dataset, whose prompts are as long as they are", next="leave it out")
    return Fixed(value=1)


def _output(scenario: Scenario, dataset: DatasetFile | None) -> int:
    """The middle of what the profile accepts; of a data set's own answers, where they are cut."""
    if dataset is not None:
        return scenario.output_tokens_cap or DEFAULT_CAP
    return round(sum(scenario.tokens_per_sample) / 2) if scenario.tokens_per_sample else 128


def _no_other_arrivals(words: Words) -> None:
    others = {"--cv": words.cv, "--concurrency": words.concurrency, "--duration": words.duration}
    said = [option for option, value in {**others, "--requests": words.requests}.items() if value is not None]
    if said:
        raise UsageError(
            f"found {', '.join(said)} beside --scenario, which says when requests arrive and how many",
            next="--rate is the rate that is tried; --min-duration and --min-queries change how long",
        )


def dataset_file(path: Path | None) -> DatasetFile | None:
    """The data set of a path, read once, with the hash of what was read."""
    return None if path is None else DatasetFile(file=str(path)).settled()
