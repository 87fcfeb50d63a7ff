"""Where a plan stands: its load, its prefix hit, and all that is held against the validated range."""

import dataclasses

import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError, UsageError
from caveat.simulator import changed
from caveat.simulator.model_file import Range, Validated
from caveat.simulator.offered import certain_cv, offered_by, possible_cv
from caveat.simulator.standing import standing_of
from caveat.workload import Burst, Constant, Fixed, Gamma, Limits, Lognormal, Poisson, Separate, Workload
from tests.simulator.models import small
from tests.simulator.plans import Columns, S

EVEN = Separate(input=Fixed(value=100), output=Fixed(value=20))


def offered(arrivals, requests=400, lengths=EVEN):
    return Workload(arrivals=arrivals, lengths=lengths, limits=Limits(requests=requests)).plan()


def with_range(**ranges):
    model = small()
    return msgspec.structs.replace(model, validated=msgspec.structs.replace(model.validated, **ranges))


def shared(prefix_hit="0.0", **settings):
    """A plan whose prompts share half their tokens, on the small model."""
    plan = Columns(
        at_ns=np.arange(100) * S // 10,
        input_tokens=np.full(100, 160),
        output_tokens=np.full(100, 20),
        prefixes=[[1, 2, 3, 4, 5]] * 100,
        block_tokens=16,
    )
    return changed(small(hit=prefix_hit), settings), plan


def test_a_rate_may_be_inside_while_the_load_is_not():
    """Both ends of the load must lie in the range: here the upper one does not, its median does."""
    plan = offered(Constant(rate_qps=10))
    load = standing_of(small(), plan).load.fraction
    assert load.low < load.median < load.high
    above = with_range(load_fraction=Range(low=0.0, high=(load.median + load.high) / 2))
    with pytest.raises(CannotSayError, match=r"load_fraction .* to .*, validated from 0"):
        standing_of(above, plan)
    below = with_range(load_fraction=Range(low=(load.low + load.median) / 2, high=1.0))
    assert len(standing_of(below, plan, extrapolate=True).outside) == 1
    assert standing_of(with_range(load_fraction=Range(low=load.low, high=load.high)), plan).outside == ()


def test_a_burst_is_asked_by_how_many_are_there_at_once():
    """It has no rate; 60 at once were seen, 400 were not."""
    assert standing_of(small(), offered(Burst(), 60)).load is None
    with pytest.raises(CannotSayError, match="concurrency 400, validated from 1 to 64"):
        standing_of(small(), offered(Burst(), 400))


def conversations(turns, every_ns, count):
    """So many conversations one after another, each of several turns that wait for the one before."""
    size = turns * count
    after = np.arange(size) - 1
    after[::turns] = -1
    return Columns(
        at_ns=np.repeat(np.arange(count) * every_ns, turns),
        input_tokens=np.full(size, 100),
        output_tokens=np.full(size, 20),
        after=after,
        think_ns=np.full(size, S // 10),
    )


def test_conversations_have_the_rate_and_the_load_of_all_their_turns():
    """Twenty first turns a second of three turns each are sixty requests a second, and past the range."""
    found = standing_of(small(), conversations(3, S // 20, 100), extrapolate=True)
    assert found.load.rate_per_s == pytest.approx(60.0, rel=0.02)
    assert [said.split()[0] for said in found.outside] == ["rate_per_s"]
    assert standing_of(small(), conversations(3, S // 10, 100)).load.rate_per_s == pytest.approx(30.0, rel=0.02)


@pytest.mark.parametrize(
    ("arrivals", "lengths", "outside"),
    [
        (Constant(rate_qps=10), EVEN, []),
        (Poisson(rate_qps=10), EVEN, []),
        (Gamma(rate_qps=10, cv=6), EVEN, ["arrival_cv"]),
        (
            Poisson(rate_qps=10),
            Separate(input=Lognormal(mean=100, cv=3), output=Fixed(value=20)),
            ["input_cv"],
        ),
    ],
    ids=["even", "independent", "bursty", "uneven prompts"],
)
def test_uneven_arrivals_and_lengths_were_validated_or_are_outside(arrivals, lengths, outside):
    """The small model was held against independent arrivals of equal lengths; what is more even is inside."""
    found = standing_of(
        with_range(input_tokens=Range(low=1, high=1e6)), offered(arrivals, 2000, lengths), extrapolate=True
    )
    assert [said.split()[0] for said in found.outside] == outside


def test_a_spread_is_known_up_to_twice_its_sampling_error():
    """Of 100 values a fifth either way; equal values have none."""
    values = np.random.default_rng(1).exponential(1.0, 100)
    cv = values.std() / values.mean()
    assert [certain_cv(values), possible_cv(values)] == pytest.approx([0.8 * cv, 1.2 * cv])
    assert certain_cv(np.full(9, 7)) == possible_cv(np.full(9, 7)) == certain_cv(np.empty(0, np.int64)) == 0.0


def test_a_plan_with_blocks_brings_its_own_hit_and_says_so():
    """Half of all tokens but the first prompt's; the model's own share is named where it is not used."""
    model, plan = shared("0.9", **{"scheduler.prefix_cache": "true"})
    found = standing_of(model, plan, extrapolate=True)
    assert found.hit == pytest.approx(0.5 * 99 / 100)
    assert found.hit_words.startswith("prefix hit: about 49.5% on this fleet")
    assert "the model's prefix_hit (0.9) is not used" in found.hit_words


def test_a_server_without_a_cache_hits_nothing_and_has_the_load_of_that():
    """The same load as of the plan without what it shares."""
    model, plan = shared()
    found = standing_of(model, plan, extrapolate=True)
    assert (found.hit, "caches nothing" in found.hit_words) == (0.0, True)
    bare = dataclasses.replace(plan, prefixes=(), block_tokens=0)
    assert found.load.fraction == standing_of(model, bare, extrapolate=True).load.fraction


def test_nothing_is_taken_as_zero_and_nothing_given_is_ignored():
    """Whether a server of unknown hit caches is not known; a share beside blocks would not be used."""
    model, plan = shared('"unknown"')
    with pytest.raises(CannotSayError, match="whether the server caches"):
        standing_of(model, plan, extrapolate=True)
    assert standing_of(model, plan, prefix_hit=0.0, extrapolate=True).hit == 0.0
    with pytest.raises(UsageError, match=r"found 0\.9 beside a plan"):
        standing_of(model, plan, prefix_hit=0.9, extrapolate=True)


def test_an_empty_range_leaves_everything_outside():
    """And a plan without requests is none."""
    bare = msgspec.structs.replace(small(), validated=Validated())
    names = [said.split()[0] for said in standing_of(bare, offered(Poisson(rate_qps=10)), extrapolate=True).outside]
    assert names == ["input_tokens", "output_tokens", "arrival_cv", "rate_per_s"]
    with pytest.raises(CannotSayError, match="a plan without requests"):
        offered_by(Columns(at_ns=(), input_tokens=(), output_tokens=()))
