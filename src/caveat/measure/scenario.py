"""Scenario: what MLPerf's rules ask of a run, as numbers: limits, percentile, duration, queries, set, seeds.

From a benchmark of a round (`scenario_of_profile`) or with limits of one's own (`scenario_with`). A run that keeps to
one is valid by our reading of the rules and no result of MLCommons: it stays unverified. Rules: LoadGen's settings and
mlperf.conf (mlcommons/inference @ b66003e); inference_rules.adoc, section "Scenarios".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from caveat.errors import UsageError
from caveat.facts import (
    BENCHMARKS,
    ROUNDS,
    Seeds,
    benchmark_named,
    dataset_samples,
    round_named,
    scenarios,
    tokens_per_sample_range,
)
from caveat.facts import limits as limits_of
from caveat.figures import SCENARIOS, Check, Value
from caveat.measure.goodput import Slo
from caveat.measure.percentiles import SHARES
from caveat.units import format_seconds

Verdict = Literal["VALID", "INVALID", "UNDECIDED"]

LIMITED = ("server", "interactive")
"""Scenarios in which latency has limits. The others report what it is."""

STREAMS = ("single-stream", "multi-stream")

DECIDING = (
    "errors",
    "latency limits",
    "early stopping (TTFT)",
    "early stopping (TPOT)",
    "early stopping",
    "minimum duration",
    "minimum queries",
    "output length",
    "completion",
)
"""Aspects of validity without which nothing can be called valid: each must pass or not apply."""

_PERCENTILES = {SHARES[name]: name for name in ("p50", "p90", "p95", "p99", "p99.9")}
_MIN_DURATION_S = 600.0
_MIN_QUERIES = {"multi-stream": 662}  # of the others 100, LoadGen's default; early stopping asks for more by itself
_PERCENTILE = {"single-stream": 0.9}
_SAMPLES_PER_QUERY = {"multi-stream": 8}


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run must keep to. Times in seconds; a limit is None where there is none.

    name                offline, server, interactive, single-stream or multi-stream
    percentile          at which limits hold, and of what a stream reports
    min_duration_s      until the last query is scheduled (server), issued (streams), or the last sample ends (offline)
    min_queries         issued at least; of offline: samples
    samples_per_query   that begin together
    set_size            samples of the performance set, issued in whole passes; None: every request is a sample
    tokens_per_sample   lowest and highest mean output length that counts
    schedule_seed       of the arrivals of server and interactive; sample_index_seed of the order of samples
    profile             benchmark and round in words; None for limits of one's own
    changed             how this is easier or other than the profile
    note                where the sources of the profile disagree
    """

    name: str
    ttft_s: float | None = None
    tpot_s: float | None = None
    latency_s: float | None = None
    percentile: float = 0.99
    min_duration_s: float = _MIN_DURATION_S
    min_queries: int = 100
    samples_per_query: int = 1
    set_size: int | None = None
    input_tokens_max: int | None = None
    output_tokens_cap: int | None = None
    tokens_per_sample: tuple[float, float] | None = None
    schedule_seed: int = 0
    sample_index_seed: int = 0
    profile: str | None = None
    changed: tuple[str, ...] = ()
    note: str | None = None

    def __post_init__(self) -> None:
        if self.name not in SCENARIOS:
            raise UsageError(f"scenario.name: found {self.name[:40]!r}, expected one of {', '.join(SCENARIOS)}")
        if self.percentile not in _PERCENTILES:
            raise UsageError(f"scenario.percentile: found {self.percentile!r}, expected 0.5, 0.9, 0.95, 0.99 or 0.999")
        self._check_limits()
        for field, least in (("min_queries", 1), ("samples_per_query", 1), ("set_size", 1)):
            value = getattr(self, field)
            if value is not None and not least <= value <= 50_000_000:
                raise UsageError(f"scenario.{field}: found {value!r}, expected {least} to 50,000,000")
        if not 0 <= self.min_duration_s <= 1e8:
            raise UsageError(f"scenario.min_duration_s: found {self.min_duration_s!r}, expected 0 s or more")
        if self.samples_per_query > 1 and self.name != "multi-stream":
            raise UsageError(f"scenario.samples_per_query: found {self.samples_per_query} for {self.name}, expected 1")

    def _check_limits(self) -> None:
        given = self.limits()
        for field, limit in given.items():
            if not 0 < limit < math.inf:
                raise UsageError(f"scenario.{field}: found {limit!r}, expected seconds above zero")
        if self.name in LIMITED and not given:
            raise UsageError(
                f"scenario {self.name}: found no limit, expected at least one of ttft_s, tpot_s and latency_s",
                next="--slo ttft=2s,tpot=200ms, or a --profile",
            )
        if self.name not in LIMITED and given:
            raise UsageError(
                f"scenario {self.name}: found limits, expected none: it reports latency and demands nothing of it",
                next="leave out --slo, or measure without a scenario",
            )

    def limits(self) -> dict[str, float]:
        """The limits that there are, by field."""
        fields = {"ttft_s": self.ttft_s, "tpot_s": self.tpot_s, "latency_s": self.latency_s}
        return {field: limit for field, limit in fields.items() if limit is not None}

    @property
    def percentile_name(self) -> str:
        """`p99`."""
        return _PERCENTILES[self.percentile]

    @property
    def is_strict(self) -> bool:
        """Whether a value at its limit misses it: so says the submission checker. LoadGen itself lets it pass."""
        return self.profile is not None

    def slo(self) -> Slo | None:
        """The limits for goodput and headroom."""
        given = self.limits()
        return Slo(percentile=self.percentile_name, **given) if given else None

    def conditions(self) -> dict[str, Value]:
        """What was asked, as values of conditions."""
        asked: dict[str, Value | None] = {
            "scenario": self.name,
            "profile": self.profile,
            "profile_changes": "; ".join(self.changed) or None,
            "min_duration_s": self.min_duration_s,
            "min_queries": self.min_queries,
            "samples_per_query": self.samples_per_query,
            "seeds": f"schedule {self.schedule_seed}, samples {self.sample_index_seed}",
        }
        return {key: value for key, value in asked.items() if value is not None}


def scenario_with(name: str, **fields: Any) -> Scenario:
    """A scenario with limits of one's own; what is not said is as LoadGen has it for a scenario of that name."""
    usual = {
        "percentile": _PERCENTILE.get(name, 0.99),
        "min_queries": _MIN_QUERIES.get(name, 100),
        "samples_per_query": _SAMPLES_PER_QUERY.get(name, 1),
    }
    return Scenario(name=name, **{**usual, **fields})


def scenario_of_profile(benchmark: str, round_name: str, name: str) -> Scenario:
    """What a round asks of a benchmark in a scenario. UsageError, with what there is, for one that does not exist."""
    found, one = benchmark_named(benchmark), round_named(round_name)
    if one is None:
        rounds = ", ".join(known.name for known in ROUNDS)
        raise UsageError(f"profile: found no round {round_name[:40]!r}", next=f"one of {rounds}")
    if found is None or round_name not in found.rounds:
        raise UsageError(f"profile: {round_name} has no benchmark {benchmark[:60]!r}", next=_benchmarks_of(round_name))
    possible = scenarios(found.id, round_name)
    if name not in possible:
        raise UsageError(f"profile: {found.id} of {round_name} has no scenario {name[:40]!r}", next=", ".join(possible))
    if found.modality != "text":
        raise UsageError(
            f"profile: {found.id} asks with {found.modality}, expected text: nothing else is sent",
            next="give its limits with --slo",
        )
    limits = limits_of(found.id, round_name, name)
    size = dataset_samples(found, round_name, name)
    return scenario_with(
        name,
        ttft_s=limits.ttft_s if limits else None,
        tpot_s=limits.tpot_s if limits else None,
        latency_s=limits.latency_s if limits else None,
        set_size=size,
        input_tokens_max=found.input_tokens_max,
        output_tokens_cap=found.output_tokens_cap,
        tokens_per_sample=tokens_per_sample_range(found, round_name, name),
        profile=f"{found.id} of {round_name}",
        note=limits.note if limits else None,
        **({"min_queries": size} if name == "offline" and size else {}),
        **_seeds(one.seeds),
    )


def _seeds(seeds: Seeds) -> dict[str, int]:
    return {"schedule_seed": seeds.schedule, "sample_index_seed": seeds.sample_index}


def altered(scenario: Scenario, **fields: Any) -> Scenario:
    """The scenario with other values; where it is a profile's, it says what is no longer as the profile has it."""
    others = {field: value for field, value in fields.items() if value != getattr(scenario, field)}
    said = tuple(f"{_WORDS[f]} {_said(f, v)} in place of {_said(f, getattr(scenario, f))}" for f, v in others.items())
    if scenario.profile is None:
        said = ()
    return msgspec.structs.replace(scenario, changed=(*scenario.changed, *said), **others)


_WORDS = {
    "ttft_s": "TTFT limit",
    "tpot_s": "TPOT limit",
    "latency_s": "latency limit",
    "percentile": "percentile",
    "min_duration_s": "minimum duration",
    "min_queries": "minimum queries",
    "set_size": "samples in the set",
    "output_tokens_cap": "output cap",
    "schedule_seed": "schedule seed",
    "sample_index_seed": "sample seed",
}


def _said(field: str, value: float | None) -> str:
    if value is None:
        return "none"
    return format_seconds(value) if field.endswith("_s") else f"{value:,}"


def _benchmarks_of(round_name: str) -> str:
    return "one of " + ", ".join(one.id for one in BENCHMARKS if round_name in one.rounds and one.modality == "text")


def verdict(validity: Iterable[Check]) -> Verdict | None:
    """Whether a run is valid in its scenario: nothing fails, and every deciding part passes or does not apply.

    None for a run that kept to no scenario: nothing asked it for a minimum duration.
    """
    checks = tuple(validity)
    if not any(check.aspect == "minimum duration" for check in checks):
        return None
    if any(check.outcome == "fail" for check in checks):
        return "INVALID"
    return "UNDECIDED" if any(c.outcome == "unknown" and c.aspect in DECIDING for c in checks) else "VALID"
