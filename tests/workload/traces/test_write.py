"""Traces written and read again are the same."""

import json

import pytest

from caveat.errors import UsageError
from caveat.workload import (
    Concurrency,
    Limits,
    Poisson,
    Workload,
    plan_of,
    profile_of,
    read_trace,
    recording_of,
    scaled_lengths,
    synthesize,
    thinned,
    write_recording,
)
from tests.workload.cases import CHAT, SHARED, SMALL, TALKS
from tests.workload.traces.samples import mooncake, needs_traces, recording, rows

MADE = Workload(arrivals=Poisson(5.0), lengths=SMALL, limits=Limits(requests=400), sessions=TALKS, prefixes=SHARED)


def test_a_workload_comes_back_from_its_file(tmp_path):
    """Times, lengths, conversations and what is shared."""
    path = tmp_path / "made.jsonl"
    assert synthesize(MADE, path) == 400
    there, here = recording_of(MADE.plan()), read_trace(path).recording
    assert [row[:5] for row in rows(here)] == [(row[0] - int(there.t_ns[0]), *row[1:5]) for row in rows(there)]
    assert here.block_tokens == there.block_tokens
    assert here.prefix_ends.tolist() == there.prefix_ends.tolist()


def test_a_profile_comes_back_from_its_file(tmp_path):
    """As its plan is, as many requests as wanted."""
    profile = profile_of(recording_of(MADE.plan()))
    path = tmp_path / "made.jsonl"
    assert synthesize(profile, path, requests=50, seed=9) == 50
    plan = recording_of(plan_of(profile, 9, requests=50))
    assert read_trace(path).recording.input_tokens.tolist() == plan.input_tokens.tolist()


def test_transformations_travel_with_the_file(tmp_path):
    """Whoever reads it knows what was done."""
    path = tmp_path / "thin.jsonl"
    changed = scaled_lengths(thinned(recording(range(100)), 10), input=0.5)
    assert write_recording(changed, path) == 10
    assert read_trace(path).recording.source.transformations == ("every 10th request", "input x 0.5, output x 1")


def test_mooncakes_form_is_read_by_its_reader(tmp_path):
    """Whole milliseconds; without sharing there are no ids."""
    path = tmp_path / "made.jsonl"
    plain = Workload(arrivals=Poisson(5.0), lengths=CHAT, limits=Limits(requests=40))
    assert synthesize(plain, path, form="mooncake") == 40
    read = read_trace(path).recording
    assert read.source.format == "mooncake"
    assert "hash_ids" not in path.read_text()
    assert read.input_tokens.tolist() == recording_of(plain.plan()).input_tokens.tolist()


def test_mooncakes_form_names_every_block(tmp_path):
    """Those that nobody shares get ids of their own."""
    path = tmp_path / "made.jsonl"
    trace = recording([0, 10**9], [1500, 1100], blocks=[[0, 1], [0, 1]], block_tokens=512)
    write_recording(trace, path, form="mooncake")
    lines = [json.loads(line)["hash_ids"] for line in path.read_text().splitlines()]
    assert [line[:2] for line in lines] == [[0, 1], [0, 1]]
    assert lines[0][2] != lines[1][2]
    assert [len(line) for line in lines] == [3, 3]


@needs_traces
def test_the_public_trace_survives_both_forms(tmp_path):
    """What Mooncake's form cannot lose, and ours neither: reuse and lengths."""
    trace = mooncake()
    for form in ("caveat", "mooncake"):
        write_recording(trace, tmp_path / "made.jsonl", form=form)
        again = read_trace(tmp_path / "made.jsonl").recording
        assert again.input_tokens.tolist() == trace.input_tokens.tolist()
        assert again.t_ns.tolist() == trace.t_ns.tolist()


def test_what_cannot_be_written_is_refused(tmp_path):
    """A closed loop has no times; Mooncake's blocks have one size. No file is left behind."""
    closed = Workload(arrivals=Concurrency(4), lengths=CHAT, limits=Limits(requests=4))
    with pytest.raises(UsageError, match="closed loop"):
        synthesize(closed, tmp_path / "made.jsonl")
    with pytest.raises(UsageError, match="512"):
        synthesize(MADE, tmp_path / "made.jsonl", form="mooncake")
    assert list(tmp_path.iterdir()) == []
