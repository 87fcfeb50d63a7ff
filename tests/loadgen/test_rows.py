"""Packed rows become batches of the samples schema."""

from array import array

from caveat.loadgen.frames import pack_parcel, unpack_parcel
from caveat.loadgen.rows import MEASURED, PACKED, ROWS, Parcel, Rows, Words, batch
from caveat.measure import COLUMNS, schema

START_NS = 1_000_000


def packed(**values: int) -> list[int]:
    """Values by name; what is not named is not known."""
    unknown = {"number": 0, "instant": 0, "phase": MEASURED}
    return [values.get(name, unknown.get(kind, -1)) for name, kind in PACKED]


def parcel(block, start_ns=0, finishes=(), errors=(), tokens=None):
    """A block with its words."""
    return Parcel(
        packed=block.packed,
        start_ns=start_ns,
        finishes=list(finishes),
        errors=list(errors),
        texts=block.texts,
        tokens=tokens or {},
        chunks={row: times.tobytes() for row, times in block.chunks.items()},
    )


def test_packed_and_sparse_columns_are_those_of_the_schema():
    """Each column has one source."""
    sparse = {"output_tokens_client", "error_text", "chunk_ns"}
    assert {name for name, _ in PACKED} | sparse == {name for name, *_ in COLUMNS}


def test_a_row_comes_back_as_it_was_and_what_is_not_known_as_null():
    """Also through the pipes. Instants count from the start of the plan; one before it is negative."""
    rows = Rows()
    rows.add(*packed(request=5, ready_ns=START_NS - 10, end_ns=START_NS + 7, chunks=0, error_class=0))
    rows.add_text("gone")
    rows.add(*packed(request=6, session=0, first_token_ns=START_NS + 3, finish_reason=1))
    rows.add_chunks(array("q", [START_NS + 3, START_NS + 9]))
    rows.add_answer(["a", " b"])
    (block,) = rows.take()
    sent = parcel(block, START_NS, ["stop", "length"], ["refused"], {1: 2})
    made = batch(unpack_parcel(pack_parcel(sent)))
    assert made.equals(batch(sent)) and len(sent) == 2
    assert made.schema.equals(schema(), check_metadata=True)
    first, second = made.to_pylist()
    assert {key: value for key, value in first.items() if value is not None} == {
        "request": 5,
        "ready_ns": -10,
        "end_ns": 7,
        "chunks": 0,
        "input_tokens_wanted": 0,
        "output_tokens_wanted": 0,
        "phase": "measured",
        "error_class": "refused",
        "error_text": "gone",
    }
    assert (second["session"], second["finish_reason"], second["chunk_ns"]) == (0, "length", [3, 9])
    assert (second["output_tokens_client"], second["error_class"], block.answers) == (2, None, {1: ["a", " b"]})
    assert [block.number(row) for row in range(2)] == [5, 6]


def test_blocks_are_full_or_taken_and_nothing_is_given_twice():
    """In order."""
    rows = Rows()
    for number in range(ROWS + 3):
        rows.add(*packed(request=number))
        rows.add_text(str(number))
    blocks = rows.take()
    assert [len(block) for block in blocks] == [ROWS, 3] and rows.take() == []
    numbers = [n for block in blocks for n in batch(parcel(block)).column("request").to_pylist()]
    assert numbers == list(range(ROWS + 3))
    assert blocks[1].texts == {0: str(ROWS), 1: str(ROWS + 1), 2: str(ROWS + 2)}


def test_a_server_cannot_fill_memory_with_words():
    """New finish reasons without end become one, long ones are cut, unprintable ones cleaned."""
    words = Words()
    numbers = {words.number(f"reason {n}") for n in range(1000)}
    assert len(numbers) <= 257 and words.all()[-1] == "other"
    assert Words().number("stop") == 0
    odd = Words()
    odd.number("\ud800\x1b[31m" + "x" * 500)
    assert odd.all() == ["[31m" + "x" * 54]
