"""Completions over HTTP: what is asked for is what comes, the log tells it as it was, and a stall counts in full."""

import itertools
import json
import threading
import time

import pytest

from caveat.loopback import Behaviour, Emission, Fixed, FixedEngine, answer_words, read_log
from tests.loopback.client import (
    CHAT,
    ask,
    chat,
    chat_body,
    connect,
    connection,
    deltas,
    get,
    read_to_end,
    request_bytes,
    text,
)

MS = 1_000_000


def test_a_chat_answer_without_stream(start):
    """One body, counted exactly."""
    reply = chat(start(model="tiny").url, "four words of prompt", max_tokens=5)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    answer = reply.json
    assert (answer.pop("id"), answer.pop("created") > 1_000_000_000) == ("chatcmpl-000000000000", True)
    assert answer == {
        "object": "chat.completion",
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer_words(0, 5)},
                "finish_reason": "length",
            }
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9},
    }


def test_a_text_answer_without_stream(start):
    """The other route."""
    answer = text(start().url, "four words of prompt", max_tokens=5).json
    assert answer["object"] == "text_completion"
    assert answer["choices"] == [{"index": 0, "text": answer_words(0, 5), "finish_reason": "length"}]


@pytest.mark.parametrize("one_write", [False, True])
@pytest.mark.parametrize("tokens_per_chunk", [1, 4, 100])
def test_a_stream_holds_the_tokens_asked_for_in_chunks(start, one_write, tokens_per_chunk):
    """Written one by one or all at once, the events are the same."""
    running = start(one_write=one_write, tokens_per_chunk=tokens_per_chunk)
    reply = chat(running.url, stream=True, max_tokens=10, stream_options={"include_usage": True})
    texts = deltas(reply, "content")
    assert [len(part.split()) for part in texts] == {1: [1] * 10, 4: [4, 4, 2], 100: [10]}[tokens_per_chunk]
    assert "".join(texts) == answer_words(0, 10)
    assert reply.events[-1]["usage"] == {"prompt_tokens": 3, "completion_tokens": 10, "total_tokens": 13}


@pytest.mark.parametrize(
    ("options", "with_usage"),
    [(None, 0), ({"include_usage": False}, 0), ({"include_usage": True}, 1), ({"continuous_usage_stats": True}, 0)],
)
def test_a_stream_tells_usage_when_it_is_asked_to(start, options, with_usage):
    """As stream_options says."""
    reply = chat(start().url, stream=True, max_tokens=3, **({"stream_options": options} if options else {}))
    assert sum("usage" in event for event in reply.events) == with_usage


def test_usage_may_be_told_all_along(start):
    """Asked for by the request, as vLLM has it."""
    options = {"include_usage": True, "continuous_usage_stats": True}
    reply = chat(start().url, stream=True, max_tokens=3, stream_options=options)
    assert [event["usage"]["completion_tokens"] for event in reply.events] == [1, 2, 3, 3, 3]


@pytest.mark.parametrize(("usage", "events"), [("own-chunk", 1), ("with-choices", 1), ("never", 0), ("continuous", 5)])
def test_usage_may_be_told_unasked_or_never(start, usage, events):
    """As the behaviour says, whatever the request does."""
    reply = chat(start(usage=usage).url, stream=True, max_tokens=3)
    assert sum("usage" in event for event in reply.events) == events


def test_first_tokens_may_be_reasoning_and_last_ones_a_tool_call(start):
    """Counted as tokens all of them."""
    running = start(reasoning_tokens=2, reasoning_field="reasoning", tool_call_tokens=3, usage="own-chunk")
    reply = chat(running.url, stream=True, max_tokens=8)
    assert "".join(deltas(reply, "reasoning")) == answer_words(0, 2)
    assert "".join(deltas(reply, "content")) == answer_words(2, 3)
    calls = list(itertools.chain.from_iterable(deltas(reply, "tool_calls")))
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"words": answer_words(5, 3)}
    assert [call.get("function", {}).get("name") for call in calls] == ["say", None, None]
    assert reply.events[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}
    assert reply.events[-2]["choices"][0]["finish_reason"] == "tool_calls"


def test_the_prefix_cache_says_what_it_held(start):
    """Two conversations that share 32 words of a system prompt."""
    running = start(prefix_cache_blocks=100)
    system = " ".join(str(place) for place in range(32))
    told = [text(running.url, f"{system} {question}").json["usage"] for question in ("who", "what", "who")]
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in told] == [0, 32, 32]
    assert [truth.cached_tokens for truth in running.log()] == [0, 32, 32]


def test_without_a_prefix_cache_nothing_is_said_of_it(start):
    """Unknown is not zero."""
    running = start()
    assert "prompt_tokens_details" not in text(running.url).json["usage"]
    assert running.log()[0].cached_tokens is None


def test_the_log_tells_every_request_as_it_was(start):
    """In this process and over HTTP alike."""
    running = start(ttft_s=Fixed(0.02), itl_s=Fixed(0.005))
    chat(running.url, stream=True, max_tokens=4)
    text(running.url, max_tokens=2)
    chat(running.url, n=3)
    stream, whole, refused = running.log()
    assert (stream.first_due_ns - stream.arrival_ns, stream.last_due_ns - stream.arrival_ns) == (20 * MS, 35 * MS)
    assert (whole.first_due_ns - whole.arrival_ns, whole.stream, whole.path) == (25 * MS, False, "/v1/completions")
    assert (stream.lag.writes, whole.lag.writes, refused.lag) == (4, 1, None)
    assert stream.first_due_ns <= stream.first_write_ns < stream.last_write_ns <= stream.end_ns
    assert (stream.prompt_tokens, stream.output_tokens, stream.sent_tokens) == (3, 4, 4)
    assert (refused.outcome, refused.output_tokens, refused.first_write_ns) == ("http 400", None, None)
    assert read_log(get(running.url, "/loopback/log").body) == running.log()
    assert running.lag().writes == 5


def test_no_token_leaves_before_its_deadline(start):
    """Fifty answers at a time, each with its own times."""
    running = start(ttft_s=Fixed(0.01), itl_s=Fixed(0.002), slots=10)
    clients = [connect(running.url) for _ in range(50)]
    for client in clients:
        client.sendall(request_bytes(chat_body(max_tokens=5), CHAT, "connection: close"))
    for client in clients:
        read_to_end(client)
        client.close()
    log = running.log()
    assert len(log) == 50
    assert all(truth.first_write_ns >= truth.first_due_ns for truth in log)
    assert max(truth.first_due_ns - truth.arrival_ns for truth in log) > 5 * 10 * MS  # the last ones waited


def test_a_head_may_leave_before_the_first_token(start):
    """And with it the chunk that has the role only."""
    running = start(early_head=True, first_chunk="role", ttft_s=Fixed(0.1))
    reply = chat(running.url, stream=True, max_tokens=1)
    assert reply.events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert deltas(reply, "role") == ["assistant"]
    (truth,) = running.log()
    assert truth.head_ns < truth.first_due_ns <= truth.first_write_ns


class Watched(FixedEngine):
    """The usual engine, which says when jobs come and go."""

    def __init__(self, behaviour):
        super().__init__(behaviour)
        self.came, self.left = threading.Event(), threading.Event()

    def submit(self, job):
        super().submit(job)
        self.came.set()

    def cancel(self, number, now_ns):
        super().cancel(number, now_ns)
        self.left.set()


def test_a_client_that_leaves_frees_its_slot(start):
    """The metrics show it in service, then gone; the log says who went."""
    behaviour = Behaviour(slots=1, ttft_s=Fixed(600.0))
    engine = Watched(behaviour)
    running = start(slots=1, ttft_s=Fixed(600.0), engine=lambda _: engine)
    with connect(running.url) as client:
        client.sendall(request_bytes(chat_body()))
        assert engine.came.wait(20)
        assert b'num_requests_running{model_name="loopback"} 1' in get(running.url, "/metrics").body
    assert engine.left.wait(20)
    assert b'num_requests_running{model_name="loopback"} 0' in get(running.url, "/metrics").body
    assert [truth.outcome for truth in running.log()] == ["gone"]


def test_a_stall_counts_in_full_for_everything_that_was_due(start):
    """Deadlines stay where they were, writes wait for the end; the request that came in between is served as well."""
    running = start(ttft_s=Fixed(0.05), itl_s=Fixed(0.5))
    with connect(running.url) as client:
        client.sendall(request_bytes(chat_body(stream=True, max_tokens=2), CHAT, "connection: close"))
        assert client.recv(1 << 16)
        asked_ns = time.monotonic_ns()
        with connection(running.url) as operator:
            assert ask(operator, "POST", "/loopback/stall", {"seconds": 0.8}).status == 200
            assert ask(operator, "GET", "/loopback/log").status == 200  # the operator's own pages go on
        chat(running.url, stream=True, max_tokens=1)
        assert get(running.url, "/health").status == 200
        read_to_end(client)
    early, during = sorted(running.log(), key=lambda truth: truth.number)
    assert early.last_due_ns - early.first_due_ns == 500 * MS
    assert during.first_due_ns - during.arrival_ns == 50 * MS
    assert early.first_write_ns < asked_ns
    assert during.first_write_ns >= asked_ns + 800 * MS
    assert early.last_write_ns >= asked_ns + 800 * MS > early.last_due_ns


def test_pages_wait_for_the_end_of_a_stall(start):
    """As everything does but for the operator's own."""
    running = start()
    with connection(running.url) as client:
        asked_ns = time.monotonic_ns()
        ask(client, "POST", "/loopback/stall", {"seconds": 0.2})
        assert ask(client, "GET", "/health").status == 200
    assert time.monotonic_ns() - asked_ns >= 200 * MS


@pytest.mark.parametrize("body", [{}, {"seconds": 0}, {"seconds": -1}, {"seconds": 1e9}, {"seconds": "long"}, [1]])
def test_a_stall_without_sense_is_refused(start, body):
    """And nothing stalls."""
    with connection(start().url) as client:
        assert ask(client, "POST", "/loopback/stall", body).status == 400
        assert ask(client, "GET", "/health").status == 200


class Backwards:
    """A modelled server that serves everybody at once when the third job is there, the newest first."""

    running = waiting = block_tokens = 0

    def __init__(self):
        self.jobs = []
        self.came = threading.Semaphore(0)

    def accept(self, job):
        return job

    def submit(self, job):
        self.jobs.append(job)
        self.came.release()

    def cancel(self, number, now_ns):
        self.jobs = [job for job in self.jobs if job.number != number]

    def next_ns(self):
        return self.jobs[2].arrival_ns if len(self.jobs) == 3 else None

    def take(self):
        due_ns = self.next_ns()
        done, self.jobs = self.jobs[::-1], []
        return [Emission(job.number, due_ns, job.output_tokens) for job in done]


def test_a_model_of_a_server_can_drive_the_endpoint(start):
    """What the engine says is due is what goes out, in its order."""
    engine = Backwards()
    running = start(engine=lambda _: engine)
    clients = []
    for tokens in (1, 2, 3):
        clients.append(connect(running.url))
        clients[-1].sendall(request_bytes(chat_body(max_tokens=tokens), CHAT, "connection: close"))
        assert engine.came.acquire(timeout=20)
    bodies = [read_to_end(client).partition(b"\r\n\r\n")[2] for client in clients]
    for client in clients:
        client.close()
    assert [json.loads(body)["usage"]["completion_tokens"] for body in bodies] == [1, 2, 3]
    log = running.log()
    assert [truth.number for truth in log] == [2, 1, 0]
    assert {truth.first_due_ns for truth in log} == {log[0].arrival_ns}
