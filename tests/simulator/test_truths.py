"""Queueing theory: where it is exact the simulator must agree.

In two links, each of them sharp. The simulator against a path worked out by hand on the same arrivals and work
(paths.py): to the nanosecond, request by request. And that path against theory: there a million requests cost a second,
and controls take away most of the noise, so that 3 % of a mean would be noticed; `within` fails where they would not.
"""

import math

import numpy as np
import pytest

from caveat.simulator.feed import Feed
from caveat.simulator.fleet import Fleet
from caveat.simulator.replica import Replica
from caveat.simulator.routers import ROUTERS, Routing
from caveat.simulator.scheduler import Scheduler
from caveat.simulator.target import SimulatedServer
from tests.simulator.paths import (
    any_of,
    decode_path,
    first_of_the_least,
    in_turn,
    less_busy_of_two,
    lindley_ends,
    routed_path,
    servers_ends,
)
from tests.simulator.plans import MS, Columns, S, affine, poisson, serve
from tests.simulator.queues import (
    bulk_wait,
    controls_of,
    erlang_arrivals_wait,
    erlang_c,
    lindley,
    shorter_of_two_lines,
    state_dependent,
    within,
)

ONE_SEAT = Scheduler(max_num_seqs=1, token_budget=1 << 20)
TOKEN_NS = 100_000  # a prompt token where the prompt is the work


def exponential(rng, count):
    return rng.exponential(1.0, count)


def constant(rng, count):
    return np.ones(count)


def lognormal(rng, count):
    """Mean 1, squared coefficient of variation 4."""
    return rng.lognormal(-math.log(5) / 2, math.sqrt(math.log(5)), count)


def prompts_of(rng, law, count):
    """Work of mean 1 s as prompts of one answer token."""
    return np.maximum(1, np.rint(law(rng, count) * S / TOKEN_NS)).astype(np.int64)


# One seat: M/M/1, M/D/1, M/G/1


@pytest.mark.parametrize("law", [exponential, constant, lognormal])
@pytest.mark.parametrize("load", [0.5, 0.8, 1.2])
def test_one_seat_is_the_lindley_recursion(law, load):
    """Every end to the nanosecond, also where the queue grows without end."""
    rng = np.random.default_rng(1)
    at_ns, prompts = poisson(rng, load, 3000), prompts_of(rng, law, 3000)
    plan = Columns(at_ns, prompts, np.ones_like(prompts))
    served = serve(SimulatedServer(affine(token_ms=TOKEN_NS / MS), ONE_SEAT), plan)
    assert served.ints("end_ns").tolist() == lindley_ends(at_ns, prompts * TOKEN_NS).tolist()


@pytest.mark.parametrize(
    ("law", "square", "load", "count"),
    [(exponential, 2, 0.8, 4_000_000), (constant, 1, 0.8, 3_000_000), (lognormal, 5, 0.7, 4_000_000)],
)
def test_the_lindley_recursion_is_theory(law, square, load, count):
    """Pollaczek and Khinchine's mean wait and the share of who does not wait; at 80 % M/M/1 has p50 3.4657 and p95
    14.9787 in the system, M/D/1 1.2759 and 6.6203 in the line."""
    rng = np.random.default_rng(1)
    gaps_s, work_s = rng.exponential(1 / load, count), law(rng, count)
    waits_s = lindley(np.cumsum(gaps_s), work_s)
    known = [(gaps_s, 1 / load), (work_s, 1.0), (work_s**2, float(square))]
    within(waits_s, load * square / 2 / (1 - load), controls=known)
    within((waits_s < 1e-9).astype(float), 1 - load, controls=known)
    if law is lognormal:
        return
    seen, median, p95 = (waits_s + work_s, 3.4657, 14.9787) if law is exponential else (waits_s, 1.2759, 6.6203)
    within((seen <= median).astype(float), 0.5, controls=known)
    within((seen > p95).astype(float), 0.05, controls=known, notices=0.1)  # a tenth of the share: 3 % of the p95 itself


# Answers only: M/M/c, processor sharing, a birth-death chain


def no_worse(n):
    """A step that costs the same whoever is in it: independent servers."""
    return MS


def in_parts(n):
    """A step that costs by the head: processor sharing."""
    return MS // 2 * n


def batched(n):
    """A step with a part for all and one for each."""
    return MS + MS // 100 * n


STEPS = {no_worse: affine(step_ms=1), in_parts: affine(sequence_ms=0.5, token_ms=0.5)}
STEPS[batched] = affine(step_ms=1, sequence_ms=0.01, token_ms=0.01)


@pytest.mark.parametrize("step_ns", list(STEPS))
@pytest.mark.parametrize(("seats", "fixed_slots"), [(2, True), (8, True), (64, False), (10_000, False)])
@pytest.mark.parametrize("load", [0.8, 1.1])
def test_answers_are_the_path_by_hand(step_ns, seats, fixed_slots, load):
    """First and last tokens to the nanosecond, with seats and slots, below and above what can be carried."""
    rng = np.random.default_rng(seats)
    tokens = rng.geometric(1 / 200, 1500)
    full_ns = min(seats, 64)
    at_ns = poisson(rng, load * full_ns / (200 * step_ns(full_ns)) * S, 1500)
    many = {"static_slots": seats} if fixed_slots else {"max_num_seqs": seats}
    scheduler = Scheduler(token_budget=1 << 20, **many)
    served = serve(SimulatedServer(STEPS[step_ns], scheduler), Columns(at_ns, np.ones_like(tokens), tokens))
    firsts, lasts = decode_path(at_ns, tokens, step_ns, seats)
    assert served.ints("first_token_ns").tolist() == firsts.tolist()
    assert served.ints("end_ns").tolist() == lasts.tolist()


@pytest.mark.parametrize(("slots", "count"), [(2, 200_000), (4, 400_000), (8, 700_000)])
def test_slots_with_equal_steps_are_mmc(slots, count):
    """At 80 % (90 % of eight): mean wait, who waits, and who waits longer than a second. A step is a thousandth."""
    rng = np.random.default_rng(slots)
    load = slots * (0.9 if slots == 8 else 0.8)
    at_ns, tokens = poisson(rng, load, count), rng.geometric(1 / 1000, count)
    ends_ns = decode_path(at_ns, tokens, no_worse, slots)[1]
    waits_s = (ends_ns - at_ns) / S - tokens / 1000
    known = controls_of(load, np.diff(at_ns, prepend=0) / S, tokens / 1000 / slots, 1 / slots, 2.0)
    waiting = erlang_c(slots, load)
    within(waits_s, waiting / (slots - load), controls=known, slack=0.001)
    within((waits_s > 0.001).astype(float), waiting, controls=known, slack=0.001)
    within((waits_s > 1).astype(float), waiting * math.exp(load - slots), controls=known, slack=0.001, notices=0.06)


def test_one_line_for_all_is_the_same_queue():
    """The slots by hand beside the recursion of a line with several servers: never earlier, a step later at most."""
    rng = np.random.default_rng(3)
    at_ns, tokens = poisson(rng, 3.2, 50_000), rng.geometric(1 / 1000, 50_000)
    late_ns = decode_path(at_ns, tokens, no_worse, 4)[1] - servers_ends(at_ns, tokens * MS, 4)
    assert late_ns.min() >= 0 and late_ns.mean() <= MS


def fixed(rng, count):
    return np.full(count, 2000)


def geometric(rng, count):
    return rng.geometric(1 / 2000, count)


def two_kinds(rng, count):
    return np.where(rng.random(count) < 0.8, 500, 8000)


@pytest.mark.parametrize(("law", "square"), [(fixed, 1.0), (geometric, 2.0), (two_kinds, 3.25)])
def test_decoding_is_processor_sharing_and_does_not_care_for_the_law(law, square):
    """A step of c x n: a job of size x takes x / (1 - load) on average, whatever the law of sizes."""
    rng = np.random.default_rng(8)
    load, token_s, count = 0.7, 0.0005, 150_000
    tokens, at_ns = law(rng, count), poisson(rng, 0.7, count)
    in_system_s = (decode_path(at_ns, tokens, in_parts, count)[1] - at_ns) / S
    known = controls_of(load, np.diff(at_ns, prepend=0) / S, tokens * token_s, 1.0, square)
    within(in_system_s, 1 / (1 - load), controls=known, slack=0.005)
    within(in_system_s / (tokens * token_s), 1 / (1 - load), controls=known, slack=0.04 if law is geometric else 0.005)
    if law is two_kinds:
        for size in (500, 8000):
            share = (tokens == size) * in_system_s / np.mean(tokens == size)
            within(share, size * token_s / (1 - load), controls=known, slack=0.005)


@pytest.mark.parametrize(("rate", "sequence_ms"), [(2.0, 0.02), (17.0, 0.01)])
def test_a_decode_only_replica_is_a_birth_death_chain(rate, sequence_ms):
    """Step a + c n, 64 seats, answers of 2,000 tokens at 1 ms + c n: mean in the system, by Little's law."""
    rng = np.random.default_rng(5)
    count = 150_000
    at_ns, tokens = poisson(rng, rate, count), rng.geometric(1 / 2000, count)
    ends_ns = decode_path(at_ns, tokens, lambda n: MS + round(sequence_ms * MS) * n, 64)[1]
    token_s = (1e-3 + 64 * sequence_ms / 1e3) / 64  # in a full batch
    known = controls_of(rate, np.diff(at_ns, prepend=0) / S, tokens * token_s, 2000 * token_s, 2.0)
    inside, _, _ = state_dependent(rate, 2000, 1e-3, sequence_ms / 1e3, 64)
    within((ends_ns - at_ns) / S, inside / rate, controls=known, slack=0.002)


# Prompts in batches


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


@pytest.mark.parametrize(("load_per_batch", "size"), [(3.0, 4), (12.0, 16)])
def test_prompts_in_batches_are_a_bulk_queue(load_per_batch, size):
    """Steps of one second that take up to K prompts: the path by hand to the nanosecond, and the embedded chain."""
    rng = np.random.default_rng(6)
    at_ns = poisson(rng, load_per_batch, 40_000 * size)
    ends, left_behind = _bulk_path(at_ns, size)
    within(np.array(left_behind, float), bulk_wait(load_per_batch, size), notices=0.05)
    few = at_ns[:5000]
    server = SimulatedServer(affine(step_ms=1000), Scheduler(max_num_seqs=size))
    served = serve(server, Columns(few, np.ones_like(few), np.ones_like(few)))
    assert served.ints("end_ns").tolist() == ends[:5000]


# Closed loops and capacity


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


# Routers

PICKS = {
    "round-robin": lambda seed: in_turn,
    "random": any_of,
    "least-outstanding": lambda seed: first_of_the_least,
    "power-of-two": less_busy_of_two,
}


def routed(plan, router, replicas, seed):
    """Where each request went, and when it ended."""
    fleet = [Replica(ONE_SEAT, affine(token_ms=TOKEN_NS / MS)) for _ in range(replicas)]
    found = {}
    run = Fleet(
        fleet,
        ROUTERS[router](fleet, Routing(router=router, seed=seed)),
        Feed(plan),
        lambda request, end_fs, error: found.update({request.number: (request.place, end_fs // 1_000_000)}),
    )
    for _ in run.run():
        pass
    return [found[number] for number in range(len(plan.at_ns))]


@pytest.mark.parametrize("router", list(PICKS))
@pytest.mark.parametrize(("replicas", "seed"), [(1, 0), (2, 7), (5, 3), (100, (1 << 64) - 1)])
def test_every_request_goes_where_a_replay_of_the_router_says(router, replicas, seed):
    """The same replica and the same end, to the nanosecond, with ends and arrivals at one instant among them."""
    if router == "power-of-two" and replicas == 1:
        router = "least-outstanding"  # there are no two
    rng = np.random.default_rng(replicas)
    at_ns = poisson(rng, 0.9 * replicas, 2000) // (S // 20) * (S // 20)  # on a grid of a twentieth
    prompts = rng.integers(1, 40, 2000) * (S // 20 // TOKEN_NS)
    found = routed(Columns(at_ns, prompts, np.ones_like(prompts)), router, replicas, seed)
    places, ends_ns = routed_path(at_ns, prompts * TOKEN_NS, replicas, PICKS[router](seed))
    assert [place for place, _ in found] == places
    assert [end for _, end in found] == ends_ns.tolist()


def path_waits_s(pick, servers, count, load=0.8):
    """Waits, and the controls, which know the mean of one server that does all the work."""
    rng = np.random.default_rng(11)
    work_s, at_ns = rng.exponential(1.0, count), poisson(rng, load * servers, count)
    ends_ns = routed_path(at_ns, np.rint(work_s * S).astype(np.int64), servers, pick)[1]
    known = controls_of(load * servers, np.diff(at_ns, prepend=0) / S, work_s / servers, 1 / servers, 2.0)
    return (ends_ns - at_ns) / S - work_s, known


def test_each_in_turn_makes_erlang_arrivals():
    """Of four replicas at 80 % each sees E4/M/1: a wait of 2.267, where random ones wait 4."""
    rng = np.random.default_rng(2)
    count = 6_000_000
    at_s, work_s = np.cumsum(rng.exponential(1 / 3.2, count)), rng.exponential(1.0, count)
    waits_s = np.concatenate([lindley(at_s[first::4], work_s[first::4]) for first in range(4)])
    within(waits_s, erlang_arrivals_wait(4, 0.8))


def test_a_random_choice_keeps_arrivals_poisson():
    """The router's own stream thins a Poisson stream into M/M/1: at 60 % two fifths do not wait, the mean is 1.5."""
    waits_s, known = path_waits_s(any_of(3), 4, 500_000, load=0.6)
    within((waits_s < 1e-8).astype(float), 0.4, controls=known)
    within(waits_s, 1.5, controls=known)


def test_the_shorter_of_two_lines_is_its_chain():
    """Two replicas at 80 %, the exact chain of both lengths; two choices out of two are the same queue."""
    truth = shorter_of_two_lines(0.8)
    for pick in (first_of_the_least, less_busy_of_two(1)):
        waits_s, known = path_waits_s(pick, 2, 250_000)
        within(waits_s, truth, controls=known)


def test_two_choices_are_nearly_as_good_as_all():
    """100 replicas at 80 %: time in the system 1 + 0.8^2 + 0.8^6 + ... = 1.947 in the limit of many replicas."""
    limit = sum(0.8 ** (2**i - 2) for i in range(1, 8))
    waits_s, known = path_waits_s(less_busy_of_two(3), 100, 400_000)
    within(1 + waits_s, limit, controls=known, slack=0.01 * limit)


def test_the_least_busy_lies_between_one_line_and_two_choices():
    """Knowing all lengths cannot beat one common queue (M/M/4), and must beat two choices."""
    best = erlang_c(4, 3.2) / (4 - 3.2)
    least, two = (path_waits_s(pick, 4, 60_000)[0] for pick in (first_of_the_least, less_busy_of_two(3)))
    assert best < least.mean() < two.mean()


# A prompt that meets a decoding batch


def test_light_load_waits_half_a_step_and_takes_one():
    """While another decodes in steps of t: the next boundary after the intake, and a step; that is evenly spread
    between d + t and d + 2 t."""
    rng = np.random.default_rng(14)
    intake_ns, step_ns = 20 * MS, 10 * MS
    at_ns = np.concatenate(([0], poisson(rng, 1.0, 3000) + 10 * S))
    tokens = np.concatenate(([2_000_000], np.ones(3000, np.int64)))
    served = serve(SimulatedServer(affine(step_ms=10), Scheduler(intake_s=0.02)), Columns(at_ns, np.ones(3001), tokens))
    joins_ns = -(-(at_ns + intake_ns) // step_ns) * step_ns
    assert served.ints("first_token_ns").tolist() == (joins_ns + step_ns).tolist()
    many_ns = poisson(rng, 1.0, 400_000)
    ttft_s = (-(-(many_ns + intake_ns) // step_ns) * step_ns + step_ns - many_ns) / S
    within((ttft_s <= 0.035).astype(float), 0.5)
    within((ttft_s > 0.0395).astype(float), 0.05, notices=0.05)
    within(ttft_s, 0.035, notices=0.005)
