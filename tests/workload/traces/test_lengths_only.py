"""Prompt sets without times: described by their lengths, and neither replayed nor made into a profile."""

from typing import Any

import pytest

from caveat.errors import CannotSayError, InputError
from caveat.workload import describe_trace, fit_trace, plan_of_recording, profile_of, read_trace
from tests.workload.traces.samples import codes, jsonl, rows


def test_vllm_prompts_have_their_own_output_and_an_estimated_input(tmp_path):
    """Text is measured and dropped."""
    path = tmp_path / "custom.jsonl"
    path.write_text(jsonl([{"prompt": "x" * 41, "output_tokens": 7}, {"prompt": "the secret", "output_tokens": 8}]))
    read = read_trace(path)
    assert [row[:3] for row in rows(read.recording)] == [(0, 11, 7), (0, 3, 8)]
    assert codes(read.problems) == {"text-dropped": [1, 2], "tokens-estimated": [1, 2], "time-none": [None]}
    assert "secret" not in repr(read)


def test_sharegpt_conversations_give_prompt_and_answer(tmp_path):
    """Their first two turns; one without an answer is left out."""
    turns = [{"from": "human", "value": "x" * 8}, {"from": "gpt", "value": "y" * 40}, {"from": "human", "value": "z"}]
    strange: list[dict[str, Any]] = [{"conversations": turns[:1]}, {"conversations": [3, None]}, {"conversations": []}]
    path = tmp_path / "sharegpt.jsonl"
    path.write_text(jsonl([{"conversations": turns}, *strange]) + "{\n")
    read = read_trace(path)
    assert [row[:3] for row in rows(read.recording)] == [(0, 2, 10)]
    found = codes(read.problems)
    assert (found["length-missing"], found["line-malformed"]) == ([2, 3, 4], [5])


@pytest.mark.parametrize("columns", [None, {"input": "num_prefill_tokens", "output": "num_decode_tokens"}])
def test_a_table_of_lengths_is_read_without_times(tmp_path, columns):
    """Rates are unknown, not zero; equal rows are no repeats."""
    path = tmp_path / "lengths.csv"
    path.write_text("num_prefill_tokens,num_decode_tokens\n10,5\n10,5\n30,6\n")
    read = read_trace(path, columns=columns)
    described = describe_trace(read.recording)
    assert codes(read.problems) == {"time-none": [None]}
    assert (described.requests, described.mean_qps, described.gap_cv, described.rates) == (3, None, None, ())
    assert "the file has no times: rates and gaps are unknown" in described.notes


def test_lengths_without_times_are_no_traffic(tmp_path):
    """No replay of them, which would be one burst; no profile; no fit."""
    path = tmp_path / "lengths.csv"
    path.write_text("input_tokens,output_tokens\n" + "10,5\n" * 50)
    trace = read_trace(path).recording
    with pytest.raises(InputError, match="lengths without times") as refused:
        plan_of_recording(trace)
    assert "rate or a concurrency" in refused.value.next
    for refuses in (profile_of, fit_trace):
        with pytest.raises(CannotSayError):
            refuses(trace)
