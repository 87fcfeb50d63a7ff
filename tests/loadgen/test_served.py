"""Before a run: an endpoint that does not answer is told from one that loads, and from one that wants a key."""

import json
import shutil
import ssl
import subprocess

import pytest

from caveat.errors import InputError
from caveat.loadgen import Endpoint, served_model, until_answering
from tests.loadgen.server import RESET, Server, whole

NEVER = "http://127.0.0.1:9"


def models(*names: str) -> bytes:
    return whole(json.dumps({"data": [{"id": name} for name in names]}).encode())


def answering(*answers: bytes) -> Server:
    """The answers in turn, the last one for ever."""
    return Server(lambda number, _: [answers[min(number, len(answers) - 1)]])


def at(server: Server, **more) -> Endpoint:
    return Endpoint(url=server.url, model="-", **more)


def test_the_only_model_that_is_served_needs_no_name():
    """As the server lists it."""
    with answering(models("m-1")) as server:
        assert served_model(at(server)) == "m-1"


@pytest.mark.parametrize(
    ("answer", "said", "next_step"),
    [
        (models("a", "b"), "lists 2 models", "one of a, b"),
        (models(), "lists 0 models", "--model NAME"),
        (models("x" * 500), "no plain text", "--model NAME"),
        (models("a\x1b[2J"), "no plain text", "--model NAME"),
        (whole(b"{", "200 OK"), "does not list its models", "--model NAME"),
        (whole(b"no", "404 Not Found"), "lists 0 models", "--model NAME"),
    ],
)
def test_where_the_model_is_not_plain_a_name_is_asked_for(answer, said, next_step):
    """None, several, or a name that nobody could write down."""
    with answering(answer) as server, pytest.raises(InputError, match=said) as caught:
        served_model(at(server))
    assert next_step in caught.value.next


def test_a_server_that_cannot_be_reached_is_said_to_be_so_at_once():
    """Before anything runs, with the address and what to do."""
    with pytest.raises(InputError, match=NEVER) as caught:
        until_answering(Endpoint(url=NEVER, model="m"))
    assert (caught.value.code, caught.value.exit_code) == ("unreachable", 4)
    assert "--wait" in caught.value.next


def test_a_server_that_loads_is_waited_for_if_one_asked_for_it():
    """503 passes by itself; without patience the way out is named."""
    loading = whole(b'{"error": "loading model"}', "503 Service Unavailable")
    pauses: list[float] = []
    with answering(loading, loading, models("m")) as server:
        with pytest.raises(InputError, match=r"503.*loading model") as caught:
            until_answering(at(server))
        until_answering(at(server), wait_s=60.0, pause=pauses.append)
    assert (caught.value.code, len(pauses), len(server.requests)) == ("not-ready", 1, 3)
    assert "--wait" in caught.value.next


def test_a_server_that_wants_a_key_is_not_waited_for_and_its_echo_hides_the_key():
    """Waiting gives nobody a key; what the server says back of ours is no message of ours."""
    with (
        answering(whole(b"no such key: sk-12345678", "401 Unauthorized")) as server,
        pytest.raises(InputError) as caught,
    ):
        until_answering(at(server, key_env="KEY"), wait_s=60.0, environ={"KEY": "sk-12345678"})
    assert (caught.value.code, len(server.requests)) == ("not-allowed", 1)
    assert "sk-12345678" not in caught.value.message
    assert "[hidden]" in caught.value.message
    assert "--key-env" in caught.value.next


def test_any_other_answer_is_one():
    """A server without that route can be measured."""
    with answering(whole(b"what?", "404 Not Found")) as server:
        until_answering(at(server))
    assert len(server.requests) == 1


def test_a_connection_that_breaks_is_an_answer_that_was_not_given():
    """No traceback."""
    with Server(lambda *_: [RESET]) as server, pytest.raises(InputError, match="cannot be reached"):
        until_answering(at(server))


def test_a_certificate_that_is_not_trusted_is_not_waited_for(tmp_path):
    """It will not pass by itself: the options that help are named, and both of them do."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    made = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run([openssl, *made.split(), *files], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with Server(lambda number, _: [models("m-1")], tls=tls) as server:
        with pytest.raises(InputError) as refusal:
            until_answering(at(server), wait_s=60.0, pause=pytest.fail)
        assert (refusal.value.code, "--ca-file" in refusal.value.next) == ("certificate", True)
        until_answering(at(server, ca_file=str(tmp_path / "cert.pem")))
        until_answering(at(server, verify=False))
