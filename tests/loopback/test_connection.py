"""HTTP byte by byte: requests in pieces, one after the other, too large, broken; and answers as they are framed."""

import itertools
import json
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caveat.loopback import Fixed, Loopback
from tests.loopback.client import chat_body, connect, read_to_end, request_bytes

CLOSE = "connection: close"
STREAM = request_bytes(chat_body(stream=True, max_tokens=2), "/v1/chat/completions", CLOSE)
HEALTH = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
OK = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"status":"ok"}'


@pytest.fixture(scope="module")
def endpoint():
    """One for all tests here: none of them leaves anything behind."""
    with Loopback().start() as running:
        yield running


def exchange(url, *pieces, end=False):
    """Send pieces, each with a segment of its own where the system lets it, and read until the server closes."""
    with connect(url) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
        if end:
            client.shutdown(socket.SHUT_WR)
        return read_to_end(client)


def unframed(data):
    """Chunks of a chunked body; the last one must be empty."""
    chunks, place = [], 0
    while place < len(data):
        end = data.index(b"\r\n", place)
        after = end + 2 + int(data[place:end], 16)
        chunks.append(data[end + 2 : after])
        assert data[after : after + 2] == b"\r\n"
        place = after + 2
    assert chunks.pop() == b""
    return chunks


def status(answer):
    return int(answer.split(b" ", 2)[1])


def test_a_stream_is_a_head_and_one_chunk_for_each_event(endpoint):
    """Nothing before, between or after."""
    head, _, body = exchange(endpoint.url, STREAM).partition(b"\r\n\r\n")
    assert head == (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        b"cache-control: no-cache\r\ntransfer-encoding: chunked"
    )
    chunks = unframed(body)
    assert len(chunks) == 4
    assert chunks[-1] == b"data: [DONE]\n\n"
    for chunk in chunks[:-1]:
        assert json.loads(chunk.removeprefix(b"data: "))["object"] == "chat.completion.chunk"
        assert chunk.endswith(b"}\n\n")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.sets(st.integers(1, len(STREAM) - 1), max_size=8))
def test_a_request_may_come_in_any_pieces(endpoint, cuts):
    """It is answered once it is whole."""
    places = [0, *sorted(cuts), len(STREAM)]
    answer = exchange(endpoint.url, *(STREAM[low:high] for low, high in itertools.pairwise(places)))
    assert status(answer) == 200
    assert len(unframed(answer.partition(b"\r\n\r\n")[2])) == 4


def test_a_request_body_may_be_chunked(endpoint):
    """As some clients send it."""
    body = json.dumps(chat_body(max_tokens=1)).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\n\r\n"
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    assert status(exchange(endpoint.url, head + chunks)) == 200


def test_answers_come_in_the_order_of_the_requests(endpoint):
    """All of them sent before the first is answered, on one connection that then closes as asked."""
    first = request_bytes(chat_body("a b", max_tokens=1))
    last = request_bytes(chat_body("a b c", max_tokens=1), "/v1/chat/completions", CLOSE)
    answer = exchange(endpoint.url, first + HEALTH + last)
    prompts = [part.partition(b'"prompt_tokens":')[2][:1] for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert prompts == [b"2", b"", b"3"]


def test_a_connection_is_kept_until_the_client_ends_it(endpoint):
    """And two answers are two answers."""
    assert exchange(endpoint.url, HEALTH, HEALTH, end=True) == OK + OK


def test_a_client_that_ends_its_side_has_gone(start):
    """Whether it closed both directions or one cannot be told apart; nothing is kept for it."""
    running = start(ttft_s=Fixed(600.0))
    assert exchange(running.url, request_bytes(chat_body(stream=True)), end=True) == b""
    assert exchange(running.url, HEALTH, end=True) == OK
    assert [truth.outcome for truth in running.log()] == ["gone"]


def test_a_client_that_waits_to_be_asked_is_asked(endpoint):
    """Expect: 100-continue."""
    head, _, body = STREAM.partition(b"\r\n\r\n")
    with connect(endpoint.url) as client:
        client.sendall(head + b"\r\nexpect: 100-Continue\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert status(read_to_end(client)) == 200


def test_an_offer_to_upgrade_is_passed_over(endpoint):
    """The request is answered as what it is, and is the last one."""
    offer = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    assert exchange(endpoint.url, offer) == OK


@pytest.mark.parametrize(
    ("request_data", "refused"),
    [
        (b"hello\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nhost x\r\n\r\n", 400),
        (b"GET /health HTTP/1.0\r\n\r\n", 505),
        (b"POST /v1/completions HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nx: " + b"a" * 70_000, 431),
        (b"GET /" + b"a" * 70_000, 431),
    ],
)
def test_what_is_not_http_is_refused_and_the_connection_ends(endpoint, request_data, refused):
    """With an error that can be read, and a bound on the head."""
    answer = exchange(endpoint.url, request_data)
    assert status(answer) == refused
    assert b"\r\nconnection: close\r\n" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]


def test_a_body_that_is_too_large_is_refused_before_it_has_come(start):
    """The client announced a gigabyte and has sent two kilobytes."""
    head = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n"
    assert status(exchange(start(body_bytes=1000).url, head + b"a" * 2000)) == 413


def test_an_answer_larger_than_what_the_system_takes_at_once_comes_whole(endpoint):
    """The client reads when it likes; the rest waits its turn."""
    request = request_bytes(chat_body(stream=True, max_tokens=60_000), "/v1/chat/completions", CLOSE)
    with connect(endpoint.url) as client:
        client.sendall(request)
        with connect(endpoint.url) as other:  # meanwhile others are served
            other.sendall(HEALTH)
            assert other.recv(1000) == OK
        answer = read_to_end(client)
    assert len(unframed(answer.partition(b"\r\n\r\n")[2])) == 60_002


def test_too_many_requests_ahead_of_their_answers_end_the_connection(start):
    """The queue is bounded."""
    running = start(ttft_s=Fixed(600.0))
    with connect(running.url) as client:
        client.sendall(request_bytes(chat_body()) + HEALTH * 100)
        assert read_to_end(client) == b""


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=200))
def test_no_bytes_at_all_stop_the_server(endpoint, data):
    """Whatever came, the next client is served."""
    exchange(endpoint.url, data, end=True)
    assert exchange(endpoint.url, HEALTH, end=True) == OK
