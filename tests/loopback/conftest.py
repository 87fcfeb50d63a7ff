"""A loopback endpoint in a thread, stopped at the end of the test."""

import pytest

from caveat.loopback import Behaviour, FixedEngine, Loopback


@pytest.fixture
def start():
    """Starts endpoints: by the fields of a behaviour, and an engine where one is wanted."""
    running = []

    def begin(*, engine=FixedEngine, **behaviour):
        running.append(Loopback(Behaviour(**behaviour), engine).start())
        return running[-1]

    yield begin
    for one in running:
        one.stop()
