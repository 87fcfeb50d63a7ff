"""Both twins in one run: a generator against the modelled endpoint, and the same model in virtual time."""

import json
import urllib.request

import numpy as np
import pytest

from caveat.errors import InputError, UsageError
from caveat.loadgen import Endpoint, HttpTarget, WallClock
from caveat.loopback import Behaviour, Fault, Fixed, Loopback, modelled, read_log, start_process
from caveat.measure import Kept
from caveat.simulator import VirtualClock, decode_model, server_of
from caveat.workload import Limits, Lognormal, PlanBlock, Poisson, Separate, Workload
from tests.loopback.client import chat
from tests.loopback.test_modelled import DOCUMENT
from tests.simulator.plans import Columns, poisson

MS = 1_000_000
QUIET_NS = 2 * MS  # p99 of the endpoint's lag up to which its answers are held against the simulation
WORKLOAD = Workload(
    arrivals=Poisson(120.0),
    lengths=Separate(input=Lognormal(mean=60, cv=0.8), output=Lognormal(mean=12, cv=0.6), input_max=300, output_cap=60),
    limits=Limits(requests=240),
    seed=3,
)
MODEL = DOCUMENT.replace("step_s = 0.01", "step_s = 0.004").replace(
    "max_num_seqs = 8", "max_num_seqs = 16\nkv_blocks = 60\ntoken_budget = 128"
)


class Seen:
    """What the endpoint saw, as a plan."""

    concurrency = None
    block_tokens = 0

    def __init__(self, truths):
        self._truths = truths

    def column(self, name):
        return np.array([getattr(truth, name) for truth in self._truths], np.int64)

    def blocks(self):
        at_ns = self.column("arrival_ns")
        yield PlanBlock(
            at_ns=at_ns - at_ns[0],
            input_tokens=self.column("prompt_tokens"),
            output_tokens=self.column("output_tokens"),
        )

    def describe(self):
        return {}


def simulated(model, plan):
    sink = Kept()
    server_of(model).offer(plan, sink, VirtualClock())
    return sink.table().sort_by("request")


def measured(url, workload):
    sink = Kept()
    HttpTarget(Endpoint(url=url, model="twin")).offer(workload.plan(), sink, WallClock())
    return sink.table().sort_by("request")


def fetch(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read()


def log_of(url):
    lines = fetch(f"{url}/loopback/log")
    return json.loads(lines.splitlines()[0])["lag"], sorted(read_log(lines), key=lambda truth: truth.number)


def check_due_times(model, truths):
    """Every first and last token was due when the simulation of these arrivals has it due, to the nanosecond."""
    seen = Seen(truths)
    table = simulated(model, seen)
    zero = truths[0].arrival_ns
    for due, instant in (("first_due_ns", "first_token_ns"), ("last_due_ns", "last_token_ns")):
        assert (seen.column(due) - zero).tolist() == table[instant].to_pylist()


def ttft_ns(table):
    return np.asarray(table["first_token_ns"].to_numpy() - table["ready_ns"].to_numpy())


def test_a_plan_through_the_wire_is_due_when_the_simulation_of_its_arrivals_says():
    """Under load, with preemption: no step moved by a nanosecond, however late answers were. Each has its length, and
    nobody has a token before it was due. On a quiet machine the client tells what the simulation of the plan does."""
    model = decode_model(MODEL)
    with start_process(model=model) as server:
        table = measured(server.url, WORKLOAD)
        lag, truths = log_of(server.url)
    assert len(truths) == table.num_rows == 240
    check_due_times(model, truths)
    assert all(truth.first_write_ns >= truth.first_due_ns for truth in truths)
    assert table["input_tokens_usage"].to_pylist() == table["input_tokens_wanted"].to_pylist()
    assert table["output_tokens_usage"].to_pylist() == table["output_tokens_wanted"].to_pylist()
    assert lag["writes"] >= 240
    if lag["p99_ns"] > QUIET_NS:
        pytest.skip(f"the endpoint was {lag['p99_ns'] / MS:.1f} ms late at p99: such a run does not count")
    told, predicted = np.median(ttft_ns(table)), np.median(ttft_ns(simulated(model, WORKLOAD.plan())))
    assert predicted - 4 * MS < told < 1.5 * predicted + 4 * MS


def sharing(at_ns, lengths, beginnings):
    """Prompts of so many tokens, whose blocks are all those of one of some beginnings; answers of three tokens."""
    prefixes = [[int(which)] * (int(tokens) // 16) for tokens, which in zip(lengths, beginnings, strict=True)]
    return Columns(at_ns, lengths, [3] * len(lengths), prefixes=prefixes, block_tokens=16)


def driven(document):
    """An endpoint in a thread, driven by the model."""
    return Loopback(engine=modelled(decode_model(document))).start()


def test_a_prompt_that_begins_like_an_earlier_one_is_due_earlier():
    """Words are hashed by blocks as the model's cache has them: 48 of 64 tokens are found, the last block never is."""
    document = MODEL.replace("prompt_token_s = 1e-5", "prompt_token_s = 1e-3").replace(
        "token_budget = 128", "prefix_cache = true\nblock_tokens = 16"
    )
    prompt = " ".join(f"word{n}" for n in range(64))
    with driven(document) as running:
        for text in (prompt, prompt, "other " + prompt):
            chat(running.url, text, max_tokens=1)
        log = running.log()
        waits = [truth.first_due_ns - truth.arrival_ns for truth in log]
        counters = fetch(f"{running.url}/metrics").decode()
    assert waits == [68 * MS, 20 * MS, 69 * MS]
    assert [truth.cached_tokens for truth in log] == [0, 48, 0]
    assert 'prefix_cache_queries_total{model_name="loopback"} 193' in counters
    assert 'prefix_cache_hits_total{model_name="loopback"} 48' in counters


def test_what_the_model_finds_cached_is_in_the_usage_as_the_simulation_has_it():
    """Request by request, known by its length, over four beginnings that are shared; streamed, and in one piece.
    Without a cache nothing is said of it: unknown is no zero."""
    rng, count = np.random.default_rng(5), 60
    lengths, beginnings = 40 + rng.permutation(count), rng.integers(0, 4, count)
    document = MODEL.replace("token_budget = 128", "prefix_cache = true\nblock_tokens = 16").replace("= 60", "= 400")
    for stream in (True, False):
        with driven(document) as running:
            sink = Kept()
            plan = sharing(poisson(rng, 150, count), lengths, beginnings)
            HttpTarget(Endpoint(url=running.url, model="twin", stream=stream)).offer(plan, sink, WallClock())
            truths = sorted(running.log(), key=lambda truth: truth.number)
        found = {truth.prompt_tokens: truth.cached_tokens for truth in truths}
        told = sink.table().select(["input_tokens_usage", "cached_tokens_usage"]).to_pylist()
        assert {row["input_tokens_usage"]: row["cached_tokens_usage"] for row in told} == found
        order = [lengths.tolist().index(truth.prompt_tokens) for truth in truths]
        at_ns = [truth.arrival_ns - truths[0].arrival_ns for truth in truths]
        predicted = simulated(decode_model(document), sharing(at_ns, lengths[order], beginnings[order]))
        assert predicted["cached_tokens_usage"].to_pylist() == list(found.values())
        assert sum(found.values()) > 500
    with driven(MODEL) as running:
        assert "prompt_tokens_details" not in chat(running.url, "word " * 40, max_tokens=1).json["usage"]
        assert b"prefix_cache" not in fetch(f"{running.url}/metrics")


def test_a_request_beyond_the_model_is_refused_and_an_answer_is_cut():
    """400 with the reason; the finish reason is length. An answer in one piece comes with its last token."""
    with driven(MODEL.replace("kv_blocks = 60", "context_tokens = 20")) as running:
        refused = chat(running.url, "word " * 20, max_tokens=3)
        cut = chat(running.url, "word " * 15, max_tokens=30)
        log = running.log()
    assert refused.status == 400
    assert refused.json["error"]["message"] == "the prompt has 20 tokens, 20 are the most with its answer"
    assert (cut.json["usage"]["completion_tokens"], cut.json["choices"][0]["finish_reason"]) == (5, "length")
    assert [truth.outcome for truth in log] == ["http 400", "done"]
    assert log[1].first_due_ns == log[1].last_due_ns == log[1].arrival_ns + 5 * (4 * MS + 100_000) - 100_000 + 150_000


def test_faults_and_other_manners_go_with_a_model():
    """Whatever does not say how long things take: the first request fails, the second is served by the model."""
    behaviour = Behaviour(model="twin", faults=(Fault(kind="http", status=503, requests=(0,)),))
    with start_process(behaviour, model=decode_model(MODEL)) as server:
        assert chat(server.url, max_tokens=2).status == 503
        assert chat(server.url, max_tokens=2).json["model"] == "twin"


def test_a_process_says_why_a_model_cannot_drive_it():
    """Before it starts, where that is known; else in its own words."""
    with pytest.raises(UsageError, match="found ttft_s beside a model"):
        start_process(Behaviour(ttft_s=Fixed(0.1)), model=decode_model(MODEL))
    unknown = decode_model(MODEL.replace("max_num_seqs = 16", 'max_num_seqs = "unknown"'))
    with pytest.raises(InputError, match="max_num_seqs is not one number"):
        start_process(model=unknown)
    with start_process(model=unknown, max_num_seqs=2) as server:
        assert chat(server.url, max_tokens=2).status == 200
