"""Queueing theory: where it is exact the simulator must agree, within its own error at 99.9 % confidence.

Every estimate is made from a short run, and from one ten times as long where `full` tests are asked for.
"""

import math

import numpy as np
import pytest

from caveat.simulator.routers import Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer
from tests.simulator.plans import Columns, S, affine, poisson, serve
from tests.simulator.queues import (
    bulk_wait,
    erlang_arrivals_wait,
    erlang_c,
    estimate,
    lindley,
    state_dependent,
    within,
)

ONE_SEAT = Scheduler(max_num_seqs=1, token_budget=1 << 20)
TOKENS_PER_S = 10_000


@pytest.fixture(params=[pytest.param(1, id="short"), pytest.param(10, id="long", marks=pytest.mark.full)])
def times(request):
    """How many times the short run."""
    return request.param


def single_server(rng, load, work_s, scheduler=ONE_SEAT, **options):
    """Requests that are one prompt each; returns arrivals, work and time in the system, in seconds."""
    at_ns = poisson(rng, load, len(work_s))
    tokens = np.maximum(1, np.rint(work_s * TOKENS_PER_S)).astype(np.int64)
    server = SimulatedServer(affine(token_ms=1e3 / TOKENS_PER_S), scheduler, **options)
    served = serve(server, Columns(at_ns, tokens, np.ones_like(tokens)))
    return at_ns / S, tokens / TOKENS_PER_S, served.e2e_s()


def exponential(rng, count):
    return rng.exponential(1.0, count)


def constant(rng, count):
    return np.ones(count)


def lognormal(rng, count):
    """Mean 1, squared coefficient of variation 4."""
    return rng.lognormal(-math.log(5) / 2, math.sqrt(math.log(5)), count)


@pytest.mark.parametrize(("law", "scv"), [(exponential, 1), (constant, 0), (lognormal, 4)])
def test_one_seat_is_the_lindley_recursion(law, scv, times):
    """M/M/1, M/D/1, M/G/1 on one path: every wait to the nanosecond; their mean is Pollaczek and Khinchine's."""
    rng = np.random.default_rng(1)
    load, count = 0.7, 30_000 * times
    at_s, work_s, e2e_s = single_server(rng, load, law(rng, count))
    waits_s = e2e_s - work_s
    assert np.abs(waits_s - lindley(at_s, work_s)).max() < 1e-6
    within(waits_s, load * (1 + scv) / 2 / (1 - load), slack=0.01)


def test_mm1_at_80_percent(times):
    """W 5, p50 3.4657, p95 14.9787; P(no wait) 0.2."""
    rng = np.random.default_rng(4)
    _, work_s, e2e_s = single_server(rng, 0.8, exponential(rng, 80_000 * times))
    within(e2e_s, 5.0)
    within((e2e_s <= 3.4657).astype(float), 0.5)
    within((e2e_s > 14.9787).astype(float), 0.05)
    within((e2e_s - work_s < 1e-6).astype(float), 0.2)


def test_md1_at_80_percent(times):
    """Wq 2; Wq p50 1.2759, p95 6.6203."""
    rng = np.random.default_rng(3)
    _, work_s, e2e_s = single_server(rng, 0.8, constant(rng, 40_000 * times))
    within(e2e_s - work_s, 2.0)
    within((e2e_s - work_s <= 1.2759).astype(float), 0.5)
    within((e2e_s - work_s > 6.6203).astype(float), 0.05)


@pytest.mark.parametrize(("slots", "load"), [(2, 1.6), (4, 3.2), (8, 7.2)])
def test_static_slots_are_mmc(slots, load, times):
    """Steps that cost the same whoever is in them make independent servers: Erlang C. A step is a thousandth."""
    rng = np.random.default_rng(slots)
    count = 30_000 * times
    tokens = rng.geometric(1 / 1000, count)
    server = SimulatedServer(affine(step_ms=1), Scheduler(static_slots=slots, token_budget=1 << 20))
    served = serve(server, Columns(poisson(rng, load, count), np.ones(count, np.int64), tokens))
    waits_s = served.e2e_s() - tokens / 1000
    waiting = erlang_c(slots, load)
    within(waits_s, waiting / (slots - load), slack=0.002)
    within((waits_s > 0.001).astype(float), waiting, slack=0.005)


def fixed(rng, count):
    return np.full(count, 2000)


def geometric(rng, count):
    return rng.geometric(1 / 2000, count)


def two_kinds(rng, count):
    return np.where(rng.random(count) < 0.8, 500, 8000)


@pytest.mark.parametrize("law", [fixed, geometric, two_kinds])
def test_decoding_is_processor_sharing_and_does_not_care_for_the_law(law, times):
    """A step of c x n: a job of size x takes x / (1 - load) on average, whatever the law of sizes."""
    rng = np.random.default_rng(8)
    load, token_s, count = 0.7, 0.0005, 20_000 * times
    tokens = law(rng, count)
    served = serve(
        SimulatedServer(affine(sequence_ms=0.5, token_ms=0.5), Scheduler(max_num_seqs=10_000, token_budget=1 << 20)),
        Columns(poisson(rng, load / (2000 * token_s), count), np.ones(count, np.int64), tokens),
    )
    within(served.e2e_s() / (tokens * token_s), 1 / (1 - load), slack=0.01 if law is not geometric else 0.1)
    if law is two_kinds:
        for size in (500, 8000):
            within(served.e2e_s()[tokens == size], size * token_s / (1 - load), slack=0.005)


@pytest.mark.parametrize(("rate", "sequence_ms"), [(2.0, 0.02), (17.0, 0.01)])
def test_a_decode_only_replica_is_a_birth_death_chain(rate, sequence_ms, times):
    """Step a + c n, 64 seats, answers of 2,000 tokens at 1 ms + c n: mean in the system and mean wait."""
    rng = np.random.default_rng(5)
    count = 20_000 * times
    scheduler = Scheduler(max_num_seqs=64, token_budget=1 << 20)
    served = serve(
        SimulatedServer(affine(step_ms=1, sequence_ms=sequence_ms, token_ms=sequence_ms), scheduler),
        Columns(poisson(rng, rate, count), np.ones(count, np.int64), rng.geometric(1 / 2000, count)),
    )
    inside, waiting, _ = state_dependent(rate, 2000, 1e-3, sequence_ms / 1e3, 64)
    within(served.e2e_s(), inside / rate, slack=0.001)
    ttft_s = served.ttft_s()
    mean, half = estimate(ttft_s)
    assert abs(mean - waiting / rate) <= half + 0.003  # a step and a half beside the wait for a seat


@pytest.mark.parametrize(("load_per_batch", "size"), [(3.0, 4), (12.0, 16)])
def test_prompts_in_batches_are_a_bulk_queue(load_per_batch, size, times):
    """Steps of one second that take up to K prompts: the path by hand to the nanosecond, and the embedded chain."""
    rng = np.random.default_rng(6)
    count = 20_000 * times
    at_ns = poisson(rng, load_per_batch, count)
    server = SimulatedServer(affine(step_ms=1000), Scheduler(max_num_seqs=size))
    served = serve(server, Columns(at_ns, np.ones(count, np.int64), np.ones(count, np.int64)))
    ends, left_behind = _bulk_path(at_ns, size)
    assert served.ints("end_ns").tolist() == ends
    within(np.array(left_behind, float), bulk_wait(load_per_batch, size), slack=0.01)


def _bulk_path(at_ns, size):
    ends, left, now, begin = [], [], 0, 0
    while begin < len(at_ns):
        now = max(now, int(at_ns[begin]))
        taken = int(np.searchsorted(at_ns[begin : begin + size], now, side="right"))
        now += S
        ends += [now] * taken
        begin += taken
        left.append(int(np.searchsorted(at_ns, now, side="right")) - begin)
    return ends, left[: len(left) - len(left) // 50]


def test_a_closed_loop_is_exact():
    """32 users, answers of 200 tokens, 10 ms + 0.1 ms a sequence: X = 32 / (200 x 13.2 ms) = 12.1212/s, no error."""
    count = 32 * 20
    plan = Columns(np.zeros(count), np.ones(count), np.full(count, 200), concurrency=32)
    served = serve(SimulatedServer(affine(step_ms=10, sequence_ms=0.1, token_ms=0.1)), plan)
    assert np.unique(served.ints("end_ns") - served.ints("ready_ns")).tolist() == [2_640_000_000]
    assert served.internals.span_s == pytest.approx(count / 12.12121212, rel=1e-9)


def test_a_closed_loop_of_different_answers_has_the_same_rate():
    """Tokens a second are 32 / 13.2 ms whatever the answers, as long as 32 are there."""
    rng = np.random.default_rng(2)
    tokens = rng.integers(1, 400, 2000)
    plan = Columns(np.zeros(2000), np.ones(2000), tokens, concurrency=32)
    served = serve(SimulatedServer(affine(step_ms=10, sequence_ms=0.1, token_ms=0.1)), plan)
    full = served.s("ready_ns") < served.s("ready_ns").max() - 6
    assert np.allclose(served.e2e_s()[full], tokens[full] * 0.0132, rtol=1e-12)


def test_capacity_with_prefill():
    """1 / (E[O] (a/B + c + d ctx) + b E[I]) = 12.467 requests/s, here with 256 kept in flight."""
    count = 256 * 12
    rng = np.random.default_rng(9)
    outputs = rng.integers(1, 422, count)
    prompts = np.full(count, 1155)
    plan = Columns(np.zeros(count), prompts, outputs, concurrency=256)
    served = serve(SimulatedServer(affine(8, 0.05, 0.05, 2e-5), Scheduler(token_budget=8192)), plan)
    mean = outputs.mean()
    context = (prompts * outputs + outputs**2 / 2).mean() / mean
    truth = 1 / (mean * (8e-3 / 256 + 5e-5 + 2e-8 * context) + 5e-5 * 1155)
    ends = np.sort(served.s("end_ns"))
    middle = ends[(ends > 40) & (ends < ends[-257])]
    assert len(middle) / (middle[-1] - middle[0]) == pytest.approx(truth, rel=0.02)


def test_beyond_its_capacity_the_queue_grows_without_end():
    """At 12.2 requests/s of 12.467 the wait stays, at 13.2 it grows for as long as requests come."""
    count = 4000
    growth = {}
    for rate in (12.2, 13.2):
        rng = np.random.default_rng(10)
        plan = Columns(poisson(rng, rate, count), np.full(count, 1155), np.full(count, 211))
        ttft_s = serve(SimulatedServer(affine(8, 0.05, 0.05, 2e-5), Scheduler(token_budget=8192)), plan).ttft_s()
        growth[rate] = ttft_s[-500:].mean() - ttft_s[1500:2000].mean()
    assert growth[13.2] > 5 > growth[12.2]


def replicated(rng, router, replicas, load, count):
    options = {"replicas": replicas, "routing": Routing(router=router, seed=3)}
    _, work_s, e2e_s = single_server(rng, load * replicas, exponential(rng, count), **options)
    return e2e_s - work_s


def test_round_robin_makes_erlang_arrivals_and_random_keeps_them_poisson(times):
    """Of four replicas at 80 %: each sees E4/M/1 or M/M/1, waits of 2.42 or 4."""
    for router, wait in (("round-robin", erlang_arrivals_wait(4, 0.8)), ("random", 4.0)):
        waits_s = replicated(np.random.default_rng(11), router, 4, 0.8, 40_000 * times)
        within(waits_s, wait)


def test_two_choices_are_nearly_as_good_as_all(times):
    """100 replicas at 80 %: time in the system 1 + 0.8^2 + 0.8^6 + ... = 1.947 in the limit of many replicas."""
    truth = sum(0.8 ** (2**i - 2) for i in range(1, 8))
    waits_s = replicated(np.random.default_rng(12), "power-of-two", 100, 0.8, 20_000 * times)
    within(waits_s, truth - 1, slack=0.05 * (truth - 1))


def test_least_outstanding_lies_between_one_queue_and_two_choices(times):
    """Knowing all lengths cannot beat one common queue (M/M/4), and must beat two choices."""
    best = erlang_c(4, 3.2) / (4 - 3.2)
    least, two = (
        replicated(np.random.default_rng(13), router, 4, 0.8, 20_000 * times)
        for router in ("least-outstanding", "power-of-two")
    )
    mean, half = estimate(least)
    assert best - half < mean < two.mean()


def test_light_load_waits_half_a_step_and_takes_one(times):
    """While another decodes in steps of t: TTFT p50 = d + 1.5 t, p95 = d + 1.95 t."""
    rng = np.random.default_rng(14)
    count = 10_000 * times
    at_ns = np.concatenate(([0], poisson(rng, 1.0, count) + 10 * S))
    tokens = np.concatenate(([2_000_000 * times], np.ones(count, np.int64)))
    scheduler = Scheduler(intake_s=0.02)
    served = serve(SimulatedServer(affine(step_ms=10), scheduler), Columns(at_ns, np.ones(count + 1), tokens))
    ttft_s = served.ttft_s()[1:]
    for share, expected in ((0.5, 0.035), (0.95, 0.0395)):
        within((ttft_s <= expected).astype(float), share)
