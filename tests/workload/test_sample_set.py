"""Sets of samples and streams: which sample a request asks, and when a loop of whole queries has had enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import InputError
from caveat.workload import (
    Burst,
    Fixed,
    Limits,
    Poisson,
    Prefixes,
    SampleSet,
    Separate,
    Sessions,
    Streams,
    Uniform,
    Workload,
    decode_workload,
    encode_workload,
    plan_digest,
    queries_of,
)

LENGTHS = Separate(input=Uniform(low=10, high=1000), output=Uniform(low=1, high=500))


def over(samples, requests=100, **changes):
    values = {"arrivals": Burst(), "lengths": LENGTHS, "limits": Limits(requests=requests), "samples": samples}
    return Workload(**{**values, **changes})


def columns(workload, block_requests=17):
    blocks = list(workload.plan(block_requests=block_requests).blocks())
    return {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in ("sample", "input_tokens", "output_tokens")
    }


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**64 - 1), st.integers(1, 200))
def test_every_pass_asks_every_sample_once(size, seed, requests):
    """Shuffled anew, and the last pass as far as it goes."""
    sample = columns(over(SampleSet(size, seed), requests))["sample"]
    for begin in range(0, requests, size):
        part = sample[begin : begin + size]
        assert len(set(part.tolist())) == len(part)
        assert len(part) < size or sorted(part.tolist()) == list(range(size))


def test_a_sample_has_the_same_lengths_in_every_pass():
    """Which are those of the seed of the workload; the order has its own."""
    found = columns(over(SampleSet(30, seed=5)))
    by_sample: dict[int, list[int]] = {}
    for sample, *both in zip(*(found[name].tolist() for name in found), strict=True):
        assert by_sample.setdefault(sample, both) == both
    other = columns(over(SampleSet(30, seed=6)))
    assert other["sample"].tolist() != found["sample"].tolist()
    assert sorted(other["input_tokens"][:30].tolist()) == sorted(found["input_tokens"][:30].tolist())
    assert len({tuple(both) for both in by_sample.values()}) > 25


def test_samples_of_one_query_are_neighbours():
    """As LoadGen loads them: the queries are shuffled, not what is in them."""
    sample = columns(over(SampleSet(40, seed=1, each=8), 80))["sample"].reshape(-1, 8)
    assert (np.diff(sample, axis=1) == 1).all()
    assert sorted(sample[:5, 0].tolist()) == [0, 8, 16, 24, 32]
    assert sample[:5, 0].tolist() != [0, 8, 16, 24, 32]


def test_an_order_may_be_given():
    """It begins again at its end."""
    assert columns(over(SampleSet(4, order=(3, 0, 2)), 8))["sample"].tolist() == [3, 0, 2, 3, 0, 2, 3, 0]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SampleSet(0), "samples.size"),
        (lambda: SampleSet(10, each=3), "whole queries of 3"),
        (lambda: SampleSet(4, order=(0, 4)), r"samples.order\[1\]: found 4"),
        (lambda: SampleSet(4, seed=-1), "seed"),
        (lambda: over(SampleSet(4), prefixes=Prefixes(prompts=2)), "a set beside prefixes"),
        (
            lambda: over(SampleSet(4), arrivals=Poisson(1.0), sessions=Sessions(turns=Fixed(2))),
            "a set beside sessions",
        ),
        (lambda: over(None, arrivals=Streams(samples=0)), "streams.samples"),
        (lambda: over(None, arrivals=Streams(), limits=Limits(duration_s=5.0)), "limits.duration_s"),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    """By its field."""
    with pytest.raises(InputError, match=said):
        make()


def test_a_plan_says_its_set_and_what_of_it_comes_again():
    """Two passes and a half: three fifths of the tokens could come from a cache that knows prompts."""
    said = over(SampleSet(40), lengths=Separate(input=Fixed(100), output=Fixed(5))).plan().describe()
    assert (said["dataset_samples"], said["whole_sets"]) == (40, True)
    assert said["prefix_reuse_share"] == pytest.approx(0.6)
    assert "each pass over the 40" in said["prefix_reuse"]


def test_a_digest_knows_the_order_and_the_queries():
    """Of equal lengths another order is another plan; and so are queries of another size."""
    equal = Separate(input=Fixed(8), output=Fixed(8))
    plans = [over(SampleSet(8, seed=seed), lengths=equal).plan() for seed in (1, 1, 2)]
    plans += [over(None, lengths=equal).plan()]
    plans += [over(None, lengths=equal, arrivals=Streams(samples=8, min_queries=n)).plan() for n in (1, 2)]
    digests = [plan_digest(plan) for plan in plans]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 5


def test_documents_come_back_as_they_were():
    """Both new parts."""
    workload = over(SampleSet(16, seed=2**64 - 1, each=8), arrivals=Streams(samples=8, equal_issue_samples=16))
    assert decode_workload(encode_workload(workload), "json") == workload


def test_streams_have_enough_after_number_time_and_whole_sets():
    """Each alone is not enough; a set of 12 in queries of 8 is whole after 24."""
    plan = over(None, arrivals=Streams(samples=8, min_duration_ns=100, min_queries=2, equal_issue_samples=12)).plan()
    queries = queries_of(plan)
    assert (plan.concurrency, queries.samples, queries.step) == (8, 8, 24)
    assert [queries.enough(made, 100) for made in (8, 16, 24, 32, 48)] == [False, False, True, False, True]
    assert not queries.enough(24, 99)
    said = plan.describe()
    assert (said["scenario"], said["loop"], said["latency_clock"]) == ("multi-stream", "closed", "issue")
    assert (said["samples_per_query"], said["concurrency"]) == (8, 8)
    assert over(None, arrivals=Streams()).plan().describe()["scenario"] == "single-stream"
    assert queries_of(over(None).plan()) is None
