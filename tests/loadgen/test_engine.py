"""What a server says about itself, and nothing that it does not say."""

from caveat.loadgen import Endpoint
from caveat.loadgen.engine import Fact, change, engine_facts
from tests.loadgen.server import HANG, Server, whole

MODELS = b'{"data":[{"id":"other"},{"id":"m","root":"/models/m","owned_by":"vllm","max_model_len":4096}]}'


def answered(routes: dict[bytes, bytes]):
    def answer(_: int, request: bytes) -> list[bytes]:
        return (
            [whole(routes[path], "200 OK")]
            if (path := request.split()[1]) in routes
            else [whole(b"no", "404 Not Found")]
        )

    with Server(answer) as server:
        return engine_facts(Endpoint(url=server.url + "/base/v1", model="m"))


def test_facts_carry_the_route_that_gave_them():
    """The entry of the model asked for, the version, counters and gauges of a known engine."""
    metrics = (
        b"vllm:prefix_cache_hits_total 5\nvllm:prefix_cache_queries_total 9\nvllm:num_requests_waiting 1\nother 3\n"
    )
    routes = {b"/base/v1/models": MODELS, b"/base/version": b'{"version":"0.33.0"}', b"/base/metrics": metrics}
    found = answered(routes)
    assert found.silent == {}
    assert found.facts == {
        "served_model": Fact("m", "GET /v1/models"),
        "model_root": Fact("/models/m", "GET /v1/models"),
        "owned_by": Fact("vllm", "GET /v1/models"),
        "max_model_len": Fact(4096.0, "GET /v1/models"),
        "version": Fact("0.33.0", "GET /version"),
        "prefix_cache_queries": Fact(9.0, "GET /metrics"),
        "prefix_cache_hits": Fact(5.0, "GET /metrics"),
        "waiting": Fact(1.0, "GET /metrics"),
        "engine_family": Fact("vllm", "GET /metrics"),
    }


def test_routes_that_say_nothing_are_listed_with_the_reason():
    """Not there, not JSON, another model."""
    found = answered({b"/base/v1/models": b'{"data":[{"id":"other"}]}', b"/base/version": b"<html>"})
    assert found.facts == {} and found.silent["/metrics"] == "HTTP 404"
    assert found.silent["/v1/models"] == "said nothing that is known here" and "malformed" in found.silent["/version"]


def test_a_server_that_does_not_answer_costs_a_bounded_time_and_no_error():
    """Each route gives up by itself."""
    with Server(lambda *_: [b"HTTP/1.1 200 OK\r\n", HANG]) as server:
        found = engine_facts(Endpoint(url=server.url, model="m"), timeout_s=0.1)
    assert found.facts == {} and set(found.silent) == {"/v1/models", "/version", "/metrics"}


def test_counters_are_compared_and_gauges_are_not():
    """A counter that fell was reset: nothing is said of it."""
    texts = (
        b"vllm:prompt_tokens_total 10\nvllm:num_preemptions_total 4\nvllm:num_requests_running 1\n",
        b"vllm:prompt_tokens_total 25\nvllm:num_preemptions_total 1\nvllm:num_requests_running 9\n",
    )
    before, after = (answered({b"/base/metrics": text}) for text in texts)
    assert change(before, after) == {"prompt_tokens": 15.0}
