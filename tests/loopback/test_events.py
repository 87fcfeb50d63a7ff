"""Events: every byte of a small answer, the usage variants, and that stream and body say the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loopback import answer_words
from caveat.loopback.events import Shape, body, events, framed, numbered
from caveat.loopback.wire import frame

PLAIN = Shape(
    model="tiny",
    created=1_800_000_000,
    chat=True,
    prompt_tokens=3,
    cached_tokens=None,
    output_tokens=2,
    finish_reason="length",
    usage="own-chunk",
    first_chunk="plain",
    reasoning_field="reasoning_content",
    reasoning_tokens=0,
    tool_call_tokens=0,
)
START = 'data: {"id":"chatcmpl-000000000007","object":"chat.completion.chunk","created":1800000000,"model":"tiny",'
FIRST = START + '"choices":[{"index":0,"delta":{"role":"assistant","content":"alpha"},"finish_reason":null}]}\n\n'
SECOND = START + '"choices":[{"index":0,"delta":{"content":" beta"},"finish_reason":null}]}\n\n'
END = START + '"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}\n\n'
USAGE = START + '"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n'
DONE = "data: [DONE]\n\n"


@st.composite
def shapes(draw):
    tokens = draw(st.integers(1, 40))
    reasoning = draw(st.integers(0, tokens)) if (chat := draw(st.booleans())) else 0
    return PLAIN._replace(
        chat=chat,
        output_tokens=tokens,
        reasoning_tokens=reasoning,
        tool_call_tokens=draw(st.integers(0, tokens - reasoning)) if chat else 0,
        reasoning_field=draw(st.sampled_from(["reasoning_content", "reasoning"])),
        first_chunk=draw(st.sampled_from(["plain", "role", "null-content"])),
        usage=draw(st.sampled_from(["own-chunk", "with-choices", "continuous", "never"])),
        cached_tokens=draw(st.sampled_from([None, 0, 16])),
    )


@st.composite
def cut_answers(draw):
    """A shape and the writes in which its tokens leave."""
    shape = draw(shapes())
    cuts = sorted(draw(st.sets(st.integers(1, shape.output_tokens - 1), max_size=5))) if shape.output_tokens > 1 else []
    return shape, list(zip([0, *cuts], [*cuts, shape.output_tokens], strict=True))


def stream(shape, spans, each=None):
    data = b"".join(b"".join(events(shape, low, high, each or high - low)) for low, high in spans)
    return numbered(data, 7)


def read(data):
    *parts, done, rest = data.split(b"\n\n")
    assert (done, rest) == (b"data: [DONE]", b"")
    return [json.loads(part.removeprefix(b"data: ")) for part in parts]


def joined(shape, records, name):
    """The text of one field over all events."""
    choices = [record["choices"][0] for record in records if record["choices"]]
    if not shape.chat:
        return "".join(choice["text"] for choice in choices)
    if name == "tool_calls":
        calls = [choice["delta"][name][0] for choice in choices if name in choice["delta"]]
        return "".join(call["function"]["arguments"] for call in calls)
    return "".join(choice["delta"].get(name) or "" for choice in choices)


def test_a_stream_byte_by_byte():
    """Two tokens, then the finish reason, the usage and the end."""
    assert stream(PLAIN, [(0, 1), (1, 2)]).decode() == FIRST + SECOND + END + USAGE + DONE


def test_a_text_stream_byte_by_byte():
    """Its own words for the same things."""
    start = 'data: {"id":"cmpl-000000000007","object":"text_completion","created":1800000000,"model":"tiny",'
    assert stream(PLAIN._replace(chat=False, usage="with-choices"), [(0, 2)]).decode() == (
        start + '"choices":[{"index":0,"text":"alpha beta","finish_reason":null}]}\n\n'
        + start + '"choices":[{"index":0,"text":"","finish_reason":"length"}],'
        '"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n' + DONE
    )  # fmt: skip


@pytest.mark.parametrize(("first_chunk", "content"), [("role", '""'), ("null-content", "null")])
def test_a_chunk_without_tokens_may_come_first(first_chunk, content):
    """With the role, and with empty or null content."""
    opening = START + '"choices":[{"index":0,"delta":{"role":"assistant","content":' + content
    data = stream(PLAIN._replace(first_chunk=first_chunk), [(0, 1), (1, 2)]).decode()
    second = FIRST.replace('"role":"assistant",', "")
    assert data == opening + '},"finish_reason":null}]}\n\n' + second + SECOND + END + USAGE + DONE


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("own-chunk", [None, None, None, 2]),
        ("with-choices", [None, None, 2]),
        ("continuous", [1, 2, 2, 2]),
        ("never", [None, None, None]),
    ],
)
def test_usage_is_told_in_each_of_its_ways(way, told):
    """The count of tokens in each event; the chunk of its own has no choices."""
    records = read(stream(PLAIN._replace(usage=way), [(0, 1), (1, 2)]))
    assert [record["usage"]["completion_tokens"] if "usage" in record else None for record in records] == told
    assert (records[-1]["choices"] == []) == (len(told) == 4)


@given(cut_answers())
def test_the_texts_of_a_stream_are_those_of_the_body(answer):
    """However it is cut: the same fields, the same words, the same usage and finish reason."""
    shape, spans = answer
    records = read(stream(shape, spans))
    whole = json.loads(numbered(body(shape), 7))
    choice = whole["choices"][0]
    message = choice["message"] if shape.chat else {"content": choice["text"]}
    if "tool_calls" in message:
        message["tool_calls"] = message["tool_calls"][0]["function"]["arguments"]
    for name in ("content", "reasoning_content", "reasoning", "tool_calls") if shape.chat else ("content",):
        assert joined(shape, records, name) == (message.get(name) or "")
    reasons = {record["choices"][0]["finish_reason"] for record in records if record["choices"]} - {None}
    assert reasons == {choice["finish_reason"]}
    if shape.usage != "never":
        assert records[-1]["usage"] == whole["usage"]


@given(cut_answers())
def test_the_words_of_all_fields_are_the_tokens(answer):
    """In order, none twice, none lost, and arguments are JSON."""
    shape, spans = answer
    records = read(stream(shape, spans))
    if not shape.chat:
        assert joined(shape, records, "text").split() == answer_words(0, shape.output_tokens).split()
        return
    arguments = joined(shape, records, "tool_calls")
    call = json.loads(arguments)["words"] if arguments else ""
    words = [joined(shape, records, shape.reasoning_field), joined(shape, records, "content"), call]
    assert " ".join(words).split() == answer_words(0, shape.output_tokens).split()
    assert [len(part.split()) for part in words] == [
        shape.reasoning_tokens,
        shape.output_tokens - shape.reasoning_tokens - shape.tool_call_tokens,
        shape.tool_call_tokens,
    ]


@given(cut_answers(), st.integers(1, 9), st.booleans())
def test_the_fast_way_gives_the_bytes_of_the_plain_way(answer, each, opened):
    """One frame an event, whether or not it came out of a cache."""
    shape, spans = answer
    for low, high in spans:
        slow = b"".join(map(frame, events(shape, low, high, each, opened=opened)))
        assert framed(shape, low, high, each, opened=opened) == slow


def test_details_of_usage_are_only_there_where_there_is_something_to_say():
    """No cache, no word about it; unknown is not zero."""
    shape = PLAIN._replace(cached_tokens=0, reasoning_tokens=1)
    assert json.loads(numbered(body(shape), 0))["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 1},
    }


def test_a_long_answer_does_not_stay_in_the_cache():
    """It is rendered anew, to the same bytes."""
    shape = PLAIN._replace(output_tokens=1000)
    assert framed(shape, 0, 1000, 1) == b"".join(map(frame, events(shape, 0, 1000, 1)))
