"""Several models on one fleet: each with replicas of its own, or all on the same replicas, one at a time.

What it models. Each request asks one model, drawn by `shares` or said by the caller. Dedicated: `replicas` of the fleet
belong to each model, with a router of their own. Swapped: a replica holds one model; a request for another waits, and
all behind it, until the replica is empty, then `swap_s` go by and the prefix cache is lost. A request is sent to
a replica whose last request asked the same model, unless all of those have `most_behind` more under way than the least
busy one.

What it leaves out. Models that share memory and are both ready; swapping ahead of demand; weights that load while the
old model still answers. All models are scheduled alike and have KV blocks of one size.

Limit case. One model with a share of 1 is the fleet without this. Dedicated models do not feel each other: each sees
what it sees alone on its replicas.

In the load fraction. Dedicated: each model has one, the largest is the answer. Swapped: a range, from full batches that
no swap ever ends to a swap, and the time of a request alone, wherever the order of arrival changes the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from caveat.errors import InputError
from caveat.simulator.feed import Models
from caveat.simulator.replica import Replica
from caveat.simulator.request import Request
from caveat.simulator.routers import Router, least
from caveat.simulator.speculative import uniforms
from caveat.simulator.step_time import StepTime
from caveat.workload import PlanBlock

_MOST_MODELS = 1000


class SeveralModels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The models beside the server's own, which is number 0.

    others        step times of models 1, 2, ...
    shares        of requests that ask model 0, 1, 2, ...; they sum to 1. The draw for request r is a function of
                  (seed, r)
    replicas      of each model, in sum those of the fleet; None: all models on all replicas, by swapping
    swap_s        to put another model in the place of the one that is there
    most_behind   swapping: how many more requests than the least busy a replica with the right model may have
    """

    others: tuple[StepTime, ...]
    shares: tuple[float, ...]
    replicas: tuple[int, ...] | None = None
    swap_s: float = 0.0
    most_behind: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        count = 1 + len(self.others)
        if not 2 <= count <= _MOST_MODELS:
            raise InputError(f"several models: others: found {len(self.others)}, expected 1 to {_MOST_MODELS - 1}")
        if len(self.shares) != count or min(self.shares) < 0 or not math.isclose(sum(self.shares), 1.0, abs_tol=1e-9):
            raise InputError(f"several models: shares: found {self.shares}, expected {count} that sum to 1")
        if self.replicas is not None and (len(self.replicas) != count or min(self.replicas) < 1):
            raise InputError(f"several models: replicas: found {self.replicas}, expected {count} numbers from 1")
        if not (math.isfinite(self.swap_s) and 0 <= self.swap_s <= 1e6):
            raise InputError(f"several models: swap_s: found {self.swap_s}, expected seconds from 0")
        if self.most_behind < 0 or not 0 <= self.seed < 1 << 64:
            raise InputError("several models: most_behind, seed: expected numbers from 0")

    def drawn(self, block: PlanBlock, first: int) -> npt.NDArray[np.int64]:
        """Which model each request of a block asks."""
        ends = np.cumsum(self.shares)
        found = np.searchsorted(ends / ends[-1], uniforms(self.seed, 0, first, len(block)), side="right")
        return np.minimum(found, len(self.others)).astype(np.int64)

    def checked(self, models: Models) -> Models:
        """The caller's own choice of models. InputError at a request that asks one that there is not."""

        def found(block: PlanBlock, first: int) -> npt.NDArray[np.int64]:
            asked = np.asarray(models(block, first), np.int64)
            wrong = np.flatnonzero((asked < 0) | (asked > len(self.others)))
            if len(wrong):
                at = int(wrong[0])
                raise InputError(f"several models: request {first + at}: found {asked[at]}, expected a model's number")
            return asked

        return found


class WithItsModel:
    """A router between replicas that swap models: prefers those whose last request asked the same."""

    def __init__(self, inner: Router, replicas: Sequence[Replica], most_behind: int) -> None:
        self._inner, self._replicas, self._most_behind = inner, replicas, most_behind

    @property
    def next_look_fs(self) -> int:
        """That of the router within."""
        return self._inner.next_look_fs

    def choose(self, request: Request, live: Sequence[int], now_fs: int) -> int:
        """Among those with the right model that are not too busy, else among all, as the router within does."""
        replicas = self._replicas
        most = replicas[least(replicas, live)].outstanding + self._most_behind
        fitting = [n for n in live if replicas[n].last_model == request.model and replicas[n].outstanding <= most]
        return self._inner.choose(request, fitting or live, now_fs)

    def look(self, now_fs: int) -> None:
        """As the router within."""
        self._inner.look(now_fs)
