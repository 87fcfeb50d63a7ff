"""What counts as a token in a chat stream, told by the typed decoder as a full reading would tell it."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.openai_chat import CHAT

TEXTS = st.none() | st.text(max_size=8) | st.just("")
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": TEXTS,
        "reasoning_content": TEXTS,
        "reasoning": TEXTS,
        "tool_calls": st.none()
        | st.lists(st.just({"index": 0, "function": {"arguments": '{"content":"x"'}}), max_size=1),
        "other": st.just({"content": "not this one"}),
    },
)
CHOICES = st.lists(
    st.fixed_dictionaries({"index": st.just(0), "delta": DELTAS, "finish_reason": st.none() | st.just("stop")}),
    max_size=2,
)
KEYS = ("content", "reasoning_content", "reasoning", "tool_calls")


@given(choices=CHOICES, decoy=st.sampled_from(['"content":"x"', "{}", ""]), ascii_only=st.booleans())
def test_a_token_is_told_as_by_reading_the_whole_event(choices, decoy, ascii_only):
    """Also where texts look like JSON, where fields of other objects bear the names, and in any spelling."""
    event = {"id": decoy, "choices": choices, "meta": {"delta": {"content": decoy}}}
    expected = any(choice["delta"].get(key) for choice in choices for key in KEYS)
    answer = CHAT.event(json.dumps(event, ensure_ascii=ascii_only).encode())
    assert CHAT.says(answer) == expected
    assert [choice.finish_reason for choice in answer.choices] == [choice["finish_reason"] for choice in choices]


@pytest.mark.parametrize(
    ("event", "says", "text"),
    [
        ('{"choices":[{"delta":{"role":"assistant","content":""}}]}', False, ""),
        ('{"choices":[{"delta":{"role":"assistant","content":null}}]}', False, ""),
        ('{"choices":[{"delta":{"content":[{"type":"text","text":"part"}]}}]}', True, "part"),
        ('{"choices":[{"delta":{"reasoning":"why"}}]}', True, "why"),
        ('{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}', True, ""),
        ('{"choices":[{"delta":{"refusal":"no"}}]}', True, "no"),
        ('{"choices":[{"delta":null,"finish_reason":"stop"}]}', False, ""),
        ('{"choices":[],"usage":{"prompt_tokens":1}}', False, ""),
        ('{"choices":null}', False, ""),
    ],
)
def test_events_of_real_servers(event, says, text):
    """Role-only, null and empty first chunks, parts, reasoning under both names, tools, the last ones."""
    answer = CHAT.event(event.encode())
    assert (CHAT.says(answer), CHAT.text(answer)) == (says, text)


@pytest.mark.parametrize("event", ["[]", "5", '{"choices":{}}', '{"choices":[{"delta":{"content":5}}]}', "{"])
def test_an_event_of_another_shape_is_malformed(event):
    """Not guessed at."""
    with pytest.raises(msgspec.MsgspecError):
        CHAT.event(event.encode())


def test_a_whole_answer_needs_a_message():
    """And gives its text."""
    answer = CHAT.whole(b'{"choices":[{"message":{"content":"all"},"finish_reason":"stop"}]}')
    assert (CHAT.says(answer), CHAT.text(answer)) == (True, "all")
    with pytest.raises(msgspec.MsgspecError):
        CHAT.whole(b'{"choices":[{"delta":{"content":"all"}}]}')
