"""Faults: whom they befall, and what they make of the bytes."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loopback import Behaviour, Fault
from caveat.loopback.behaviour import FaultKind
from caveat.loopback.events import body, events, numbered
from caveat.loopback.faults import INSTEAD, WITHIN, End, Hold, Part, fault_of, steps
from tests.loopback.test_events import PLAIN, shapes


def test_every_kind_of_fault_is_carried_out_somewhere():
    """In place of the answer, within it, or by not telling the usage."""
    assert set(get_args(FaultKind)) == INSTEAD | set(WITHIN) | {"missing-usage"}


def test_a_fault_befalls_the_requests_of_its_numbers():
    """And the first that fits wins."""
    stall, cut = Fault(kind="stall", requests=(1, 2)), Fault(kind="truncated", requests=(2, 4))
    behaviour = Behaviour(faults=(stall, cut))
    assert [fault_of(behaviour, number) for number in range(5)] == [None, stall, stall, None, cut]


def test_a_fault_befalls_the_share_that_it_should_and_the_same_requests_each_time():
    """A tenth of twenty thousand, within five standard errors; another seed, other requests."""
    behaviours = [Behaviour(seed=seed, faults=(Fault(kind="stall", rate=0.1),)) for seed in (1, 1, 2)]
    hit = [{number for number in range(20_000) if fault_of(behaviour, number)} for behaviour in behaviours]
    assert abs(len(hit[0]) - 2000) < 5 * 42.5
    assert hit[0] == hit[1] != hit[2]


def part(shape, start, stop, *, is_stream=True):
    data = b"".join(events(shape, start, stop, stop - start)) if is_stream else body(shape)
    return Part(numbered(data, 7), is_stream, 7, 0)


def carried_out(kind, shape, start, stop, *, is_stream=True, **more):
    one = part(shape, start, stop, is_stream=is_stream)
    return one.data, list(steps(Fault(kind=kind, **more), one, 3, start, stop, shape.output_tokens))


@given(shapes(), st.booleans())
def test_awkward_chunks_are_the_same_bytes_in_small_pieces(shape, is_stream):
    """One to seven bytes, wherever characters and lines begin."""
    data, pieces = carried_out("awkward-chunks", shape, 0, shape.output_tokens, is_stream=is_stream)
    assert b"".join(pieces) == data
    assert {len(piece) for piece in pieces} <= set(range(1, 8))


def test_awkward_chunks_cut_characters():
    """The words hold some that are two bytes long."""
    _, pieces = carried_out("awkward-chunks", PLAIN._replace(output_tokens=64), 0, 64)
    with pytest.raises(UnicodeDecodeError):
        [piece.decode() for piece in pieces]


@given(shapes())
def test_a_huge_line_is_one_word_that_is_long(shape):
    """Still events, still as many words."""
    data, (huge,) = carried_out("huge-line", shape, 0, shape.output_tokens, size_bytes=5000)
    assert len(huge) == len(data) + 5000
    assert max(len(line) for line in huge.split(b"\n")) > 5000
    records = [json.loads(line.removeprefix(b"data: ")) for line in huge.split(b"\n\n")[:-2]]
    assert sum(len(text(record).split()) for record in records) == shape.output_tokens


def text(record):
    """All text of an event, without the JSON around tool arguments."""
    choice = record["choices"][0] if record["choices"] else {}
    delta = choice.get("delta", {})
    calls = "".join(call["function"]["arguments"] for call in delta.get("tool_calls", ()))
    parts = (choice.get("text"), delta.get("content"), delta.get("reasoning_content"), delta.get("reasoning"))
    return " ".join(filter(None, parts)) + calls.replace('{"words":"', "").replace('"}', "")


@given(shapes(), st.booleans())
def test_what_is_malformed_is_no_json(shape, is_stream):
    """The lines around it are whole."""
    data, (broken,) = carried_out("malformed", shape, 0, shape.output_tokens, is_stream=is_stream)
    first = broken.split(b"\n\n")[0].removeprefix(b"data: ")
    with pytest.raises(json.JSONDecodeError):
        json.loads(first)
    assert len(broken) == len(data) - 1
    assert broken.count(b"\n\n") == data.count(b"\n\n")


@given(shapes(), st.booleans())
def test_a_truncated_stream_ends_inside_a_line(shape, is_stream):
    """And then the connection does."""
    data, (cut, end) = carried_out("truncated", shape, 0, shape.output_tokens, is_stream=is_stream)
    assert data.startswith(cut) and cut and b"\n" not in cut
    assert end is End.CLOSE


def test_a_stall_holds_the_second_half_of_a_line():
    """Nothing is lost."""
    data, (before, hold, after) = carried_out("stall", PLAIN, 1, 2, seconds=2.5)
    assert hold == Hold(2.5)
    assert before + after == data and before and after


def test_the_other_faults_in_whole():
    """Holding the first bytes, resetting after them, and leaving out the end."""
    data, found = carried_out("slow-start", PLAIN, 0, 1, seconds=0.5)
    assert found == [Hold(0.5), data]
    data, found = carried_out("reset-after-first-token", PLAIN, 0, 1)
    assert found == [data, End.RESET]
    data, found = carried_out("no-done", PLAIN, 1, 2)
    assert found == [data.removesuffix(b"data: [DONE]\n\n")] != [data]


@pytest.mark.parametrize("kind", sorted(WITHIN))
def test_a_fault_befalls_one_part_of_an_answer_or_all(kind):
    """Eight writes: the first, the one that passes half, the last, or every one."""
    place, _ = WITHIN[kind]
    shape = PLAIN._replace(output_tokens=8)
    hit = [number for number in range(8) if changed(kind, shape, number)]
    assert hit == {"FIRST": [0], "MIDDLE": [4], "LAST": [7], "EVERY": list(range(8))}[place.name]


def changed(kind, shape, number):
    data, found = carried_out(kind, shape, number, number + 1)
    return found != [data]
