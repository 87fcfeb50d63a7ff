"""Engine facts: what the server itself says about itself, where it says anything. Never guessed; each with its route.

Read before and after a run: GET /v1/models, /version and /metrics. A route that is not there gives no fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.failures import readable
from caveat.loadgen.plain_http import AskError, Reply, ask
from caveat.loadgen.prometheus import read_metrics

# fact, the counters and gauges of engines that state it (first one that is there), and how their series are combined.
COUNTERS: dict[str, tuple[str, ...]] = {
    "prefix_cache_queries": ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries"),
    "prefix_cache_hits": ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "sglang:cached_tokens_total"),
    "prompt_tokens": ("vllm:prompt_tokens_total", "sglang:prompt_tokens_total", "llamacpp:prompt_tokens_total"),
    "generation_tokens": (
        "vllm:generation_tokens_total",
        "sglang:generation_tokens_total",
        "llamacpp:tokens_predicted_total",
    ),
    "preemptions": ("vllm:num_preemptions_total",),
    "running": ("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing"),
    "waiting": ("vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred"),
}
_GAUGES = ("running", "waiting")
_MAX_MODELS = 100


class Fact(msgspec.Struct, frozen=True):
    """One thing that the server said, and where."""

    value: str | float
    source: str


class EngineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was said at one moment, by name; `silent` lists the routes that gave nothing, with the reason."""

    facts: dict[str, Fact]
    silent: dict[str, str]


def engine_facts(
    endpoint: Endpoint, *, timeout_s: float = 5.0, environ: Mapping[str, str] | None = None
) -> EngineFacts:
    """Ask every route once. An endpoint that cannot be reached gives no facts and no error."""
    facts: dict[str, Fact] = {}
    silent: dict[str, str] = {}
    for route, read in ROUTES.items():
        try:
            reply = ask(endpoint, route, timeout_s=timeout_s, environ=environ)
            found = read(reply, endpoint) if reply.ok else {}
        except (AskError, ValueError, msgspec.MsgspecError) as error:
            silent[route] = readable(str(error), endpoint.secrets(environ))
            continue
        facts |= {name: Fact(value, f"GET {route}") for name, value in found.items()}
        if not found:
            silent[route] = f"HTTP {reply.status}" if not reply.ok else "said nothing that is known here"
    return EngineFacts(facts=facts, silent=silent)


def facts_without_secrets(endpoint: Endpoint, environ: Mapping[str, str] | None = None) -> EngineFacts:
    """As `engine_facts`, without what the server echoes of our key: fit to be kept."""
    said = engine_facts(endpoint, environ=environ)
    secrets = endpoint.secrets(environ)
    clean = {
        name: Fact(readable(fact.value, secrets) if isinstance(fact.value, str) else fact.value, fact.source)
        for name, fact in said.facts.items()
    }
    return msgspec.structs.replace(said, facts=clean)


def change(before: EngineFacts, after: EngineFacts) -> dict[str, float]:
    """How much each counter grew between two readings. One that fell (a restart) or is missing gives nothing."""
    grown: dict[str, float] = {}
    for name in COUNTERS:
        first, last = before.facts.get(name), after.facts.get(name)
        if name in _GAUGES or first is None or last is None:
            continue
        if isinstance(first.value, float) and isinstance(last.value, float) and last.value >= first.value:
            grown[name] = last.value - first.value
    return grown


def _models(reply: Reply, endpoint: Endpoint) -> dict[str, str | float]:
    """The entry of the model asked for; only the fields that engines are known to set."""
    listed = msgspec.json.decode(reply.body, type=_Models).data[:_MAX_MODELS]
    found: dict[str, str | float] = {}
    for entry in listed:
        if entry.id != endpoint.model:
            continue
        found["served_model"] = readable(entry.id)
        if entry.root:
            found["model_root"] = readable(entry.root)
        if entry.owned_by:
            found["owned_by"] = readable(entry.owned_by)
        if entry.max_model_len is not None:
            found["max_model_len"] = float(entry.max_model_len)
    return found


def _version(reply: Reply, endpoint: Endpoint) -> dict[str, str | float]:
    said: Any = msgspec.json.decode(reply.body)
    version = said.get("version") if isinstance(said, dict) else None
    return {"version": readable(version)} if isinstance(version, str) and version else {}


def _metrics(reply: Reply, endpoint: Endpoint) -> dict[str, str | float]:
    """Known series, summed over all label sets of a name: replicas and engines behind one address add up."""
    totals = read_metrics(reply.body)
    found: dict[str, str | float] = {}
    for name, series in COUNTERS.items():
        known = next((one for one in series if one in totals), None)
        if known is not None:
            found[name] = totals[known]
            found.setdefault("engine_family", known.partition(":")[0])
    return found


class _Model(msgspec.Struct):
    id: str
    root: str | None = None
    owned_by: str | None = None
    max_model_len: int | None = None


class _Models(msgspec.Struct):
    data: list[_Model] = []


ROUTES: dict[str, Callable[[Reply, Endpoint], dict[str, str | float]]] = {
    "/v1/models": _models,
    "/version": _version,
    "/metrics": _metrics,
}
