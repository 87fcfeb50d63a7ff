"""Starting and stopping: in a thread, in the foreground, in a process; and who may be let in."""

import socket
import threading

import pytest

import caveat.loopback
from caveat.errors import InputError, UsageError
from caveat.loopback import Behaviour, Fixed, Loopback, run, start_process
from tests.loopback.client import chat, chat_body, connect, get, read_to_end, request_bytes


def test_what_the_room_offers_is_there():
    """Sorted, each of it importable."""
    assert caveat.loopback.__all__ == sorted(caveat.loopback.__all__)
    assert all(hasattr(caveat.loopback, name) for name in caveat.loopback.__all__)


def test_two_endpoints_live_side_by_side():
    """Each with its own port, behaviour and numbers."""
    with Loopback(Behaviour(model="one")).start() as one, Loopback(Behaviour(model="two")).start() as two:
        assert chat(one.url).json["model"] == "one"
        assert chat(two.url).json["model"] == "two"
        assert [len(one.log()), len(two.log())] == [1, 1]


def test_an_endpoint_that_was_stopped_is_gone():
    """Requests under way are reset, the port is free, and stopping again is no error."""
    running = Loopback(Behaviour(ttft_s=Fixed(600.0))).start()
    with connect(running.url) as client:
        client.sendall(request_bytes(chat_body()))
        assert get(running.url, "/health").status == 200
        running.stop()
        with pytest.raises(ConnectionResetError):
            read_to_end(client)
    running.stop()
    with pytest.raises(ConnectionRefusedError):
        get(running.url, "/health")


def test_a_port_can_be_taken_again_at_once():
    """After whoever had it."""
    with Loopback().start() as first:
        assert chat(first.url).status == 200
        port = int(first.url.rpartition(":")[2])
    with Loopback().start(port=port) as second:
        assert (second.url, chat(second.url).status) == (first.url, 200)


def test_a_port_that_is_taken_is_refused():
    """With the address and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"http://127.0.0.1:{port}") as refusal:
            Loopback().start(port=port)
        assert "port" in refusal.value.next
        with pytest.raises(InputError, match=f"http://127.0.0.1:{port}"):
            start_process(port=port)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "example.org", ""])
def test_an_address_that_others_reach_is_refused(host):
    """Unless somebody insists; a name is never looked up."""
    with pytest.raises(UsageError, match="host"):
        Loopback().start(host)
    with pytest.raises(UsageError, match="host"):
        run(Behaviour(), host)


def test_the_foreground_serves_until_it_is_told_to_stop():
    """Here on any address of the machine, since somebody insisted."""
    seen = []

    def ready(url, stop):
        def use():
            seen.append(get(url.replace("0.0.0.0", "127.0.0.1"), "/health").status)
            stop()

        threading.Thread(target=use).start()

    run(Behaviour(), "0.0.0.0", 0, exposed=True, ready=ready)
    assert seen == [200]


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_the_address_may_be_of_version_six():
    """And the URL is written as one."""
    try:
        running = Loopback().start("::1")
    except InputError:
        pytest.skip("no IPv6 address here")
    with running:
        assert running.url.startswith("http://[::1]:")
        with connect(running.url) as client:
            client.sendall(request_bytes(chat_body(), "/v1/chat/completions", "connection: close"))
            assert read_to_end(client).startswith(b"HTTP/1.1 200 OK")


def test_a_process_serves_and_ends():
    """It behaves as it was told, and no connection outlives it."""
    with start_process(Behaviour(model="tiny", ttft_s=Fixed(0.01))) as process:
        assert chat(process.url).json["model"] == "tiny"
        assert b'"first_due_ns"' in get(process.url, "/loopback/log").body
    process.stop()
    with pytest.raises(ConnectionRefusedError):
        get(process.url, "/health")
