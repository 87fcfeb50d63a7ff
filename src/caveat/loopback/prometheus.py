"""Prometheus: the endpoint's counters and gauges as a scraper reads them, under the names that engines use."""

from __future__ import annotations

from typing import Literal

from caveat.loopback.endpoint import Endpoint


def metrics_text(endpoint: Endpoint) -> str:
    """The text format 0.0.4: gauges of now, counters since the start.

    Prefix-cache counters are in tokens and are only there where there is a cache, the endpoint's or its engine's.
    """
    engine, cache = endpoint.engine, endpoint.cache
    rows: list[tuple[str, Literal["gauge", "counter"], str, int]] = [
        ("num_requests_running", "gauge", "Requests in service.", engine.running),
        ("num_requests_waiting", "gauge", "Requests that wait for service.", engine.waiting),
        ("prompt_tokens_total", "counter", "Prompt tokens of requests that are over.", endpoint.prompt_tokens),
        ("generation_tokens_total", "counter", "Tokens written for requests that are over.", endpoint.sent_tokens),
    ]
    if endpoint.behaviour.prefix_cache_blocks or engine.block_tokens:
        rows += [
            ("prefix_cache_queries_total", "counter", "Prompt tokens looked up.", cache.queries),
            ("prefix_cache_hits_total", "counter", "Prompt tokens found.", cache.hits),
        ]
    return _requests(endpoint) + "".join(_family(endpoint, *row) for row in rows)


def _family(endpoint: Endpoint, name: str, kind: str, meaning: str, value: int) -> str:
    full = f"{endpoint.behaviour.metrics_prefix}:{name}"
    model = _escaped(endpoint.behaviour.model)
    return f'# HELP {full} {meaning}\n# TYPE {full} {kind}\n{full}{{model_name="{model}"}} {value}\n'


def _requests(endpoint: Endpoint) -> str:
    full = f"{endpoint.behaviour.metrics_prefix}:requests_total"
    model = _escaped(endpoint.behaviour.model)
    lines = "".join(
        f'{full}{{model_name="{model}",outcome="{outcome}"}} {count}\n'
        for outcome, count in sorted(endpoint.log.outcomes.items())
    )
    return f"# HELP {full} Completion requests that are over.\n# TYPE {full} counter\n{lines}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
