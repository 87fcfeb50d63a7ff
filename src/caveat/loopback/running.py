"""Running: an endpoint in a thread of this process, for tests and demos, or in the foreground until it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType

from caveat.loopback.behaviour import Behaviour
from caveat.loopback.engine import Engine, FixedEngine
from caveat.loopback.listener import Listener, checked_host, run_in_own_loop, serve
from caveat.loopback.truth import Lag, Truth

STOP_S = 10.0

MakeEngine = Callable[[Behaviour], Engine]


class Running:
    """A loopback endpoint that runs in a thread. A context manager: it stops at the end of the block."""

    def __init__(self, thread: threading.Thread, listener: Listener, stop: Callable[[], None]) -> None:
        self._thread = thread
        self._log = listener.site.endpoint.log
        self._stop = stop
        self.url = listener.url

    def log(self) -> tuple[Truth, ...]:
        """What happened to the requests that are over, oldest first."""
        return self._log.kept()

    def lag(self) -> Lag | None:
        """How late the newest writes were; None before the first."""
        return self._log.lag()

    def stop(self) -> None:
        """End every connection and wait for the thread. A second time is no error."""
        if self._thread.is_alive():
            self._stop()
            self._thread.join(STOP_S)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Loopback:
    """An endpoint that behaves so. `engine` makes the model of a server that drives it."""

    def __init__(self, behaviour: Behaviour | None = None, engine: MakeEngine = FixedEngine) -> None:
        self._behaviour = behaviour or Behaviour()
        self._engine = engine

    def start(self, host: str = "127.0.0.1", port: int = 0) -> Running:
        """Serve in a thread with a loop of its own; returns when connections are taken.

        Raises UsageError for an address that others reach, InputError where the port cannot be had.
        """
        address = checked_host(host, exposed=False)
        begun: Future[tuple[Listener, Callable[[], None]]] = Future()
        thread = threading.Thread(target=self._serve, args=(address, port, begun), name="caveat-loopback", daemon=True)
        thread.start()
        listener, stop = begun.result()
        return Running(thread, listener, stop)

    def _serve(self, host: str, port: int, begun: Future[tuple[Listener, Callable[[], None]]]) -> None:
        def ready(listener: Listener, stop: Callable[[], None]) -> None:
            begun.set_result((listener, stop))

        try:
            run_in_own_loop(serve(self._behaviour, self._engine(self._behaviour), host, port, ready))
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)


def run(
    behaviour: Behaviour,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    exposed: bool = False,
    engine: MakeEngine = FixedEngine,
    ready: Callable[[str, Callable[[], None]], None] = lambda url, stop: None,
) -> None:
    """Serve in the foreground until stopped or interrupted.

    `ready` is told the address, and what to call from any thread to stop. Raises UsageError for an address that
    others reach unless `exposed`, InputError where the port cannot be had.
    """
    address = checked_host(host, exposed=exposed)

    def told(listener: Listener, stop: Callable[[], None]) -> None:
        ready(listener.url, stop)

    try:
        run_in_own_loop(serve(behaviour, engine(behaviour), address, port, told))
    except KeyboardInterrupt:
        return
