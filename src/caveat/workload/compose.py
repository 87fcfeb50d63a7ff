"""From a workload to the columns of its plan: arrivals, lengths, sessions and prefixes put together.

Each aspect has its own stream of randomness and is drawn in the order of arrivals (for sessions, of their starts),
so what one aspect draws never moves another, and neither limits nor block sizes move anything. A column is int64,
one entry a request; columns pass through here in tuples whose first is the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from caveat.workload.bounds import MAX_REQUESTS, refuse
from caveat.workload.conversations import Conversations
from caveat.workload.draws import LengthDraws
from caveat.workload.plan import Int64, PlanBlock
from caveat.workload.prefixes import PromptChoice, looked_up, ragged
from caveat.workload.sample_set import SampleOrder, SampleSet
from caveat.workload.streams import ARRIVALS, LENGTHS, PREFIXES, Stream
from caveat.workload.superposition import Superposition
from caveat.workload.turns import Turns, in_order

if TYPE_CHECKING:
    from caveat.workload.workload import Workload

Columns = tuple[Int64, ...]


def composed(workload: Workload, block_requests: int) -> Iterator[PlanBlock]:
    """The plan's blocks, each of `block_requests` requests but the last."""
    seed = Stream(workload.seed)
    prompts = PromptChoice(workload.blocks_and_prompts(), seed.child(PREFIXES))
    lengths = LengthDraws(workload, seed.child(LENGTHS))
    if workload.samples is not None:
        rows = _of_a_set(workload, workload.samples, seed, lengths)
        for at_ns, input_tokens, output_tokens, sample in _reblocked(_limited(rows, workload), block_requests):
            yield PlanBlock(at_ns=at_ns, input_tokens=input_tokens, output_tokens=output_tokens, sample=sample)
        return
    if workload.sessions is None:
        rows = _single(workload, seed, lengths, prompts)
        for columns in _reblocked(_limited(rows, workload), block_requests):
            yield _single_block(columns, prompts)
        return
    talks = Conversations(workload, workload.sessions, lengths, prompts)
    turns = (turns.columns() for turns in in_order(talks.batches(_arrived(workload, seed))))
    for columns in _reblocked(_limited(turns, workload), block_requests):
        yield talks.block(Turns(*columns))


def _arrived(workload: Workload, seed: Stream) -> Iterator[tuple[Int64, Int64 | None]]:
    """Times, and the client of each where there are several."""
    stream = seed.child(ARRIVALS)
    if isinstance(workload.arrivals, Superposition):
        yield from workload.arrivals.arrived(stream)
    else:
        for at_ns in workload.arrivals.times(stream):
            yield at_ns, None


def _single(workload: Workload, seed: Stream, lengths: LengthDraws, prompts: PromptChoice) -> Iterator[Columns]:
    """Requests that stand alone: time, input, output, system prompt."""
    for at_ns, client in _arrived(workload, seed):
        input_tokens, output_tokens = lengths.draw(len(at_ns), client)
        prompt = prompts.choose(len(at_ns))
        if len(prompts.tokens):
            input_tokens = input_tokens + looked_up(prompts.tokens, prompt)
        yield at_ns, input_tokens, output_tokens, prompt


def _of_a_set(workload: Workload, samples: SampleSet, seed: Stream, lengths: LengthDraws) -> Iterator[Columns]:
    """Requests that each ask one sample of a set: time, input, output, sample. Lengths belong to the sample."""
    input_tokens, output_tokens = lengths.draw(samples.size, None)
    order = SampleOrder(samples)
    for at_ns, _ in _arrived(workload, seed):
        sample = order.take(len(at_ns))
        yield at_ns, input_tokens[sample], output_tokens[sample], sample


def _single_block(columns: Columns, prompts: PromptChoice) -> PlanBlock:
    at_ns, input_tokens, output_tokens, prompt = columns
    if not len(prompts.tokens):
        return PlanBlock(at_ns=at_ns, input_tokens=input_tokens, output_tokens=output_tokens)
    ends, ids = ragged([(looked_up(prompts.first_id, prompt), looked_up(prompts.blocks, prompt))])
    return PlanBlock(
        at_ns=at_ns, input_tokens=input_tokens, output_tokens=output_tokens, prefix_ends=ends, prefix_blocks=ids
    )


def _limited(chunks: Iterable[Columns], workload: Workload) -> Iterator[Columns]:
    """Columns up to the plan's last request: before the end of its duration, and no more than asked for."""
    left = workload.limits.requests if workload.limits.requests is not None else MAX_REQUESTS + 1
    end_ns = workload.limits.end_ns()
    for columns in chunks:
        due = len(columns[0]) if end_ns is None else int(np.searchsorted(columns[0], end_ns))
        count = min(due, left)
        if count:
            yield tuple(column[:count] for column in columns)
        left -= count
        if not left or due < len(columns[0]):
            break
    if left == 0 and workload.limits.requests is None:
        raise refuse("limits", f"a plan of more than {MAX_REQUESTS:,} requests", "a shorter one")


def _reblocked(chunks: Iterable[Columns], size: int) -> Iterator[Columns]:
    """The same rows in blocks of one size; the last may be shorter."""
    held: list[Columns] = []
    rows = 0
    for columns in chunks:
        held.append(columns)
        rows += len(columns[0])
        if rows >= size:
            joined = _joined(held)
            whole = rows - rows % size
            for start in range(0, whole, size):
                yield tuple(column[start : start + size] for column in joined)
            held, rows = [tuple(column[whole:] for column in joined)], rows - whole
    if rows:
        yield _joined(held)


def _joined(held: list[Columns]) -> Columns:
    return tuple(np.concatenate(parts) for parts in zip(*held, strict=True))
