"""Whole queries against real servers: the next begins when the slowest of the last has ended, until enough are made."""

import numpy as np

from caveat.loadgen import Endpoint, HttpTarget, WallClock
from caveat.loadgen.dataset import DatasetPlan, read_dataset
from caveat.loopback import Loopback, behaviour_of
from caveat.workload import Burst, Fixed, Limits, SampleSet, Separate, Streams, Workload
from tests.loadgen.plans import Kept, offered
from tests.loadgen.server import GOOD, Server, whole

LENGTHS = Separate(input=Fixed(8), output=Fixed(3))
NS_PER_MS = 1_000_000


def streams(samples, *, queries=5, limit=10_000, min_duration_ns=0, set_size=None, equal=0):
    return Workload(
        arrivals=Streams(samples, min_duration_ns=min_duration_ns, min_queries=queries, equal_issue_samples=equal),
        lengths=LENGTHS,
        limits=Limits(requests=limit),
        samples=SampleSet(set_size, seed=3) if set_size else None,
    ).plan()


def offered_until_enough(url, plan, **options):
    """Samples of a plan that ends before its last request."""
    target, sink = HttpTarget(Endpoint(url=url, model="m"), **options), Kept()
    target.offer(plan, sink, WallClock())
    assert sink.closed == 1
    return sink.rows()


def test_the_next_query_begins_when_the_slowest_of_the_last_has_ended():
    """On an endpoint with times drawn anew for each: all eight are due at one instant, none before the last's end."""
    with Loopback(behaviour_of({"ttft_s": "exponential(0.004)", "itl_s": 0.0005, "seed": 2})).start() as server:
        rows = offered_until_enough(server.url, streams(8, queries=12))
    assert [row["request"] for row in rows] == list(range(96))
    ready = np.array([row["ready_ns"] for row in rows]).reshape(-1, 8)
    end = np.array([row["end_ns"] for row in rows]).reshape(-1, 8)
    assert (ready == ready[:, :1]).all()
    assert (ready[1:, 0] >= end[:-1].max(axis=1)).all()
    assert {row["scheduled_ns"] for row in rows} == {None}
    assert (end.max(axis=1) - end.min(axis=1)).max() > NS_PER_MS  # there was a slowest one to wait for


def test_the_server_never_sees_two_queries_at_once():
    """By its own count, and every request of a query at the same time."""
    with Server(lambda *_: [0.002, GOOD]) as server:
        rows = offered_until_enough(server.url, streams(3, queries=6), processes=2)
        assert server.in_flight_most <= 3
    assert len(rows) == 18


def test_a_stream_goes_on_until_the_time_is_over_and_sets_are_whole():
    """One query asked for, but 30 ms and whole sets of 4: the last was issued after the time, at the end of a set."""
    with Server(lambda *_: [0.003, GOOD]) as server:
        rows = offered_until_enough(server.url, streams(1, queries=1, min_duration_ns=30 * NS_PER_MS, equal=4))
    lasted = rows[-1]["sent_ns"] - rows[0]["ready_ns"]
    assert lasted >= 30 * NS_PER_MS
    assert len(rows) % 4 == 0
    earlier = rows[-5]["ready_ns"] - rows[0]["ready_ns"] if len(rows) > 4 else 0
    assert earlier < 30 * NS_PER_MS  # and no set more than it takes
    assert {row["phase"] for row in rows} == {"measured"}


def test_a_plan_that_ends_first_is_carried_out_to_its_end():
    """Also where its last query is not whole."""
    with Server(lambda *_: [GOOD]) as server:
        assert len(offered(server.url, streams(4, queries=1000, limit=10))) == 10


def test_a_failed_sample_holds_no_query_up():
    """It has ended, and the next begins."""
    with Server(lambda number, _: [whole(b"", "500 Oh")] if number == 2 else [GOOD]) as server:
        rows = offered_until_enough(server.url, streams(2, queries=5))
    assert len(rows) == 10
    assert [row["error_class"] for row in rows if row["error_class"]] == ["http-500"]


def test_the_same_sample_is_the_same_text_in_every_pass():
    """And another is another; also over several processes."""
    plan = streams(1, queries=12, limit=12, set_size=4)
    with Server(lambda *_: [GOOD]) as server:
        offered(server.url, plan)
        texts = [body["messages"][0]["content"] for body in server.bodies()]
    (block,) = plan.blocks()
    by_sample: dict[int, object] = {}
    for sample, text in zip(block.sample.tolist(), texts, strict=True):
        assert by_sample.setdefault(sample, text) == text
    assert len(set(by_sample.values())) == 4


def test_prompts_of_a_data_set_go_out_as_they_stand(tmp_path):
    """With quotes, line ends and signs of any script; cut where the row says; from several processes too."""
    path = tmp_path / "set.jsonl"
    path.write_text('{"prompt": "say \\"hi\\"\\n\\u00e9 \\u4e2d", "max_tokens": 2}\n{"prompt": "two"}\n')
    workload = Workload(arrivals=Burst(), lengths=LENGTHS, limits=Limits(requests=6), samples=SampleSet(2, seed=1))
    plan = DatasetPlan(workload.plan(), read_dataset(path))
    for processes in (1, 2):
        with Server(lambda *_: [GOOD]) as server:
            rows = offered(server.url, plan, dataset=str(path), processes=processes)
            asked = {(body["messages"][0]["content"], body["max_tokens"]) for body in server.bodies()}
        assert asked == {('say "hi"\né 中', 2), ("two", 3)}
        assert len(rows) == 6
