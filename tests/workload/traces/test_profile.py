"""Profiles: small, without text, refusing what cannot be; and the acceptance of replays of the public trace."""

from dataclasses import replace
from functools import cache

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError, InputError
from caveat.workload import (
    Fixed,
    Limits,
    Poisson,
    Prefixes,
    Profile,
    Recording,
    Separate,
    Sessions,
    Think,
    TraceDescription,
    Uniform,
    Workload,
    decode_profile,
    describe_trace,
    encode_profile,
    plan_digest,
    plan_of,
    privacy_statement,
    profile_of,
    read_profile,
    recording_of,
)
from tests.workload.cases import SHARED, SMALL, TALKS
from tests.workload.traces.samples import SECOND, mooncake, needs_traces, recording

SEEDS = range(5)


@cache
def public_profile() -> Profile:
    return profile_of(mooncake())


@cache
def public_description() -> TraceDescription:
    return describe_trace(mooncake())


@cache
def replayed(seed: int) -> TraceDescription:
    return describe_trace(recording_of(plan_of(public_profile(), seed)))


def talks() -> Recording:
    """Conversations over shared system prompts, as their own workload makes them."""
    made = Workload(
        arrivals=Poisson(2.0), lengths=SMALL, limits=Limits(duration_s=1500.0), sessions=TALKS, prefixes=SHARED
    )
    return recording_of(made.plan())


def repeated(trace: Recording, times: int, *, new_text: bool) -> Recording:
    """The trace again and again, with the same prompts or with others of the same structure."""
    turn = np.arange(times)[:, None]
    step = int(trace.prefix_blocks.max()) + 1 if new_text else 0
    return replace(
        trace,
        t_ns=(trace.t_ns + turn * trace.span_ns).ravel(),
        input_tokens=np.tile(trace.input_tokens, times),
        output_tokens=np.tile(trace.output_tokens, times),
        prefix_ends=(trace.prefix_ends + turn * len(trace.prefix_blocks)).ravel(),
        prefix_blocks=(trace.prefix_blocks + turn * step).ravel(),
    )


@needs_traces
@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_has_the_dispersion_of_the_trace(seed):
    """At 1 s, 10 s and 60 s, within 10 %."""
    for there, here in zip(public_description().rates[:3], replayed(seed).rates[:3], strict=True):
        assert here.dispersion == pytest.approx(there.dispersion, rel=0.10), f"at {there.scale_s} s"


@needs_traces
@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_has_the_lengths_of_the_trace(seed):
    """p50, p90 and p99 of input and output, within 5 %; and how they go together."""
    there, here = public_description(), replayed(seed)
    for statistic in ("p50", "p90", "p99"):
        assert here.input_tokens[statistic] == pytest.approx(there.input_tokens[statistic], rel=0.05)
        assert here.output_tokens[statistic] == pytest.approx(there.output_tokens[statistic], rel=0.05)
    assert here.correlation == pytest.approx(there.correlation, abs=0.02)
    assert here.requests == there.requests


@needs_traces
@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_reuses_as_much_as_the_trace(seed):
    """Within 2 points with a cache that forgets nothing, and within 6 with one that forgets after a minute."""
    there, here = public_description().prefixes, replayed(seed).prefixes
    assert there is not None
    assert here is not None
    assert here.share_of_tokens == pytest.approx(there.share_of_tokens, abs=0.02)
    assert here.reusing == pytest.approx(there.reusing, abs=0.02)
    assert here.within_s["60"] == pytest.approx(there.within_s["60"], abs=0.06)
    assert here.within_s["600"] == pytest.approx(there.within_s["600"], abs=0.04)


@needs_traces
def test_nothing_in_the_profile_stands_for_fewer_than_ten():
    """Cells of time, boxes, bins and trunks."""
    profile = public_profile()
    assert profile.smallest() >= 10
    assert sum(box[-1] for one in profile.classes for box in one.boxes) == profile.requests
    assert len(encode_profile(profile)) < 60_000


@needs_traces
@pytest.mark.parametrize("new_text", [False, True], ids=["the same prompts", "new prompts"])
def test_four_times_the_trace_is_no_larger_and_replays_as_well(new_text):
    """Counts a second are not kept: the curve is coarser, and the bursts below it still come out."""
    trace = repeated(mooncake(), 4, new_text=new_text)
    profile = profile_of(trace)
    assert len(encode_profile(profile)) < 100_000
    assert profile.arrivals.window_ns == 12 * SECOND
    there, here = describe_trace(trace), describe_trace(recording_of(plan_of(profile, 1)))
    for rate, replayed_rate in zip(there.rates[:3], here.rates[:3], strict=True):
        assert replayed_rate.dispersion == pytest.approx(rate.dispersion, rel=0.10)
    for statistic in ("p50", "p90", "p99"):
        assert here.input_tokens[statistic] == pytest.approx(there.input_tokens[statistic], rel=0.05)
    if new_text:
        assert there.prefixes is not None
        assert here.prefixes is not None
        assert here.prefixes.share_of_tokens == pytest.approx(there.prefixes.share_of_tokens, abs=0.02)


@needs_traces
@pytest.mark.full
@pytest.mark.parametrize("new_text", [False, True], ids=["the same prompts", "new prompts"])
def test_a_million_requests_fit_in_a_small_profile(new_text):
    """Under 200 kB, and every cell still above the threshold."""
    profile = profile_of(repeated(mooncake(), 84, new_text=new_text))
    assert profile.requests > 1_000_000
    assert len(encode_profile(profile)) < 200_000
    assert profile.smallest() >= 10


def test_a_replay_of_conversations_keeps_their_structure():
    """Turns a conversation, the time between turns, shared prompts; a turn waits for the one before it."""
    trace = talks()
    plan = plan_of(profile_of(trace), 3)
    there, here = describe_trace(trace), describe_trace(recording_of(plan))
    assert there.sessions is not None
    assert here.sessions is not None
    assert here.sessions.turns["mean"] == pytest.approx(there.sessions.turns["mean"], rel=0.05)
    assert here.sessions.between_s["p50"] == pytest.approx(there.sessions.between_s["p50"], rel=0.6)
    assert there.prefixes is not None
    assert here.prefixes is not None
    assert here.prefixes.share_of_tokens == pytest.approx(there.prefixes.share_of_tokens, abs=0.04)
    first = 0
    for block in plan.blocks():
        assert (block.after < first + np.arange(len(block))).all()
        first += len(block)
        assert ((block.after >= 0) == (block.turn > 0)).all()
    assert plan.describe()["loop"] == "semi-open"


def test_one_seed_gives_one_plan():
    """Another gives another; a shorter plan is the beginning of a longer one."""
    profile = profile_of(talks())
    assert plan_digest(plan_of(profile, 1)) == plan_digest(plan_of(profile, 1))
    assert plan_digest(plan_of(profile, 1)) != plan_digest(plan_of(profile, 2))
    whole, part = recording_of(plan_of(profile, 1)), recording_of(plan_of(profile, 1, requests=100))
    assert len(part) == 100
    assert part.t_ns.tolist() == whole.t_ns[:100].tolist()
    assert part.prefix_blocks.tolist() == whole.prefix_blocks[: part.prefix_ends[-1]].tolist()
    early = recording_of(plan_of(profile, 1, duration_s=100.0))
    assert early.t_ns.tolist() == whole.t_ns[whole.t_ns < 100 * SECOND].tolist()


def test_a_plan_can_be_scaled():
    """More requests in the same time, or the same in less."""
    profile = profile_of(talks())
    whole = recording_of(plan_of(profile, 1))
    more = recording_of(plan_of(profile, 1, rate_scale=3.0))
    assert len(more) == pytest.approx(3 * len(whole), rel=0.02)
    assert more.span_s == pytest.approx(whole.span_s, rel=0.02)
    faster = recording_of(plan_of(profile, 1, speed=2.0))
    assert faster.t_ns.tolist() == np.rint(whole.t_ns / 2).astype(int).tolist()


def test_the_description_of_a_plan_has_keys_of_the_conditions():
    """Lengths as asked for, reuse as a share."""
    described = plan_of(profile_of(talks(), name="bank"), 1, speed=2.0).describe()
    assert described["dataset"] == "profile bank of 8,891 requests in 25 min; 2 times as fast"
    assert described["scenario"] == "trace"
    assert isinstance(described["input_tokens_requested"], dict)
    assert 0.3 < float(described["prefix_reuse_share"]) < 0.95


def test_what_every_request_has_in_common_is_exact():
    """Fixed lengths and one system prompt come out as they were."""
    made = Workload(
        arrivals=Poisson(5.0),
        lengths=Separate(input=Fixed(300), output=Fixed(64)),
        prefixes=Prefixes(block_tokens=16, prompts=1, tokens=Fixed(160)),
        limits=Limits(requests=2000),
    )
    profile = profile_of(recording_of(made.plan()))
    found = recording_of(plan_of(profile, 5))
    assert set(found.input_tokens.tolist()) == {460}
    assert set(found.output_tokens.tolist()) == {64}
    assert [(trunk.blocks, trunk.requests) for trunk in profile.trunks] == [(10, 2000)]
    starts = found.prefix_ends - found.block_counts()
    assert found.prefix_blocks[starts + 9].tolist() == [9] * 2000


def test_lengths_that_depend_on_each_other_still_do():
    """Short prompts with long answers, long ones with short answers, and nothing between."""
    made = [(100 + n % 7, 1000 + n % 11) if n % 2 else (5000 + n % 7, 10 + n % 3) for n in range(4000)]
    trace = recording(range(0, 4000 * SECOND, SECOND), [a for a, _ in made], [b for _, b in made])
    found = recording_of(plan_of(profile_of(trace), 2))
    short = found.input_tokens < 1000
    assert np.mean(short) == pytest.approx(0.5, abs=0.01)
    assert found.output_tokens[short].min() >= 1000
    assert found.output_tokens[~short].max() <= 16


def test_too_few_requests_are_refused():
    """A profile stands for at least its threshold."""
    with pytest.raises(CannotSayError, match="9 requests"):
        profile_of(recording(range(9)))
    assert profile_of(recording(range(10))).smallest() == 10


def test_a_profile_is_json_and_back(tmp_path):
    """The same document, the same bytes; from a file as well."""
    profile = profile_of(talks(), name="bank")
    data = encode_profile(profile)
    assert decode_profile(data) == profile
    assert encode_profile(decode_profile(data)) == data
    path = tmp_path / "bank.json"
    path.write_bytes(data)
    assert read_profile(path) == profile


@pytest.mark.parametrize(
    "change",
    [
        {"format": "caveat-profile/9"},
        {"requests": 0},
        {"classes": []},
        {"classes": [{"trunk": 99, "boxes": [[0, 0, 0, 0, 10]]}]},
        {"classes": [{"boxes": [[0, 99999, 0, 0, 0, 0, 0, 0, 10]]}]},
        {"classes": [{"boxes": [[0, 0]]}]},
        {"trunks": [[0, 5, 10]]},
        {"trunks": [[-1, 1 << 40, 10]]},
        {"input": {"bins": []}},
        {"text": "hello"},
    ],
)
def test_a_document_that_cannot_be_is_refused(change):
    """With a message and no traceback of another kind."""
    document = msgspec.json.decode(encode_profile(profile_of(talks())))
    with pytest.raises(InputError):
        decode_profile(msgspec.json.encode(document | change))


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null"])
def test_what_is_no_document_is_refused(data):
    """Whatever the bytes."""
    with pytest.raises(InputError):
        decode_profile(data)


def test_an_error_names_the_file(tmp_path):
    """A profile that was cut short while it was copied."""
    path = tmp_path / "half.json"
    path.write_bytes(encode_profile(profile_of(talks()))[:-30])
    with pytest.raises(InputError, match=r"^half\.json: profile: ") as refused:
        read_profile(path)
    assert refused.value.next == "make it again from its trace"


def test_the_statement_says_what_can_be_recovered():
    """From what is in this profile, not in general."""
    said = privacy_statement(profile_of(talks()))
    assert "threshold 10" in said
    assert "no text" in said
    assert "4 beginnings are shared" in said
    assert "not a formal guarantee" in said
    alone = profile_of(recording(range(0, 50 * SECOND, SECOND), list(range(100, 150))))
    assert "beginnings" not in privacy_statement(alone)


def test_a_name_is_in_a_profile_only_if_it_was_given():
    """And the statement says so."""
    assert profile_of(talks()).name == ""
    assert "and no names." in privacy_statement(profile_of(talks()))
    assert "no names but the one that you gave it, 'bank'" in privacy_statement(profile_of(talks(), name="bank"))


def test_what_was_lost_is_said():
    """Requests without output, a clock that steps, what was not recorded."""
    trace = recording(
        [3 * SECOND * (n // 4) for n in range(80)], output_tokens=[n % 5 for n in range(80)], grid_ns=3 * SECOND
    )
    notes = " ".join(profile_of(trace).notes)
    for said in ("16 requests without input or output", "steps by 3 s", "conversations were not recorded"):
        assert said in notes


def test_sessions_of_every_kind_have_a_profile():
    """Turns that stand alone, and conversations so short that later turns are too few."""
    for turns in (Fixed(1), Fixed(2), Uniform(1, 30)):
        made = Workload(
            arrivals=Poisson(1.0),
            lengths=SMALL,
            limits=Limits(requests=400),
            sessions=Sessions(turns, think=Think(2.0), grows=False),
        )
        found = recording_of(plan_of(profile_of(recording_of(made.plan())), 0))
        assert len(found) == 400
