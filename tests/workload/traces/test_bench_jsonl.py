"""JSONL of load generators: delays, texts, other names."""

from caveat.workload import read_trace
from tests.workload.traces.samples import FILES, codes, jsonl, rows, written


def test_a_turn_with_a_delay_follows_the_turn_before_it(tmp_path):
    """And it is said that the answer's end is unknown."""
    read = read_trace(written(tmp_path, "bench-jsonl"))
    assert codes(read.problems) == {"time-from-delay": [2]}
    assert FILES["bench-jsonl"][1].count("delay") == 1


def test_a_text_in_place_of_a_length_is_measured_and_dropped(tmp_path):
    """Four bytes a token, said to be an estimate."""
    path = tmp_path / "trace.jsonl"
    path.write_text(jsonl([{"timestamp": 0, "text_input": "ä" * 10, "output_length": 3}]))
    read = read_trace(path)
    assert rows(read.recording)[0][1:3] == (5, 3)
    assert codes(read.problems) == {"tokens-estimated": [1], "text-dropped": [1]}
