"""The turns of a plan's sessions: when each can come, what was said before it, and the ids of blocks they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from caveat.workload.draws import LengthDraws
from caveat.workload.plan import NO_REQUEST, Int64, PlanBlock
from caveat.workload.prefixes import PromptChoice, looked_up, ragged
from caveat.workload.sessions import SessionDraws, Sessions, by_users
from caveat.workload.streams import SESSIONS, Stream
from caveat.workload.turns import Turns, last_of_each, summed_within
from caveat.workload.untimed import Concurrency

if TYPE_CHECKING:
    from caveat.workload.workload import Workload

_SESSIONS_AT_ONCE = 1024


class Conversations:
    """Turns of sessions, batch by batch: keeps count of sessions, rows and the ids of blocks that were given out."""

    def __init__(self, workload: Workload, sessions: Sessions, lengths: LengthDraws, prompts: PromptChoice) -> None:
        self._sessions = sessions
        self._block_tokens = workload.blocks_and_prompts().block_tokens
        self._draws = SessionDraws(sessions, Stream(workload.seed).child(SESSIONS))
        self._lengths = lengths
        self._prompts = prompts
        self._users: list[tuple[int, int]] = []
        if isinstance(workload.arrivals, Concurrency):
            self._users = [(0, user) for user in range(workload.arrivals.requests)]
        self._first_session = self._first_row = 0
        self._first_id = prompts.ids_used

    def batches(self, arrived: Iterable[tuple[Int64, Int64 | None]]) -> Iterator[Turns]:
        """All turns of some sessions that start one after another."""
        for at_ns, client in arrived:
            for start in range(0, len(at_ns), _SESSIONS_AT_ONCE):
                some = slice(start, start + _SESSIONS_AT_ONCE)
                yield self._batch(at_ns[some], None if client is None else client[some])

    def _batch(self, start_ns: Int64, client: Int64 | None) -> Turns:
        turns = self._draws.turns(len(start_ns))
        count = int(turns.sum())
        turn = np.arange(count) - np.repeat(np.cumsum(turns) - turns, turns)
        think_ns = np.where(turn > 0, self._draws.think_ns(count), 0)
        new, output = self._lengths.draw(count, None if client is None else np.repeat(client, turns))
        prompt = np.repeat(self._prompts.choose(len(turns)), turns)
        before = self._said_before(new, output, turns) + looked_up(self._prompts.tokens, prompt)
        batch = Turns(
            at_ns=self._times(start_ns, turns, turn, think_ns),
            row=self._first_row + np.arange(count),
            session=self._first_session + np.repeat(np.arange(len(turns)), turns),
            turn=turn,
            think_ns=think_ns,
            input_tokens=before + new,
            output_tokens=output,
            prompt=prompt,
            first_own=np.zeros(count, np.int64),
            own=before,
            after=np.full(count, NO_REQUEST, np.int64),
        )
        self._first_row += count
        self._first_session += len(turns)
        return self._with_ids(self._within_context(batch))

    def _times(self, start_ns: Int64, turns: Int64, turn: Int64, think_ns: Int64) -> Int64:
        """Earliest times; in a closed loop rounds of one turn each, which only give the order."""
        if self._users:
            return np.repeat(by_users(turns, self._users), turns) + turn
        return np.repeat(start_ns, turns) + summed_within(think_ns, turns)

    def _said_before(self, new: Int64, output: Int64, turns: Int64) -> Int64:
        """Tokens of the conversation before each turn, without the system prompt."""
        if not self._sessions.grows:
            return np.zeros_like(new)
        return summed_within(new + output, turns) - new - output

    def _within_context(self, batch: Turns) -> Turns:
        """Without the turns that would pass the longest context; first turns are cut to it."""
        most = self._sessions.context_max
        if most is None:
            return batch
        kept = batch.at(np.flatnonzero((batch.input_tokens <= most) | (batch.turn == 0)))
        return kept.changed(input_tokens=np.minimum(kept.input_tokens, most))

    def _with_ids(self, batch: Turns) -> Turns:
        """Ids for the blocks that turns of one session share beyond the system prompt.

        Until here `own` holds the tokens said before a turn. All its full blocks are shared if a turn follows, else
        only those of what was said before.
        """
        if not self._sessions.grows:
            return batch.changed(own=np.zeros_like(batch.own))
        last = last_of_each(batch.session)
        shared_tokens = np.where(last, np.minimum(batch.own, batch.input_tokens), batch.input_tokens)
        own = np.maximum(shared_tokens // self._block_tokens - looked_up(self._prompts.blocks, batch.prompt), 0)
        given = np.maximum.reduceat(own, np.flatnonzero(batch.turn == 0))
        first_own = self._first_id + np.cumsum(given) - given
        self._first_id += int(given.sum())
        places = np.cumsum(batch.turn == 0) - 1
        return batch.changed(own=own, first_own=first_own[places])

    def block(self, turns: Turns) -> PlanBlock:
        """Numbered turns as the plan holds them."""
        system = np.minimum(looked_up(self._prompts.blocks, turns.prompt), turns.input_tokens // self._block_tokens)
        first_system = looked_up(self._prompts.first_id, turns.prompt)
        ends, ids = ragged([(first_system, system), (turns.first_own, turns.own)])
        return PlanBlock(
            at_ns=np.zeros_like(turns.at_ns) if self._users else turns.at_ns,
            input_tokens=turns.input_tokens,
            output_tokens=turns.output_tokens,
            after=turns.after,
            think_ns=turns.think_ns,
            session=turns.session,
            turn=turns.turn,
            prefix_ends=ends,
            prefix_blocks=ids,
        )
