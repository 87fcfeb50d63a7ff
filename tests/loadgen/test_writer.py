"""Writer: what becomes of blocks between the event loop and the sink."""

import pytest

from caveat.loadgen.rows import Rows
from caveat.loadgen.writer import Writer, into
from caveat.measure import Kept
from tests.loadgen.test_rows import packed


def written(writer, *answers):
    """Rows of requests 7, 8, ... with these deltas, None for one that failed."""
    rows = Rows()
    for number, deltas in enumerate(answers, 7):
        rows.add(*packed(request=number))
        if deltas is not None:
            rows.add_answer(deltas)
    writer.start(0)
    writer.put(rows.take())
    writer.close()


def test_answers_are_counted_and_kept_under_the_number_of_their_request():
    """Whole text and length of the first delta; a request that failed has no answer, an empty one has."""
    sink, told = Kept(), []
    writer = Writer(into(sink), lambda text: len(text.split()), lambda *answer: told.append(answer))
    assert writer.wants_text
    written(writer, ["a b", " c"], None, [])
    assert told == [(7, "a b c", 3), (9, "", 0)]
    assert sink.table().column("output_tokens_client").to_pylist() == [3, None, 0]


def test_answers_are_not_wanted_unless_somebody_counts_or_keeps_them():
    """The hot path keeps no text for nothing."""
    assert not Writer(into(Kept()), None).wants_text
    assert Writer(into(Kept()), len).wants_text
    assert Writer(into(Kept()), None, lambda *_: None).wants_text


def test_an_error_of_the_keeper_ends_the_run_and_is_raised():
    """A full disk must not look like a good run."""

    def full(*_):
        raise OSError("no space left")

    sink = Kept()
    writer = Writer(into(sink), None, full)
    with pytest.raises(OSError, match="no space"):
        written(writer, ["a"])
    assert writer.failed()
