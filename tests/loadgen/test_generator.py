"""A plan against a real server: every request has its sample, whatever the server does."""

import asyncio
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterable

import numpy as np
import pytest

from caveat.errors import CaveatError, InputError, UsageError
from caveat.loadgen import CLASSES, Endpoint, HttpTarget, PromptSettings, Settings, WallClock
from tests.loadgen.plans import QUICK, Chains, Flat, Kept, offered
from tests.loadgen.server import (
    CLOSE,
    GOOD,
    HANG,
    LAST,
    RESET,
    STREAM,
    Server,
    Step,
    Wait,
    chunk,
    delta,
    finish,
    sse,
    stream,
    usage,
    whole,
)

LINE = b"data: " + b"x" * (10 << 20)

# class that the sample gets, and the steps of the server
FAULTS: dict[str, tuple[str | None, list[Step]]] = {
    "a good answer": (None, [GOOD]),
    "no [DONE] but a finish reason": (None, [stream(delta(content="a"), finish(), done=False)]),
    "[DONE] and no end of the body": (None, [STREAM, chunk(sse(delta(content="a"), "[DONE]")), CLOSE]),
    "an answer that ends with the connection": (
        None,
        [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + sse(delta(content="a"), "[DONE]"), CLOSE],
    ),
    "only a role and an end": (None, [stream(delta(role="assistant", content=None), finish("length"))]),
    "an announcement first": (None, [b"HTTP/1.1 100 Continue\r\n\r\n", GOOD]),
    "a reset before the first byte": ("reset-before-first-byte", [RESET]),
    "a close before the first byte": ("reset-before-first-byte", [CLOSE]),
    "a reset after the first token": ("reset-mid-stream", [STREAM + chunk(sse(delta(content="a"))), 0.05, RESET]),
    "a close after the first token": ("truncated", [STREAM + chunk(sse(delta(content="a"))), 0.02, CLOSE]),
    "a stream that just ends": ("truncated", [stream(delta(content="a"), done=False)]),
    "half an event at the end": ("truncated", [STREAM + chunk(b'data: {"choices":[]}') + LAST]),
    "too many requests": ("http-429", [whole(b'{"error":"slow down"}', "429 Too Many Requests")]),
    "a server error": ("http-500", [whole(b"<h1>oops</h1>", "500 Internal Server Error", "text/html")]),
    "a redirect": ("http-302", [b"HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n"]),
    "an event that is not JSON": ("malformed-sse", [STREAM + chunk(b"data: {oops\n\n") + LAST]),
    "an event of the wrong shape": ("malformed-sse", [stream({"choices": 5})]),
    "a count that cannot be": ("malformed-sse", [stream(usage(-1, 1 << 80))]),
    "an event nested without end": ("malformed-sse", [STREAM + chunk(b'data: {"error":' + b"[" * 200_000 + b"\n\n")]),
    "text that is not UTF-8": ("malformed-sse", [STREAM + chunk(b'data: {"choices":[{"finish_reason":"\xff"}]}\n\n')]),
    "not HTTP": ("malformed-http", [b"SSH-2.0-OpenSSH_9.9\r\n"]),
    "a head without end": ("too-large", [b"HTTP/1.1 200 OK\r\n", *[b"x: " + b"y" * 65_000 + b"\r\n"] * 6]),
    "a line of 10 MB": ("too-large", [STREAM + b"%x\r\n" % (len(LINE) + 2), LINE, b"\n\n\r\n", LAST]),
    "a stream of nothing": ("empty", [stream({"id": "x"}, usage(3, 0))]),
    "a stream that is none": ("not-a-stream", [whole(b'{"choices":[]}')]),
    "an error inside a stream": ("error-in-answer", [stream(delta(content="a"), {"error": {"message": "gone"}})]),
    "a stalled stream": ("stalled", [STREAM + chunk(sse(delta(content="a"))), HANG]),
    "a server that never answers": ("timeout", [HANG]),
}


@pytest.mark.parametrize(("error", "steps"), FAULTS.values(), ids=FAULTS.keys())
def test_whatever_a_server_does_becomes_a_sample_with_its_class(error, steps):
    """Nothing hangs, nothing is lost, and a good request goes through before and after."""
    settings = Settings(timeout_s=0.6, idle_s=0.3, connect_timeout_s=2.0)
    with Server(lambda number, _: steps if number == 2 else [GOOD]) as server:
        rows = offered(server.url, Flat(4, concurrency=1), settings=settings)
    assert [row["error_class"] for row in rows] == [None, None, error, None]
    assert (rows[2]["error_text"] is None) == (error is None)
    assert error is None or error in CLASSES or error.startswith("http-")
    assert all(row["ready_ns"] <= row["sent_ns"] <= row["end_ns"] for row in rows)


def test_a_server_that_closes_behind_each_answer_costs_connections_and_no_request():
    """It is found out at the first reuse: what it never read is sent again, and no connection is used twice after."""
    with Server(lambda *_: [GOOD, CLOSE]) as server:
        rows = offered(server.url, Flat(20, concurrency=4))
        assert len(server.requests) == 20
    assert {row["error_class"] for row in rows} == {None}
    assert [row["connected_ns"] is not None for row in rows].count(True) == 16


def test_where_connections_are_known_to_be_kept_one_that_closes_is_a_failure():
    """The server has kept one for a second request: nothing is sent twice after that."""
    with Server(lambda number, _: [CLOSE] if number in (2, 5) else [GOOD]) as server:
        rows = offered(server.url, Flat(8, concurrency=1))
        assert len(server.requests) == 8
    assert [row["request"] for row in rows if row["error_class"] == "reset-before-first-byte"] == [2, 5]


def test_a_sample_holds_the_times_and_counts_of_its_request():
    """Role-only chunks are no tokens, chunks are counted as chunks, and counts are the server's own."""
    details = {"prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 1}}
    steps: list[Step] = [
        STREAM + chunk(sse(delta(role="assistant", content=""))),
        0.03,
        chunk(sse(delta(reasoning_content="hm"))),
        0.03,
        chunk(sse(delta(content="a"), finish("length"), usage(12, 3, **details), "[DONE]")) + LAST,
    ]
    with Server(lambda *_: steps) as server:
        (row,) = offered(server.url, Flat(1), settings=Settings(chunk_times=True))
    times = [row[f"{name}_ns"] for name in ("ready", "sent", "first_byte", "first_token", "last_token", "end")]
    assert times == sorted(times) and row["scheduled_ns"] == row["ready_ns"] == 0
    assert row["first_token_ns"] - row["first_byte_ns"] > 10_000_000  # the role came 30 ms before the first token
    assert row["chunk_ns"] == [row["first_token_ns"], row["last_token_ns"]] and row["chunks"] == 2
    counts = ("input_tokens_usage", "output_tokens_usage", "cached_tokens_usage", "reasoning_tokens_usage")
    assert [row[name] for name in counts] == [12, 3, 5, 1]
    assert (row["input_tokens_wanted"], row["output_tokens_wanted"]) == (12, 3)
    assert (row["finish_reason"], row["phase"], row["connected_ns"]) == ("length", "measured", None)
    assert row["bytes"] == sum(len(step) for step in steps if isinstance(step, bytes))
    assert row["stall_ns"] >= 0 and row["output_tokens_client"] is None


def test_what_the_server_does_not_say_is_null_and_not_zero():
    """No usage, no token: unknown."""
    with Server(lambda *_: [stream(finish())]) as server:
        (row,) = offered(server.url, Flat(1))
    unknown = ("first_token_ns", "last_token_ns", "stall_ns", "input_tokens_usage", "output_tokens_usage", "session")
    assert [row[name] for name in unknown] == [None] * len(unknown)
    assert row["chunks"] == 0 and row["error_class"] is None


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-completions"])
def test_without_streaming_there_are_counts_and_no_token_times(dialect):
    """One answer, whole."""
    choice = {"message": {"content": "a b"}, "text": "a b", "finish_reason": "stop"}
    body = (
        b'{"choices":[%s],"usage":{"prompt_tokens":4,"completion_tokens":2}}' % str(choice).replace("'", '"').encode()
    )
    with Server(lambda *_: [whole(body)]) as server:
        (row,) = offered(server.url, Flat(1), dialect=dialect, stream=False)
        (sent,) = server.bodies()
    assert sent["stream"] is False and "stream_options" not in sent
    assert (row["output_tokens_usage"], row["finish_reason"], row["error_class"]) == (2, "stop", None)
    assert (row["first_token_ns"], row["chunks"]) == (None, None) and row["first_byte_ns"] <= row["end_ns"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"choices":[{}]}', b'{"error":"no"}'])
def test_a_whole_answer_that_is_none_is_a_failure(body):
    """Not JSON, not an object, no choices, no message; or an error that says 200."""
    with Server(lambda *_: [whole(body)]) as server:
        (row,) = offered(server.url, Flat(1), stream=False)
    assert row["error_class"] == ("error-in-answer" if b"error" in body else "malformed-json")


def test_a_refused_connection_is_a_sample_that_was_never_sent():
    """Open loop: each at its time. Closed loop: the place rests, and the plan ends."""
    with Server(lambda *_: [GOOD]) as server:
        port = server.port
    for plan in (Flat(3, gap_ns=1_000_000), Flat(3, concurrency=2)):
        rows = offered(f"http://127.0.0.1:{port}", plan)
        assert {row["error_class"] for row in rows} == {"refused"}
        assert {row["sent_ns"] for row in rows} == {None} and all(row["end_ns"] >= row["ready_ns"] for row in rows)


def test_a_name_that_does_not_resolve_is_a_sample_too():
    """The top-level domain `invalid` is kept free for this."""
    (row,) = offered("http://no-such-host.invalid:9", Flat(1))
    assert row["error_class"] == "dns"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that nobody has signed, and the server's side of it."""
    folder = tmp_path_factory.mktemp("tls")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    subprocess.run([openssl, *made.split()[1:], "-keyout", folder / "key", "-out", folder / "cert"], check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return folder / "cert", context


def test_tls_is_spoken_and_its_failure_has_a_class_of_its_own(certificate):
    """An unknown certificate is refused, unless it is given or checking is switched off; connections are kept."""
    path, context = certificate
    with Server(lambda *_: [GOOD], tls=context) as server:
        refused = offered(server.url, Flat(2, concurrency=1))
        assert server.connections == 0
        trusted = offered(server.url, Flat(3, concurrency=1), ca_file=str(path))
        assert server.connections == 1
        unchecked = offered(server.url, Flat(1), verify=False)
    assert [row["error_class"] for row in refused + trusted + unchecked] == ["tls"] * 2 + [None] * 4


def test_an_open_loop_sends_what_is_due_whatever_has_not_been_answered():
    """The server answers nobody until all have come. Each latency counts its whole wait, from when it was due."""
    gate = asyncio.Event()
    opened: list[int] = []

    def answer(number: int, _: bytes) -> Iterable[Step]:
        if number == 19:
            opened.append(time.monotonic_ns())
            gate.set()
        return [Wait(gate), GOOD]

    clock = WallClock()
    sink = Kept()
    with Server(answer) as server:
        plan = Flat(20, gap_ns=5_000_000)
        HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK).offer(plan, sink, clock)
    rows = sink.rows()
    assert [row["scheduled_ns"] for row in rows] == [5_000_000 * number for number in range(20)]
    assert [row["ready_ns"] for row in rows] == [row["scheduled_ns"] for row in rows]
    assert all(row["sent_ns"] >= row["scheduled_ns"] for row in rows), "never early"
    assert clock.start_ns is not None
    opened_ns = opened[0] - clock.start_ns
    assert all(row["first_token_ns"] >= opened_ns for row in rows)
    assert rows[0]["first_token_ns"] - rows[0]["ready_ns"] >= 95_000_000, "the first waited for the nineteenth after it"


def test_a_closed_loop_keeps_exactly_as_many_in_flight_as_were_asked_for():
    """Four always, never five: the server lets go only when four are there."""
    gates = [asyncio.Event() for _ in range(6)]

    def answer(number: int, _: bytes) -> Iterable[Step]:
        if number % 4 == 3:
            gates[number // 4].set()
        return [Wait(gates[number // 4]), GOOD]

    with Server(answer) as server:
        rows = offered(server.url, Flat(24, concurrency=4))
        assert (server.in_flight_most, server.connections) == (4, 4)
    assert {row["error_class"] for row in rows} == {None}
    assert {row["scheduled_ns"] for row in rows} == {None}


def test_a_turn_is_sent_after_the_turn_before_it_and_its_thinking():
    """Ready is the end of the one before plus the think time; that turns fail does not stop a conversation."""
    think_ns = 10_000_000
    with Server(lambda number, _: [whole(b"", "500 No")] if number == 0 else [GOOD]) as server:
        rows = offered(server.url, Chains(sessions=3, turns=3, think_ns=think_ns))
    for row in rows[3:]:
        before = rows[row["request"] - 3]
        assert row["ready_ns"] == before["end_ns"] + think_ns <= row["sent_ns"]
        assert (row["session"], row["turn"]) == (before["session"], before["turn"] + 1)


def test_in_a_closed_loop_a_conversation_goes_on_before_a_new_one_begins():
    """One place: the turns of a conversation follow each other."""
    with Server(lambda *_: [GOOD]) as server:
        rows = offered(server.url, Chains(sessions=3, turns=3, concurrency=1))
    order = [row["session"] for row in sorted(rows, key=lambda row: row["sent_ns"])]
    assert order == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_connections_are_used_again_and_new_ones_are_said():
    """One after the other needs one; a server that closes needs one each, and those are marked."""
    with Server(lambda *_: [GOOD]) as server:
        rows = offered(server.url, Flat(5, concurrency=1))
        assert server.connections == 1 and {row["connected_ns"] for row in rows} == {None}
    closing = GOOD.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)
    with Server(lambda *_: [closing, CLOSE]) as server:
        rows = offered(server.url, Flat(5, concurrency=1))
        assert server.connections == 5
    assert [row["connected_ns"] is None for row in rows] == [True, False, False, False, False]
    assert all(row["ready_ns"] <= row["connected_ns"] <= row["sent_ns"] for row in rows[1:])


def test_bytes_after_an_answer_are_never_taken_for_the_next_one():
    """A server that sends two answers to one question loses its connection."""
    with Server(lambda *_: [GOOD + GOOD.replace(b"stop", b"evil")]) as server:
        rows = offered(server.url, Flat(4, concurrency=1))
        assert server.connections == 4
    assert {row["finish_reason"] for row in rows} == {"stop"}


def test_cancelling_stops_feeding_and_drains_what_is_in_flight():
    """What was answered in time is a sample of the drain, what was not is cancelled; the rest was never sent."""

    class Cancel:
        asked = threading.Event()

        def requested(self) -> bool:
            return self.asked.is_set()

    def answer(number: int, _: bytes) -> Iterable[Step]:
        if number == 3:
            Cancel.asked.set()
        return [GOOD] if number < 2 else [0.2, GOOD] if number == 2 else [HANG]

    with Server(answer) as server:
        settings = Settings(drain_s=0.5)
        rows = offered(server.url, Flat(1000, concurrency=2), settings=settings, cancel=Cancel())
    assert [row["error_class"] for row in rows] == [None, None, None, "cancelled"]
    assert [row["phase"] for row in rows] == ["measured", "measured", "drain", "drain"]


def test_requests_that_are_ready_within_the_warm_up_are_marked():
    """By when they were due, not by when they ended."""
    with Server(lambda *_: [GOOD]) as server:
        rows = offered(server.url, Flat(4, gap_ns=20_000_000), settings=Settings(warmup_s=0.03))
    assert [row["phase"] for row in rows] == ["warmup", "warmup", "measured", "measured"]


def test_a_sink_that_fails_ends_the_run_with_its_error():
    """The disk is full: no point in going on."""

    class Full(Kept):
        def take(self, batch):
            raise OSError("no space left on device")

    sink = Full()
    with Server(lambda *_: [GOOD]) as server, pytest.raises(OSError, match="no space left"):
        HttpTarget(Endpoint(url=server.url, model="m")).offer(Flat(100_000, gap_ns=10_000_000), sink, WallClock())
    assert sink.closed == 1


@pytest.mark.parametrize("processes", [1, 2])
def test_a_plan_that_fails_ends_the_run_with_its_error(processes):
    """A trace that cannot be read to its end, say."""

    class Broken(Flat):
        def blocks(self):
            yield from super().blocks()
            raise InputError("trace.jsonl: line 4: found }")

    sink = Kept()
    with Server(lambda *_: [GOOD]) as server, pytest.raises(InputError, match="line 4"):
        HttpTarget(Endpoint(url=server.url, model="m"), processes=processes).offer(Broken(9), sink, WallClock())
    assert sink.closed == 1


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch):
    """Not even where the server repeats it in an error."""
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    with Server(lambda _, request: [whole(request, "401 Unauthorized")]) as server:
        rows = offered(server.url, Flat(1), key_env="SOME_KEY", headers={"x-api-key": "other-secret"})
        assert b"authorization: Bearer sk-very-secret\r\n" in server.requests[0]
    assert rows[0]["error_class"] == "http-401"
    assert "[hidden]" in rows[0]["error_text"] and "secret" not in str(rows).replace("[hidden]", "")


def test_several_processes_make_one_run():
    """Each request once, conversations whole, one start for all."""
    with Server(lambda *_: [GOOD]) as server:
        rows = offered(server.url, Flat(60, gap_ns=2_000_000), processes=2)
        assert [row["ready_ns"] for row in rows] == [2_000_000 * number for number in range(60)]
        assert all(row["sent_ns"] - row["ready_ns"] >= 0 for row in rows)
        rows = offered(server.url, Chains(sessions=4, turns=2, concurrency=3), processes=3)
        assert all(rows[n]["ready_ns"] >= rows[n - 4]["end_ns"] for n in range(4, 8))
    assert {row["error_class"] for row in rows} == {None}


def test_a_process_that_cannot_work_ends_the_run_with_its_reason(tmp_path):
    """The tokenizer file is missing: the error comes from the other side as it is."""
    target = HttpTarget(
        Endpoint(url="http://127.0.0.1:9", model="m"),
        processes=2,
        prompts=PromptSettings(tokenizer_file=str(tmp_path / "none.json")),
    )
    with pytest.raises(CaveatError, match="tokenizer"):
        target.offer(Flat(3), Kept(), WallClock())


def test_after_an_offer_the_target_knows_how_its_client_was():
    """Requests, connections and lateness."""
    with Server(lambda *_: [GOOD]) as server:
        target = HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK)
        target.offer(Flat(20, gap_ns=1_000_000), Kept(), WallClock())
    health = target.health
    assert health is not None
    assert (health.processes, health.requests, health.failed, health.client_limit_errors) == (1, 20, 0, 0)
    assert health.late_p50_s is not None and 0 <= health.late_p50_s <= health.late_max_s
    assert health.cpu_s > 0 and health.file_descriptor_limit > 0


def test_several_processes_say_how_many_are_in_flight_in_all_of_them():
    """Also while nothing ends. The server lets go when all four were heard of."""
    gate = asyncio.Event()
    heard: set[int | None] = set()
    over = threading.Event()

    def listen(loop: asyncio.AbstractEventLoop) -> None:
        try:
            until_s = time.monotonic() + 20
            while 4 not in heard and time.monotonic() < until_s and not over.wait(0.02):
                heard.add(target.in_flight())
        finally:
            loop.call_soon_threadsafe(gate.set)

    with Server(lambda *_: [Wait(gate), GOOD]) as server:
        target = HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK, processes=2)
        listener = threading.Thread(target=listen, args=(server.loop,))
        listener.start()
        target.offer(Flat(4, concurrency=4), Kept(), WallClock())
        over.set()
        listener.join()
    assert None in heard and 4 in heard
    assert target.in_flight() == 0


def test_how_many_are_in_flight_can_be_asked_while_the_run_goes():
    """By a live view in another thread. The server lets go when it has heard that three are under way."""
    gate = asyncio.Event()
    heard: list[int | None] = []

    def answer(number: int, _: bytes) -> Iterable[Step]:
        if number == 2:
            heard.append(target.in_flight())
            gate.set()
        return [Wait(gate), GOOD]

    with Server(answer) as server:
        target = HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK)
        assert target.in_flight() is None
        target.offer(Flat(3, concurrency=3), Kept(), WallClock())
    assert (heard, target.in_flight()) == ([3], 0)


def test_the_clock_runs_from_the_common_start():
    """A live view reads it from another thread."""
    clock = WallClock()
    assert clock.now_ns() == 0
    with Server(lambda *_: [GOOD]) as server:
        HttpTarget(Endpoint(url=server.url, model="m")).offer(Flat(1), Kept(), clock)
    assert clock.now_ns() > 0


def test_a_clock_that_runs_already_makes_late_what_is_late():
    """A second has gone by: what was due at 0 is sent at once, and its sample says how late."""

    class Running:
        began_ns = time.monotonic_ns() - 1_000_000_000

        def now_ns(self) -> int:
            return time.monotonic_ns() - self.began_ns

    sink = Kept()
    with Server(lambda *_: [GOOD]) as server:
        HttpTarget(Endpoint(url=server.url, model="m")).offer(Flat(1), sink, Running())
    (row,) = sink.rows()
    assert row["ready_ns"] == 0 and row["sent_ns"] >= 1_000_000_000


@pytest.mark.parametrize(
    ("options", "found"),
    [({"processes": 0}, "processes"), ({"environ": {"HTTP_PROXY": "http://proxy:3128"}}, "HTTP_PROXY")],
)
def test_a_target_that_cannot_be_right_is_refused(options, found):
    """Before anything is sent."""
    with pytest.raises(UsageError, match=found):
        HttpTarget(Endpoint(url="http://example.org", model="m"), **options)


def test_prompts_in_the_bodies_are_those_of_the_plan():
    """As many words as tokens were wanted, all different at the start, the wanted answer length beside them."""
    with Server(lambda *_: [GOOD]) as server:
        offered(server.url, Flat(5, concurrency=1), prompts=PromptSettings(salt=3))
        bodies = server.bodies()
    prompts = [body["messages"][0]["content"].split() for body in bodies]
    assert [len(words) for words in prompts] == [12] * 5
    assert len({tuple(words[:5]) for words in prompts}) == 5 and len({tuple(words[:4]) for words in prompts}) == 1
    assert {body["max_tokens"] for body in bodies} == {body["min_tokens"] for body in bodies} == {3}


def test_samples_reach_the_sink_while_the_run_goes():
    """A run that is killed keeps what it had: a batch comes before the last request is answered."""
    gate = asyncio.Event()
    early = threading.Event()

    class Watching(Kept):
        def take(self, batch):
            super().take(batch)
            early.set()
            server.loop.call_soon_threadsafe(gate.set)

    sink = Watching()
    with Server(lambda number, _: [GOOD] if number < 3 else [Wait(gate), GOOD]) as server:
        HttpTarget(Endpoint(url=server.url, model="m"), settings=QUICK).offer(Flat(4, concurrency=1), sink, WallClock())
    assert early.is_set() and [len(batch) for batch in sink.batches] == [3, 1]
    assert np.all([row["error_class"] is None for row in sink.rows()])
