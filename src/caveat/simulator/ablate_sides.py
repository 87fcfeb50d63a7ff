"""The two sides of each ablation: which server is offered which plan with a technique off and on, or why none is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import msgspec

from caveat.errors import InputError, UsageError
from caveat.simulator.assumed_prefix import with_assumed_prefix
from caveat.simulator.capacity import Interval
from caveat.simulator.changed_plans import Independent, OneShape
from caveat.simulator.disaggregation import Disaggregation
from caveat.simulator.fleet_table import FleetTable
from caveat.simulator.model_file import Model, Range
from caveat.simulator.modelled import server_of
from caveat.simulator.routers import Routing
from caveat.simulator.scheduler import Speculation
from caveat.simulator.standing import standing_of
from caveat.simulator.step_models import RooflineSteps
from caveat.simulator.target import SimulatedServer
from caveat.workload import Plan

Technique = Literal[
    "prefix reuse",
    "prefix-aware routing",
    "least-outstanding routing",
    "speculative decoding",
    "disaggregation",
    "mixed lengths",
    "arrivals as they came",
]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)
OFF = "off"


class Assumed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How techniques are set that the model does not have itself.

    speculation          drafts of 3 tokens, 0.7 of them accepted, drafting for a tenth of a step
    prefill_share        of the replicas that compute prompts; None: by the work that prompts make of the whole
    kv_bytes_per_token   None: from the model's shape, where its step is a roofline
    link_bytes_per_s     50e9: 400 Gbit/s, one link for the fleet
    stale_s              age of the prefix-aware router's picture
    seed                 of independent arrivals
    """

    speculation: Speculation | None = None
    prefill_share: float | None = None
    kv_bytes_per_token: float | None = None
    link_bytes_per_s: float = 50e9
    links: int = 1
    stale_s: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.prefill_share is not None and not 0 < self.prefill_share < 1:
            raise InputError(
                f"assumed: prefill_share: found {self.prefill_share}, expected more than 0 and less than 1"
            )


class Offer(NamedTuple):
    """Who is offered what; `model` is the server's as a model file would say it, for its load."""

    server: SimulatedServer
    plan: Plan
    model: Model

    def load(self) -> Interval | None:
        """Load fraction of the plan on that model; None where the plan sets no rate."""
        found = standing_of(self.model, self.plan, extrapolate=True).load
        return None if found is None else found.fraction


Maker = Callable[[int | None], Offer]


class Sides(NamedTuple):
    """A pair: each side by draw of the model (None: its best guess). `off_key` tells equal sides of several pairs."""

    technique: Technique
    off: Maker | None = None
    on: Maker | None = None
    off_key: str = "plain"
    on_key: str = ""
    assumed: str = ""
    reason: str = ""

    def offer(self, name: str, draw: int | None) -> Offer:
        """One of the two."""
        made = self.off if name == OFF else self.on
        assert made is not None  # or there is a reason
        return made(draw)

    def key(self, name: str) -> str:
        """By which equal sides are known."""
        return self.off_key if name == OFF else self.on_key or self.technique


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    model: Model
    plan: Plan
    assumed: Assumed
    seats: int | None
    dependent: bool

    def offer(
        self,
        draw: int | None,
        plan: Plan | None = None,
        *,
        cached: bool = False,
        routing: Routing | None = None,
        speculation: Speculation | None = None,
        disaggregation: Disaggregation | None = None,
    ) -> Offer:
        """The plan, or another, to the model with all techniques off, but for what is given."""
        how, replicas = routing or Routing(), self.model.fleet.replicas
        table = msgspec.structs.replace(self.model.scheduler, speculation=speculation, prefix_cache=cached)
        fleet = FleetTable(
            replicas=replicas,
            router=how.router,
            stale_s=how.stale_s,
            most_behind=how.most_behind,
            disaggregation=disaggregation,
        )
        if self.seats is not None:
            table = msgspec.structs.replace(table, max_num_seqs=self.seats)
        model = msgspec.structs.replace(self.model, scheduler=table, fleet=fleet, prefix_hit=0.0)
        return Offer(server_of(model, draw=draw), self.plan if plan is None else plan, model)

    def plain(self, draw: int | None) -> Offer:
        """The plan as it is, all techniques off."""
        return self.offer(draw)

    def cached_plan(self) -> Plan | None:
        """The plan with what its prompts share; None where nobody knows of anything."""
        hit = self.model.prefix_hit
        if self.plan.block_tokens or hit == "unknown":
            return self.plan if self.plan.block_tokens else None
        share = (hit.low + hit.high) / 2 if isinstance(hit, Range) else hit
        return with_assumed_prefix(self.plan, share, self.model.scheduler.block_tokens) if share else None


def sides_of(
    model: Model, plan: Plan, assumed: Assumed, techniques: Sequence[Technique], seats: int | None, *, dependent: bool
) -> list[Sides]:
    """A pair for each technique. UsageError for one that there is not, and for several models: a plan is for one."""
    if model.fleet.several_models is not None:
        raise UsageError(
            "ablation: found fleet.several_models, expected one model: what a technique is worth differs between them",
            next="--set fleet.several_models=none",
        )
    for name in techniques:
        if name not in TECHNIQUES:
            raise UsageError(f"technique: found {name!r:.60}, expected one of {', '.join(TECHNIQUES)}")
    limit = model.scheduler.max_num_seqs
    if seats is None and isinstance(limit, Range):
        seats = round((limit.low + limit.high) / 2)
    case = _Case(model=model, plan=plan, assumed=assumed, seats=seats, dependent=dependent)
    return [_MADE[name](case) for name in (techniques or TECHNIQUES)]


def _prefix_reuse(case: _Case) -> Sides:
    plan = case.cached_plan()
    if plan is None:
        return Sides("prefix reuse", reason=_NOTHING_SHARED)
    assumed = "" if case.plan.block_tokens else "every prompt begins alike for the model's prefix_hit of its length"
    return Sides("prefix reuse", case.plain, lambda draw: case.offer(draw, plan, cached=True), assumed=assumed)


def _prefix_routing(case: _Case) -> Sides:
    if case.model.fleet.replicas < 2:
        return Sides("prefix-aware routing", reason=_ONE_REPLICA)
    if not case.plan.block_tokens:
        return Sides("prefix-aware routing", reason=_NOTHING_SHARED)
    routing = Routing(router="prefix-aware", stale_s=case.assumed.stale_s)
    return Sides(
        "prefix-aware routing",
        lambda draw: case.offer(draw, cached=True),
        lambda draw: case.offer(draw, cached=True, routing=routing),
        off_key="prefix reuse",
        assumed=f"both sides with a prefix cache; the router's picture of the caches is {routing.stale_s:g} s old",
    )


def _routing(case: _Case) -> Sides:
    if case.model.fleet.replicas < 2:
        return Sides("least-outstanding routing", reason=_ONE_REPLICA)
    routing = Routing(router="least-outstanding")
    return Sides("least-outstanding routing", case.plain, lambda draw: case.offer(draw, routing=routing))


def _speculative(case: _Case) -> Sides:
    own = case.model.scheduler.speculation
    setting = own or case.assumed.speculation
    step_s = case.model.step_time.step_time().pieces[0].step_s
    chosen = setting or Speculation(draft_tokens=3, acceptance=0.7, draft_step_s=0.1 * step_s)
    assumed = "" if own else f"drafts of {chosen.draft_tokens} tokens, acceptance {chosen.acceptance:g}"
    return Sides(
        "speculative decoding",
        case.plain,
        lambda draw: case.offer(draw, speculation=chosen),
        assumed=assumed,
    )


def _disaggregated(case: _Case) -> Sides:
    replicas, a = case.model.fleet.replicas, case.assumed
    if replicas < 2:
        return Sides("disaggregation", reason=_ONE_REPLICA)
    own = case.model.shape().disaggregation
    if own is not None:
        return _split(case, own, f"decode replicas by {own.decode_router}; as the model has it")
    step = case.model.step_time
    kv_bytes = a.kv_bytes_per_token
    if kv_bytes is None and isinstance(step, RooflineSteps):
        kv_bytes = step.replica.kv_bytes_per_token
    if kv_bytes is None:
        return Sides("disaggregation", reason="the bytes of keys and values of a token are not known: give them")
    share = _prefill_share(case) if a.prefill_share is None else a.prefill_share
    split = Disaggregation(
        prefill_replicas=min(max(1, round(share * replicas)), replicas - 1),
        kv_bytes_per_token=kv_bytes,
        link_bytes_per_s=a.link_bytes_per_s,
        links=a.links,
        decode_router="round-robin",  # as the other side has it: one thing is changed
    )
    return _split(case, split, "round robin everywhere")


def _split(case: _Case, split: Disaggregation, said: str) -> Sides:
    """Pools out of the very replicas that the other side has."""
    replicas = case.model.fleet.replicas
    return Sides(
        "disaggregation",
        case.plain,
        lambda draw: case.offer(draw, disaggregation=split),
        assumed=f"as many replicas on both sides; on: {split.prefill_replicas} of {replicas} replicas compute prompts, "
        f"{split.links} x {split.link_bytes_per_s / 1e9:g} GB/s between the pools; {said}",
    )


def _prefill_share(case: _Case) -> float:
    """The share of prompts in the work of a full batch."""
    server = case.plain(None).server
    blocks = list(case.plan.blocks())
    prompts = sum(int(block.input_tokens.sum()) for block in blocks)
    answers = sum(int(block.output_tokens.sum()) for block in blocks)
    seats = server.scheduler.seats()
    piece = server.step_time.piece(seats)
    context = prompts / max(1, sum(map(len, blocks)))
    prompts_s = piece.prompt_token_s * prompts + piece.prompt_pair_s * prompts * context / 2
    answers_s = answers * (piece.step_s / seats + piece.sequence_s + piece.context_token_s * context)
    return prompts_s / (prompts_s + answers_s)


def _mixed_lengths(case: _Case) -> Sides:
    alike = OneShape(case.plan)
    return Sides(
        "mixed lengths",
        lambda draw: case.offer(draw, alike),
        case.plain,
        off_key="one shape",
        on_key="plain",
        assumed="off: every prompt and every answer as long as their mean",
    )


def _arrivals(case: _Case) -> Sides:
    if case.dependent:
        return Sides("arrivals as they came", reason="some requests wait for others: they make their own arrivals")
    poisson = Independent(case.plan, case.assumed.seed)
    return Sides(
        "arrivals as they came",
        lambda draw: case.offer(draw, poisson),
        case.plain,
        off_key="independent",
        on_key="plain",
        assumed="off: as many requests in the same time, arriving independently (Poisson)",
    )


_NOTHING_SHARED = "nothing is known of what prompts share: give a plan with prefixes, or the model's prefix_hit"
_ONE_REPLICA = "the modelled fleet has one replica: set fleet.replicas"

_MADE: dict[Technique, Callable[[_Case], Sides]] = {
    "prefix reuse": _prefix_reuse,
    "prefix-aware routing": _prefix_routing,
    "least-outstanding routing": _routing,
    "speculative decoding": _speculative,
    "disaggregation": _disaggregated,
    "mixed lengths": _mixed_lengths,
    "arrivals as they came": _arrivals,
}
