"""Requests: what they ask for, how long the answer is going to be, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loopback import Behaviour, Fixed
from caveat.loopback.asked import Asked, read_asked
from caveat.loopback.wire import ApiError
from tests.loopback.client import chat_body


def read(body, chat=True, **behaviour):
    return read_asked(json.dumps(body).encode(), chat, 0, Behaviour(**behaviour))


@pytest.mark.parametrize(
    ("own", "asked", "length"),
    [
        (None, {}, (16, "stop")),
        (None, {"max_tokens": 5}, (5, "length")),
        (None, {"max_completion_tokens": 5, "max_tokens": 9}, (5, "length")),
        (None, {"min_tokens": 40}, (40, "stop")),
        (None, {"ignore_eos": True}, (16, "stop")),
        (10, {}, (10, "stop")),
        (10, {"max_tokens": 10}, (10, "length")),
        (10, {"max_tokens": 11}, (10, "stop")),
        (10, {"max_tokens": 5}, (5, "length")),
        (10, {"min_tokens": 12, "max_tokens": 20}, (12, "stop")),
        (10, {"max_tokens": 20, "ignore_eos": True}, (20, "length")),
        (10, {"ignore_eos": True}, (10, "stop")),
        (0.2, {}, (1, "stop")),
    ],
)
def test_the_length_follows_from_the_request_and_the_answers_own_length(own, asked, length):
    """min_tokens raises, max_tokens cuts, ignore_eos goes on to max_tokens."""
    behaviour = {} if own is None else {"output_tokens": Fixed(own)}
    found = read(chat_body(**asked), **behaviour)
    assert (found.output_tokens, found.finish_reason) == length


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("one two", ["one", "two"]),
        (["one two", "three"], ["one", "two", "three"]),
        ([17, 4, 17], [17, 4, 17]),
        ("", []),
    ],
)
def test_a_text_prompt_is_text_or_texts_or_token_ids(prompt, words):
    """An id is a token."""
    assert read({"prompt": prompt}, chat=False).words == words


def test_a_chat_prompt_is_the_text_of_all_its_messages():
    """Parts that are not text, roles and unknown members do not count."""
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "what is"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": "this"},
    ]
    found = read({"messages": messages, "temperature": 0, "model": "any"})
    assert found.words == ["be", "brief", "what", "is", "this"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, None),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"content": 5}]}, "messages"),
        (chat_body(max_tokens=0), "max_tokens"),
        (chat_body(max_tokens="ten"), "max_tokens"),
        (chat_body(min_tokens=-1), "min_tokens"),
        (chat_body(min_tokens=9, max_tokens=3), "min_tokens"),
        (chat_body(n=2), "n"),
        (chat_body(stream="yes"), "stream"),
        (chat_body(max_tokens=10**6), "messages"),
    ],
)
def test_what_cannot_be_served_is_refused_with_the_member_it_is_about(body, param):
    """As a 400 with a message."""
    refusal = read(body)
    assert isinstance(refusal, ApiError)
    assert (refusal.status, refusal.param) == (400, param)
    assert refusal.message


@given(st.binary(max_size=60) | st.from_regex(rb'\{"messages":.{0,30}', fullmatch=True))
def test_no_bytes_at_all_are_an_accident(body):
    """Whatever comes is a request or a refusal."""
    assert isinstance(read_asked(body, True, 0, Behaviour()), Asked | ApiError)


def test_brackets_without_end_are_refused():
    """And do not end the server."""
    assert isinstance(read_asked(b'{"messages":' + b"[" * 100_000, True, 0, Behaviour()), ApiError)
    assert isinstance(read_asked(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", True, 0, Behaviour()), ApiError)
