"""Answers on disk: what is kept, what is hidden, what is too much, and what is no such file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.loadgen.answer_file import AnswerFile, KeptAnswer, read_answers


def kept(path, *answers, secrets=(), **bounds):
    with AnswerFile(path, secrets, **bounds) as keep:
        for answer in answers:
            keep(*answer)
    return read_answers(path, 100)


@given(st.dictionaries(st.integers(0, 99), st.text(), max_size=8))
def test_every_text_comes_back(tmp_path_factory, texts):
    """Line ends, controls and halves of characters too; the last become a question mark."""
    path = tmp_path_factory.mktemp("answers") / "a.jsonl"
    found = kept(path, *((number, text, 1) for number, text in texts.items()))
    assert {number: one.text for number, one in found.items()} == {
        number: text.encode("utf-8", "replace").decode() for number, text in texts.items()
    }


def test_a_half_of_a_character_is_written_as_a_question_mark(tmp_path):
    """JSON lets a server send one; no file can hold it."""
    assert kept(tmp_path / "a", (0, "a\ud800b", 3))[0].text == "a?b"


def test_a_secret_that_the_server_says_back_is_hidden(tmp_path):
    """And where its first delta ended is no longer known."""
    found = kept(tmp_path / "a", (0, "your key is sk-1234", 4), (1, "hello", 2), secrets=("sk-1234",))
    assert found == {0: KeptAnswer(0, "your key is [hidden]"), 1: KeptAnswer(1, "hello", 2)}
    assert b"sk-1234" not in (tmp_path / "a").read_bytes()


def test_what_is_beyond_the_bounds_leaves_its_mark(tmp_path):
    """One answer that is too long, and one for which there was no room."""
    answers = [(0, "x" * 101, 1), (1, "y" * 50, 1), (2, "z" * 100, 1)]
    found = kept(tmp_path / "a", *answers, max_answer_bytes=100, max_file_bytes=500)
    assert [found[n].text for n in range(3)] == [None, "y" * 50, None]
    assert [found[n].left_out for n in range(3)] == ["101 bytes, at most 100 are kept", "", "the file is full"]
    assert (tmp_path / "a").stat().st_size < 500


def test_a_file_is_never_written_over(tmp_path):
    """Append a run, never overwrite one."""
    kept(tmp_path / "a", (0, "x", 1))
    with pytest.raises(InputError, match="File exists"):
        kept(tmp_path / "a", (0, "y", 1))
    assert read_answers(tmp_path / "a", 1)[0].text == "x"


def test_a_line_that_was_cut_by_a_killed_process_is_left_out(tmp_path):
    """The others stand."""
    path = tmp_path / "a"
    path.write_bytes(b'{"request":3,"text":"x","first":1}\n{"request":4,"te')
    assert list(read_answers(path, 5)) == [3]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (b"[1]\n", "line 1: found"),
        (b'{"request":1}\n{"request":1}\n', "line 2: found request 1, which is not in the plan or has its answer"),
        (b'{"request":9}\n', "request 9"),
        (b'{"request":-1}\n', "request -1"),
        (b'{"request":0,"text":7}\n', "line 1"),
        (b'{"request":0,"more":7}\n', "line 1"),
        (b'{"request":0,"text":"\xff"}\n', "line 1"),
        (b"[" * 100_000 + b"\n", "line 1"),
    ],
)
def test_another_file_is_refused_with_its_line(tmp_path, lines, fault):
    """Somebody's folder may hold anything."""
    (tmp_path / "a").write_bytes(lines)
    with pytest.raises(InputError, match=fault):
        read_answers(tmp_path / "a", 5)


def test_no_file_is_no_accuracy_run(tmp_path):
    """With what to give instead."""
    with pytest.raises(InputError, match="No such file") as caught:
        read_answers(tmp_path / "none", 5)
    assert "accuracy run" in caught.value.next
