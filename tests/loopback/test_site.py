"""Pages beside the completions: models, health, version, metrics, and what is not there."""

import msgspec
import pytest

from caveat import __version__
from caveat.loopback import Behaviour
from tests.loopback.client import CHAT, ask, chat, connection, get, text


def test_the_models_page_names_the_model(start):
    """And how long a context it takes."""
    (model,) = get(start(model="tiny", context_tokens=4096).url, "/v1/models").json["data"]
    assert (model["id"], model["object"], model["max_model_len"]) == ("tiny", "model", 4096)


def test_health_and_version(start):
    """What a client looks for first."""
    running = start()
    assert get(running.url, "/health").json == {"status": "ok"}
    assert get(running.url, "/version?x=1").json == {"version": __version__, "server": "caveat loopback"}


def test_the_behaviour_can_be_read(start):
    """So that who measures can record what was measured."""
    running = start(slots=3, model="tiny")
    told = msgspec.json.decode(get(running.url, "/loopback/behaviour").body, type=Behaviour)
    assert told == Behaviour(slots=3, model="tiny")


def test_metrics_count_what_was_served(start):
    """In the text format of Prometheus, under a prefix of one's choice."""
    running = start(prefix_cache_blocks=10, metrics_prefix="vllm", model='the "tiny"')
    prompt = " ".join(["again"] * 20)
    text(running.url, prompt, max_tokens=5)
    text(running.url, prompt, max_tokens=7)
    chat(running.url, n=2)
    page = get(running.url, "/metrics")
    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    label = 'model_name="the \\"tiny\\""'
    assert [line for line in page.body.decode().splitlines() if not line.startswith("#")] == [
        f'vllm:requests_total{{{label},outcome="done"}} 2',
        f'vllm:requests_total{{{label},outcome="http 400"}} 1',
        f"vllm:num_requests_running{{{label}}} 0",
        f"vllm:num_requests_waiting{{{label}}} 0",
        f"vllm:prompt_tokens_total{{{label}}} 40",
        f"vllm:generation_tokens_total{{{label}}} 12",
        f"vllm:prefix_cache_queries_total{{{label}}} 40",
        f"vllm:prefix_cache_hits_total{{{label}}} 16",
    ]


def test_every_metric_has_its_help_and_its_type(start):
    """And nothing is told of a cache that is not there."""
    lines = get(start().url, "/metrics").body.decode().splitlines()
    names = [line.split(" ")[2] for line in lines if line.startswith("# TYPE")]
    assert names == [line.split(" ")[2] for line in lines if line.startswith("# HELP")]
    assert len(names) == len(set(names)) == 5


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/nothing", 404, None),
        ("GET", "/loopback/nothing", 404, None),
        ("POST", "/loopback/log", 404, None),
        ("GET", CHAT, 405, "POST"),
        ("POST", "/metrics", 405, "GET"),
    ],
)
def test_what_is_not_there_is_said_in_json(start, method, path, status, allow):
    """With the method that would do."""
    with connection(start().url) as client:
        reply = ask(client, method, path)
    assert (reply.status, reply.headers.get("allow")) == (status, allow)
    assert reply.json["error"]["message"]


def test_the_log_can_be_emptied(start):
    """Between two measurements; numbers go on."""
    running = start()
    chat(running.url)
    with connection(running.url) as client:
        assert ask(client, "DELETE", "/loopback/log").json == {}
    chat(running.url)
    assert [truth.number for truth in running.log()] == [1]
