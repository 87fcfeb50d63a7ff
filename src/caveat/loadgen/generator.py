"""HttpTarget: an endpoint as a Target. One ordinary call; the event loops run inside.

With one process the loop runs in the calling thread. With more, each share of the plan goes to a process of its own
(crew.py) and samples come back as Arrow batches; this process only merges.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from caveat.errors import UsageError
from caveat.loadgen.address import refuse_proxy
from caveat.loadgen.body import Decoding, RequestBytes, escaped
from caveat.loadgen.clock import WallClock
from caveat.loadgen.dataset import read_dataset
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.feed import PlanSource, Source
from caveat.loadgen.offering import Offering, Order
from caveat.loadgen.prompts import Prompts, PromptSettings
from caveat.loadgen.rows import Parcel
from caveat.loadgen.selfcheck import ClientHealth, ProcessReport, health_of, process_report
from caveat.loadgen.settings import Settings, check_processes
from caveat.loadgen.tickets import Ticket
from caveat.loadgen.tokens import token_counter
from caveat.loadgen.writer import KeepAnswer, Writer, into
from caveat.measure import Cancel, Clock, Sink
from caveat.workload import Plan, Queries, queries_of

LEAD_NS = 20_000_000
_SWITCH_S = 0.0005


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a process needs to know but the plan. Holds the name of the key's variable, not the key."""

    endpoint: Endpoint
    decoding: Decoding = Decoding()
    prompts: PromptSettings = PromptSettings()
    settings: Settings = Settings()
    count_tokens_with: str | None = None
    dataset: str | None = None


class HttpTarget:
    """An OpenAI-compatible endpoint that is offered plans.

    `count_tokens_with` is a tokenizer.json by which answers are counted as well. After an offer, `health` is what
    the client noted about itself. With a `dataset` (a file, see dataset.py) each request sends the prompt of its
    sample, and `keep` gets the text of every answer (one process only). Raises UsageError where a proxy stands in the
    way, InputError for a missing key.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        processes: int = 1,
        decoding: Decoding | None = None,
        prompts: PromptSettings | None = None,
        settings: Settings | None = None,
        count_tokens_with: str | None = None,
        dataset: str | None = None,
        keep: KeepAnswer | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        check_processes(processes)
        if keep is not None and processes != 1:
            raise UsageError(f"processes: found {processes} and answers to keep, expected one process")
        refuse_proxy(endpoint.address(), environ)
        endpoint.key(environ)
        self.setup = Setup(
            endpoint=endpoint,
            decoding=decoding or Decoding(),
            prompts=prompts or PromptSettings(),
            settings=settings or Settings(),
            count_tokens_with=count_tokens_with,
            dataset=dataset,
        )
        self.health: ClientHealth | None = None
        self._processes, self._environ, self._keep = processes, environ, keep
        self._share: Share | None = None
        self._flying: int | None = None

    def in_flight(self) -> int | None:
        """How many requests are under way: now, or of several processes when they last said so; None before that."""
        return self._share.in_flight() if self._share is not None else self._flying

    def offer(self, plan: Plan, sink: Sink, clock: Clock, cancel: Cancel | None = None) -> None:
        """Make every request of the plan; see `caveat.measure.Target`.

        A WallClock is started when everything is ready. Any other clock is taken as running: what became due
        before the connections stood is sent at once, and its lateness stands in its sample.
        """
        self.health = None
        cancelled = cancel.requested if cancel is not None else _never
        try:
            if self._processes == 1 or queries_of(plan) is not None:  # a query begins in one place
                reports = [self._alone(plan, sink, clock, cancelled)]
            else:
                from caveat.loadgen.crew import offer_with_crew

                reports = offer_with_crew(
                    self.setup, self._processes, plan, sink, clock, cancelled, self._environ, self._note_flying
                )
            self.health = health_of(reports)
        finally:
            sink.close()

    def _note_flying(self, count: int) -> None:
        self._flying = count

    def _alone(self, plan: Plan, sink: Sink, clock: Clock, cancelled: Callable[[], bool]) -> ProcessReport:
        self._share = Share(
            self.setup, plan.block_tokens, plan.concurrency, self._environ, queries_of(plan), self._keep
        )
        return self._share.offer(PlanSource(plan), into(sink), lambda: start_clock(clock, LEAD_NS), cancelled)


class Share:
    """What one process does with its share of a plan, from the setup to the report."""

    def __init__(
        self,
        setup: Setup,
        block_tokens: int,
        concurrency: int | None,
        environ: Mapping[str, str] | None,
        queries: Queries | None = None,
        keep: KeepAnswer | None = None,
    ) -> None:
        self._offering: Offering | None = None
        self._keep = keep
        self._counter = token_counter(setup.count_tokens_with) if setup.count_tokens_with else None
        self._order = Order(
            endpoint=setup.endpoint,
            settings=setup.settings,
            concurrency=concurrency,
            make=maker(setup, block_tokens, environ),
            secrets=setup.endpoint.secrets(environ),
            keeps_text=self._counter is not None or keep is not None,
            queries=queries,
        )

    def in_flight(self) -> int | None:
        """Requests under way, read from any thread."""
        return self._offering.in_flight() if self._offering is not None else None

    def offer(
        self, source: Source, take: Callable[[Parcel], None], start: Callable[[], int], cancelled: Callable[[], bool]
    ) -> ProcessReport:
        """Run an event loop until the share is done. `start` gives the plan's time 0 once connections stand."""
        import uvloop

        writer = Writer(take, self._counter, self._keep)
        try:
            # The Runner turns Ctrl-C into a cancelled task, so that everything is closed on the way out.
            with calm(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(self._run(source, writer, start, cancelled))
        finally:
            writer.close()

    async def _run(
        self, source: Source, writer: Writer, start: Callable[[], int], cancelled: Callable[[], bool]
    ) -> ProcessReport:
        offering = self._offering = Offering(self._order, source, writer, cancelled)
        try:
            await offering.open()
            start_ns = start()
            writer.start(start_ns)
            await offering.run(start_ns)
        finally:
            await offering.close()
        return process_report(offering.tally, offering.watch.lag, offering.opened())


def maker(setup: Setup, block_tokens: int, environ: Mapping[str, str] | None) -> Callable[[Ticket], bytes]:
    """What turns a ticket into the bytes of its request: text made to a length, or the prompt of a data set's sample.

    Raises InputError where the data set cannot be read.
    """
    rendered = RequestBytes(setup.endpoint, setup.decoding, environ)
    if setup.dataset is not None:
        inside = [escaped(row.prompt) for row in read_dataset(Path(setup.dataset)).rows]
        return lambda ticket: rendered.make(inside[ticket.text], ticket.output_tokens)
    prompts = Prompts(setup.prompts, block_tokens)

    def make(ticket: Ticket) -> bytes:
        # The words are plain ASCII: nothing in them needs escaping in JSON.
        text = prompts.text(ticket.text, ticket.input_tokens, ticket.prefix)
        return rendered.make(text.encode(), ticket.output_tokens)

    return make


def start_clock(clock: Clock, lead_ns: int) -> int:
    """The plan's time 0 on the machine's clock: soon, for a clock that waits for us, else what the clock says."""
    now_ns = time.monotonic_ns()
    if isinstance(clock, WallClock):
        clock.start(now_ns + lead_ns)
        return now_ns + lead_ns
    return now_ns - clock.now_ns()


@contextmanager
def calm() -> Iterator[None]:
    """Keep the interpreter out of the way: old objects out of the collector's sight, threads switched sooner.

    A full collection over all imported modules takes 10 ms and more, and a thread that writes samples may hold the
    interpreter for a whole switch interval (5 ms by default) when an answer comes in.
    """
    interval_s = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval_s)
        gc.unfreeze()


def _never() -> bool:
    return False
