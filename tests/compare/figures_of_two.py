"""Figures for the tests of rules: published ones, and runs of one's own that belong to no suite."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from caveat.figures import Check, Claim, Figure, Provenance, Row, Run, Value, conditions_of
from tests.builders import published_run

TECHNIQUES_OFF: dict[str, Value] = dict.fromkeys(
    (
        "continuous_batching",
        "chunked_prefill",
        "prefix_caching",
        "speculative_decoding",
        "disaggregation",
        "multi_model_routing",
        "kv_cache_quantisation",
    ),
    "off",
)

OWN: dict[str, Value] = {
    "model": "llama3.1-8b",
    "dataset": "our chat trace",
    "input_tokens": {"mean": 512.0},
    "output_tokens": {"mean": 128.0},
    "scenario": "poisson",
    "arrivals": "poisson",
    "loop": "open",
    "prefix_reuse": "none",
    "sessions": "none",
    "weight_precision": "fp8",
    "accelerator": "H100",
    "accelerators": 8,
    "nodes": 1,
    "suite": "caveat measure",
    "review": "unverified",
    **TECHNIQUES_OFF,
}
HEALTHY = (Check(aspect="client health", outcome="pass"),)
OF_NO_SUITE = ("benchmark", "round", "division", "availability", "system_type", "accuracy_track", "power_run")


def figure(value=103275.0, **changes):
    """The figure of a published run; see tests.builders.published_run for the changes."""
    run = published_run(value, **changes)
    assert run.primary is not None
    return Figure(run, run.primary)


def full(value=103275.0, **changes):
    """A published figure to which no rule objects beside its like: everything that rules ask for is disclosed."""
    disclosed = {**TECHNIQUES_OFF, "headroom_ttft": 0.9, "headroom_tpot": 0.8, "output_tokens": {"mean": 280.0}}
    return figure(value, **{"subject": f"run of {value}", **disclosed, **changes})


def own(
    value=5000.0,
    *,
    metric="loadgen-completed-tokens-rate",
    origin="measured",
    validity=HEALTHY,
    not_applicable=OF_NO_SUITE,
    **changes,
):
    """The figure of a run of one's own; changes to its conditions as for `figure`."""
    run = Run(
        subject=f"own {value} {sorted(changes.items(), key=str)}",
        conditions=conditions_of({**OWN, **changes}, not_applicable=not_applicable),
        provenance=Provenance(origin=origin),
        rows=(Row(metric=metric, value=value),),
        validity=validity,
        primary=metric,
    )
    return Figure(run, metric)


def contested(value=103275.0, **changes):
    """A full figure whose sources disagree about the accelerators: 87 in the text, 88 by multiplication."""
    run = full(value, **changes).run
    claims = {"accelerators": (Claim(87, "text"), Claim(88, "nodes x accelerators"))}
    return Figure(replace(run, conditions=replace(run.conditions, claims=claims)), run.primary)


_CHOICES: dict[str, tuple[Value | None, ...]] = {
    "benchmark": ("llama2-70b-99.9", "llama2-70b-99", "llama3.1-8b", "gptj-99", None),
    "accuracy_track": ("99.9", "99", None),
    "scenario": ("server", "offline", "interactive", None),
    "round": ("v4.1", "v5.1", "v6.0", "v6.1", "v9.9", "nonsense\x1b[31m", None),
    "division": ("closed", "open", None),
    "availability": ("available", "preview", None),
    "system_type": ("datacenter", "edge", "datacenter,edge", None),
    "review": ("reviewed", "unverified", "self-reported", "simulated", None),
    "suite": ("MLPerf Inference", "another", None),
    "power_run": (False, True, None),
    "ttft_limit_s": (2.0, 0.45, None),
    "weight_precision": ("fp4", "fp8, bf16", "bf16,fp8", None),
    "accelerator": ("MI355X", "H200+MI350X", None),
    "accelerators": (8, 72, None),
    "prefix_caching": ("on", "off", None),
    "prefix_reuse": ("none", "half of the prompt", None),
    "loop": ("open", "closed", None),
    "headroom_ttft": (0.3, 0.9, None),
    "headroom_tpot": (0.3, 0.9, None),
    "accuracy_tokens_per_sample": (267.0, 290.8, None),
    "output_tokens": ({"mean": 270.0}, {"p50": 270.0}, None),
    "fingerprint": ("aa", "bb", None),
}

_OUTCOMES = st.sampled_from(("pass", "fail", "unknown", "not applicable"))
_VALIDITY = st.lists(
    st.builds(Check, aspect=st.sampled_from(("review", "harness verdict", "schedule")), outcome=_OUTCOMES), max_size=2
).map(tuple)

any_figure = st.builds(
    lambda value, validity, changes: figure(value, validity=validity, **changes),
    st.floats(min_value=1.0, max_value=1e6, allow_nan=False),
    _VALIDITY,
    st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in _CHOICES.items()}),
)
"""Published figures whose conditions and validity are changed at will."""
