"""Events are the same wherever the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.sse import EventSplitter, TooLongError

LIMIT = 10_000


def whole(text: bytes) -> list[bytes]:
    """The plain way: all lines at once, as the standard words it."""
    events: list[bytes] = []
    data: list[bytes] = []
    for line in text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]:
        if not line:
            if b"\n".join(data):
                events.append(b"\n".join(data))
            data = []
        elif line == b"data" or line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
    return events


def cut(text: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


LINES = st.sampled_from(
    [
        b"data: {}",
        b"data:x",
        b"data",
        b"data: ",
        b"data:  two",
        b": note",
        b"event: a",
        b"id: 1",
        b"database: 1",
        b"",
        b"",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=20).map(b"".join)


@given(text=STREAMS, bom=st.sampled_from([b"", b"\xef\xbb\xbf"]), places=st.lists(st.integers(0, 300), max_size=12))
def test_events_do_not_depend_on_where_the_bytes_are_cut(text, bom, places):
    """All line ends, comments, other fields, several data lines, cuts inside a CRLF."""
    splitter = EventSplitter(LIMIT)
    assert [event for piece in cut(bom + text, places) for event in splitter.feed(piece)] == whole(bom + text)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_any_bytes_are_harmless(text, places):
    """Whatever it is, it gives what the plain way gives."""
    splitter = EventSplitter(LIMIT)
    assert [event for piece in cut(text, places) for event in splitter.feed(piece)] == whole(text)


def test_an_event_without_its_blank_line_was_never_one():
    """The stream may have been cut in the middle of it."""
    splitter = EventSplitter(LIMIT)
    assert list(splitter.feed(b"data: a\n\ndata: b\n")) == [b"a"]
    assert splitter.open()
    splitter.reset()
    assert list(splitter.feed(b"data: c\n\n")) == [b"c"] and not splitter.open()


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * LIMIT + b"\n\n"],
        [b"data: ", *[b"x" * 100] * 200],
        [b"data: " + b"x" * 90 + b"\n"] * 200,
        [b":" + b"x" * LIMIT + b"\n\n"],
    ],
    ids=["one piece", "no end of the line", "no end of the event", "a comment"],
)
def test_what_is_too_long_is_refused_and_not_collected(pieces):
    """A line, an event, even a comment."""
    splitter = EventSplitter(LIMIT)
    with pytest.raises(TooLongError, match="expected at most"):
        for piece in pieces:
            splitter.feed(piece)
