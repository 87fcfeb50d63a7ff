"""The bytes of a request are HTTP and JSON, and say what was asked for."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.loadgen import Decoding, Endpoint
from caveat.loadgen.body import RequestBytes, escaped


def parsed(request: bytes) -> tuple[str, dict[str, str], dict[str, Any]]:
    head, _, body = request.partition(b"\r\n\r\n")
    line, *headers = head.decode("latin-1").split("\r\n")
    return line, dict(header.split(": ", 1) for header in headers), json.loads(body)


def made(
    prompt: str, tokens: int, decoding: Decoding | None = None, **fields
) -> tuple[str, dict[str, str], dict[str, Any]]:
    endpoint = Endpoint(**{"url": "http://host:8000/base/v1/", "model": "m", **fields})
    request = RequestBytes(endpoint, decoding or Decoding(), {"KEY": "sk-1"}).make(escaped(prompt), tokens)
    line, headers, body = parsed(request)
    assert int(headers["content-length"]) == len(request.partition(b"\r\n\r\n")[2])
    return line, headers, body


def test_a_chat_request_is_whole():
    """Every header and field."""
    line, headers, body = made("hello", 9, key_env="KEY", headers={"X-Team": "a"}, extra_body={"top_k": 1})
    assert line == "POST /base/v1/chat/completions HTTP/1.1"
    assert headers.pop("content-length")
    assert headers == {
        "host": "host:8000",
        "user-agent": "caveat",
        "accept": "text/event-stream",
        "content-type": "application/json",
        "authorization": "Bearer sk-1",
        "x-team": "a",
    }
    assert body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 9,
        "min_tokens": 9,
        "ignore_eos": True,
        "temperature": 0.0,
        "top_k": 1,
    }


@pytest.mark.parametrize(
    ("decoding", "fields"),
    [
        (Decoding(limit_field=None, exact_length=False), {"temperature": 0.0}),
        (
            Decoding(limit_field="max_completion_tokens", exact_length=False, temperature=None),
            {"max_completion_tokens": 5},
        ),
        (Decoding(exact_length=False, temperature=0.7, seed=3), {"max_tokens": 5, "temperature": 0.7, "seed": 3}),
    ],
)
def test_how_the_server_generates_is_said_in_the_body(decoding, fields):
    """No length, the newer name of the limit, sampling with a seed."""
    _, _, body = made("p", 5, decoding, dialect="openai-completions", stream=False)
    assert body == {"model": "m", "stream": False, "prompt": "p", **fields}


@given(prompt=st.text(max_size=60), tokens=st.integers(0, 10**6))
def test_any_prompt_arrives_as_it_is(prompt, tokens):
    """Quotes, control characters, emoji, the mark of the gap itself, and numbers that look like lengths."""
    _, _, body = made(prompt, tokens, extra_body={"note": "987654321987654321 \x00prompt\x00"})
    assert body["messages"][0]["content"] == prompt and body["max_tokens"] == body["min_tokens"] == tokens
    assert body["note"] == "987654321987654321 \x00prompt\x00"


@pytest.mark.parametrize("field", ["max_tokens", "stream", "messages", "temperature", "ignore_eos"])
def test_extra_fields_do_not_overrule_the_plan(field):
    """Else the conditions would say one thing and the server would do another."""
    with pytest.raises(UsageError, match=field):
        made("p", 1, extra_body={field: 1})


@pytest.mark.parametrize("wrong", [{"limit_field": "n_predict"}, {"limit_field": None}])
def test_a_decoding_that_makes_no_sense_is_refused(wrong):
    """An unknown field, or an exact length without one."""
    with pytest.raises(UsageError, match=r"decoding"):
        Decoding(**wrong)


def test_a_decoding_is_described_for_the_conditions():
    """In a few words."""
    assert Decoding().describe() == "temperature 0, exact length asked for"
    assert Decoding(temperature=None, exact_length=False, seed=1).describe() == "server's temperature, seed 1"


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_a_temperature_that_cannot_be_is_refused(temperature):
    """JSON has no word for two of them."""
    with pytest.raises(UsageError, match="temperature: found"):
        Decoding(temperature=temperature)
