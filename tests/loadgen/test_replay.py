"""A trace or a profile of it is offered in place of a workload, and every change to it stands in the conditions."""

import json

import pytest

from caveat.errors import InputError, UsageError
from caveat.loadgen import Endpoint, Replay, Spec, decode_spec, encode_spec
from caveat.workload import PlanStatistics, Poisson, Workload, encode_profile, plan_digest, profile_of, read_trace

HERE = Endpoint(url="http://127.0.0.1:1", model="m")


@pytest.fixture
def trace(tmp_path):
    """Forty requests, one every 100 ms, in Mooncake's form."""
    path = tmp_path / "trace.jsonl"
    rows = [
        {"timestamp": 100 * i, "input_length": 600 + i, "output_length": 20 + i, "hash_ids": [0, i + 1]}
        for i in range(40)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_trace_is_offered_as_it_was_recorded(trace):
    """Its own times, lengths and shared blocks."""
    blocks = list(Replay(file=str(trace)).plan().blocks())
    assert [int(at) for block in blocks for at in block.at_ns][:3] == [0, 100_000_000, 200_000_000]
    assert sum(len(block) for block in blocks) == 40
    assert int(blocks[0].input_tokens[5]) == 605


def test_every_change_to_a_trace_is_in_the_description_of_its_plan(trace):
    """Thinning and scaling are conditions."""
    replay = Replay(file=str(trace), first_s=2.0, thin=2, scale_input=0.5, scale_output=0.25, speed=2.0)
    plan = replay.plan()
    assert PlanStatistics(plan).requests == 10
    said = " ".join(str(value) for value in plan.describe().values())
    for change in ("first 2 s", "every 2nd request", "input x 0.5, output x 0.25", "2 times as fast"):
        assert change in said


def test_a_profile_is_told_from_a_trace_by_what_is_in_it(trace, tmp_path):
    """Nobody has to say which of the two a file is."""
    path = tmp_path / "traffic.json"
    path.write_bytes(encode_profile(profile_of(read_trace(trace).recording)))
    plan = Replay(file=str(path), seed=3).plan()
    assert PlanStatistics(plan).requests == 40
    assert plan_digest(plan) == plan_digest(Replay(file=str(path), seed=3).plan())


def test_a_repeated_run_must_find_the_same_file(trace):
    """The hash is kept with the spec."""
    kept = Replay(file=str(trace)).settled()
    assert kept.plan() is not None
    trace.write_text(trace.read_text().replace('"output_length": 20', '"output_length": 21'))
    with pytest.raises(InputError, match="not the file"):
        kept.plan()


@pytest.mark.parametrize(
    ("changes", "word"), [({"rate_scale": 2.0}, "rate_scale"), ({"file": "nowhere.jsonl"}, "nowhere")]
)
def test_what_does_not_fit_a_trace_is_refused(trace, changes, word):
    """The message names it."""
    with pytest.raises((UsageError, InputError), match=word):
        Replay(**{"file": str(trace), **changes}).plan()


def test_a_spec_with_a_replay_survives_its_document(trace):
    """What was asked for can be sent and repeated."""
    spec = Spec(endpoint=HERE, replay=Replay(file=str(trace), thin=4, seed=7).settled())
    assert decode_spec(encode_spec(spec), "json") == spec
    assert spec.seed() == 7
    assert PlanStatistics(spec.plan()).requests == 10


def test_a_spec_offers_one_thing():
    """Neither nothing nor two."""
    with pytest.raises(UsageError, match="either a workload or a replay"):
        Spec(endpoint=HERE)


def test_a_workload_still_gives_its_own_limits():
    """The live view needs to know when arrivals end."""
    workload = decode_spec(
        b'[endpoint]\nurl="http://127.0.0.1:1"\nmodel="m"\n[workload]\nlimits={duration_s=2}\n'
        b'arrivals={kind="poisson",rate_qps=4}\nlengths={kind="separate",input={kind="fixed",value=9},'
        b'output={kind="fixed",value=9}}\n',
        "toml",
    )
    assert workload.limits().duration_s == 2
    assert isinstance(workload.workload, Workload)
    assert isinstance(workload.workload.arrivals, Poisson)
