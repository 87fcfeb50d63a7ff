"""An endpoint names its key and never holds it."""

import msgspec
import pytest

from caveat.errors import InputError, UsageError
from caveat.loadgen import Endpoint


def test_a_description_has_no_secret_in_it():
    """No key, no value of a header; what matters to the figures is there."""
    endpoint = Endpoint(
        url="https://host/v1",
        model="m",
        key_env="KEY",
        headers={"X-Token": "hush", "X-Team": "blue"},
        extra_body={"top_k": 5},
        verify=False,
    )
    assert endpoint.describe() == {
        "url": "https://host/v1",
        "model": "m",
        "dialect": "openai-chat",
        "streaming": "true",
        "key": "from $KEY",
        "headers": "x-team: [hidden], x-token: [hidden]",
        "extra_body": '{"top_k":5}',
        "certificate": "not verified",
    }
    assert endpoint.secrets({"KEY": "sk-1"}) == ("sk-1", "hush")
    assert b"sk-1" not in msgspec.json.encode(endpoint)


@pytest.mark.parametrize("environ", [{}, {"KEY": " "}])
def test_a_key_that_is_not_in_the_environment_is_named(environ):
    """The name, and how to set it."""
    with pytest.raises(InputError, match="no KEY") as caught:
        Endpoint(url="http://h", model="m", key_env="KEY").key(environ)
    assert caught.value.next == "export KEY=…"


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "host:8000"},
        {"url": "ftp://host"},
        {"url": "http://user:word@host"},
        {"url": "http://host?x=1"},
        {"url": "http://host:99999"},
        {"url": "http://host/a b"},
        {"headers": {"Content-Length": "1"}},
        {"headers": {"x y": "1"}},
        {"headers": {"x": "1\r\nhost: other"}},
        {"headers": {"x": "☃"}},
        {"headers": {"Authorization": "Bearer x"}, "key_env": "KEY"},
    ],
)
def test_an_endpoint_that_cannot_be_asked_is_refused(wrong):
    """Before anything is sent; header values that end a line above all."""
    with pytest.raises(UsageError, match="endpoint"):
        Endpoint(**{"url": "http://host", "model": "m", **wrong})


def test_a_key_with_a_line_end_is_refused_without_being_shown():
    """Else it would end the header; and an error is no place for it."""
    with pytest.raises(UsageError) as caught:
        Endpoint(url="http://h", model="m", key_env="KEY").key({"KEY": "sk-1\r\nx: y"})
    assert "sk-1" not in caught.value.message
