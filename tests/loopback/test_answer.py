"""Every fault over HTTP: what the client sees, and what the log says of it. Nothing hangs."""

import json

import pytest

from caveat.loopback import Fault, answer_words
from caveat.loopback.behaviour import FaultKind
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
    until,
)

MS = 1_000_000


def faulty(start, kind, behaviour=None, **more):
    """An endpoint whose first request is befallen."""
    return start(faults=(Fault(kind=kind, requests=(0,), **more),), **(behaviour or {}))


def bytes_of(url, **asked):
    """All that comes on a connection that is asked to close, and how it ended."""
    parts = []
    with connect(url) as client:
        client.sendall(request_bytes(chat_body(**asked), CHAT, "connection: close"))
        try:
            while part := client.recv(1 << 16):
                parts.append(part)
        except ConnectionResetError:
            return b"".join(parts), "reset"
    return b"".join(parts), "closed"


def test_a_reset_before_the_first_byte(start):
    """Nothing comes, and then a reset."""
    running = faulty(start, "reset-before-first-byte")
    assert bytes_of(running.url, stream=True) == (b"", "reset")
    (truth,) = running.log()
    assert (truth.outcome, truth.fault, truth.first_write_ns) == ("reset-before-first-byte",) * 2 + (None,)


def test_a_reset_after_the_first_token(start):
    """The log says that one token left; a reset may overtake it on the way."""
    running = faulty(start, "reset-after-first-token")
    data, end = bytes_of(running.url, stream=True, max_tokens=5)
    assert end == "reset"
    assert b"beta" not in data
    (truth,) = running.log()
    assert (truth.outcome, truth.sent_tokens) == ("reset-after-first-token", 1)


def test_the_connection_can_be_refused_for_a_while(start):
    """Then the port takes connections again."""
    running = faulty(start, "refuse", seconds=0.3)
    assert bytes_of(running.url) == (b"", "reset")
    with pytest.raises(ConnectionRefusedError):
        get(running.url, "/health")
    until(lambda: is_up(running.url))
    assert chat(running.url).status == 200
    assert [truth.outcome for truth in running.log()] == ["refuse", "done"]


def is_up(url):
    try:
        return get(url, "/health").status == 200
    except ConnectionRefusedError:
        return False


@pytest.mark.parametrize(
    ("status", "retry_after"), [(401, None), (429, "2"), (500, None), (503, "2")], ids=lambda value: str(value)
)
def test_an_http_error(start, status, retry_after):
    """With the wait where there is one to tell, and the connection goes on."""
    running = faulty(start, "http", status=status, seconds=1.5)
    with connection(running.url) as client:
        reply = ask(client, "POST", CHAT, chat_body())
        assert (reply.status, reply.headers.get("retry-after")) == (status, retry_after)
        assert set(reply.json["error"]) == {"message", "type", "param", "code"}
        assert ask(client, "POST", CHAT, chat_body()).status == 200
    assert [truth.outcome for truth in running.log()] == [f"http {status}", "done"]


def test_a_server_that_is_loading_says_so(start):
    """Every page but the operator's, with the time that is left."""
    running = start(loading_s=3000)
    for reply in (chat(running.url), get(running.url, "/health"), get(running.url, "/v1/models")):
        assert (reply.status, reply.json["error"]["type"]) == (503, "unavailable_error")
        assert 2900 < int(reply.headers["retry-after"]) <= 3000
    assert get(running.url, "/loopback/log").status == 200


def test_a_server_that_has_loaded_serves(start):
    """Asked until it does."""
    running = start(loading_s=0.05)
    until(lambda: get(running.url, "/health").status != 503)
    assert chat(running.url).status == 200


def test_the_wrong_content_type(start):
    """A page where a stream was asked for, as from a proxy that wants a sign-in."""
    reply = chat(faulty(start, "wrong-content-type").url, stream=True)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert reply.body.startswith(b"<!doctype html>")


@pytest.mark.parametrize("stream", [True, False])
def test_malformed_json(start, stream):
    """One event, or the body, is not JSON; all else is as it should be."""
    reply = chat(faulty(start, "malformed").url, stream=stream, max_tokens=4)
    events = reply.body.split(b"\n\n") if stream else [reply.body]
    broken = [place for place, event in enumerate(events) if not is_json(event.removeprefix(b"data: "))]
    assert broken == ([2, 5, 6] if stream else [0])  # the event, [DONE], and nothing after the last line


def is_json(data):
    try:
        return bool(json.loads(data))
    except ValueError:
        return False


@pytest.mark.parametrize("one_write", [True, False])
def test_a_truncated_stream(start, one_write):
    """Cut inside a line: no end of the stream, none of the body."""
    running = faulty(start, "truncated", {"one_write": one_write})
    data, end = bytes_of(running.url, stream=True, max_tokens=4)
    assert end == "closed"
    assert b"[DONE]" not in data and not data.endswith(b"0\r\n\r\n")
    assert data.rpartition(b"data: ")[2].count(b"\n\n") == 0
    (truth,) = running.log()
    assert (truth.outcome, truth.sent_tokens) == ("truncated", 0 if one_write else 2)


def test_a_stream_without_its_last_line(start):
    """HTTP ends as it should."""
    reply = chat(faulty(start, "no-done").url, stream=True, max_tokens=2)
    assert reply.body.endswith(b'"finish_reason":"length"}]}\n\n')


@pytest.mark.parametrize("stream", [True, False])
def test_a_stall_in_an_answer(start, stream):
    """Everything comes, late; the hold is in the deadlines, so it is not the server's lag."""
    running = faulty(start, "stall", seconds=0.3)
    reply = chat(running.url, stream=stream, max_tokens=4)
    content = "".join(deltas(reply, "content")) if stream else reply.json["choices"][0]["message"]["content"]
    assert content == answer_words(0, 4)
    (truth,) = running.log()
    assert (truth.outcome, truth.fault) == ("done", "stall")
    assert truth.last_write_ns - truth.first_write_ns >= 299 * MS
    assert truth.last_due_ns - truth.first_due_ns >= 300 * MS


def test_a_slow_start(start):
    """Not even the head comes before."""
    running = faulty(start, "slow-start", {"early_head": True}, seconds=0.3)
    chat(running.url, stream=True, max_tokens=2)
    (truth,) = running.log()
    assert truth.head_ns - truth.arrival_ns >= 299 * MS
    assert truth.first_due_ns - truth.arrival_ns >= 300 * MS


def test_a_client_that_leaves_during_a_hold(start):
    """Nobody waits for it."""
    running = faulty(start, "slow-start", seconds=0.1)
    with connect(running.url) as client:
        client.sendall(request_bytes(chat_body()))
    until(lambda: get(running.url, "/health").status == 200 and running.log())
    assert chat(running.url).status == 200
    assert [truth.outcome for truth in running.log()] == ["gone", "done"]


@pytest.mark.parametrize("stream", [True, False])
def test_usage_that_is_missing(start, stream):
    """Though it was asked for."""
    running = faulty(start, "missing-usage")
    reply = chat(running.url, stream=stream, max_tokens=2, stream_options={"include_usage": True})
    assert b'"usage"' not in reply.body
    assert [truth.fault for truth in running.log()] == ["missing-usage"]
    assert b'"usage"' in chat(running.url).body


def test_a_line_of_ten_megabytes(start):
    """It comes whole, and is one word."""
    reply = chat(faulty(start, "huge-line").url, stream=True, max_tokens=4)
    assert max(map(len, reply.body.split(b"\n"))) > 10_000_000
    assert len("".join(deltas(reply, "content")).split()) == 4


@pytest.mark.parametrize("stream", [True, False])
def test_chunks_that_end_at_awkward_bytes(start, stream):
    """The same bytes as without, in chunks of at most seven."""
    running = faulty(start, "awkward-chunks")
    with connect(running.url) as client:
        client.sendall(request_bytes(chat_body(stream=stream, max_tokens=12), CHAT, "connection: close"))
        head, _, body = read_to_end(client).partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    sizes, data = [], b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        sizes.append(int(size, 16))
        data += rest[: sizes[-1]]
        body = rest[sizes[-1] + 2 :]
    assert sizes.pop() == 0
    assert set(sizes) <= set(range(1, 8))
    plain = chat(running.url, stream=stream, max_tokens=12).body
    assert data.replace(b"000000000000", b"000000000001") == plain


def test_the_outcomes_of_many_requests_add_up(start):
    """A tenth of each of several faults: every request is in the log, once."""
    kinds: tuple[FaultKind, ...] = ("http", "truncated", "reset-before-first-byte", "malformed", "awkward-chunks")
    running = start(seed=3, faults=tuple(Fault(kind=kind, rate=0.1) for kind in kinds))
    for _ in range(100):
        bytes_of(running.url, stream=True, max_tokens=3)
    log = running.log()
    assert [truth.number for truth in log] == list(range(100))
    assert {truth.fault for truth in log} == {None, *kinds}
    ended = {"http": "http 500", "malformed": "done", "awkward-chunks": "done", None: "done"}
    assert [truth.outcome for truth in log] == [ended.get(truth.fault, truth.fault) for truth in log]
