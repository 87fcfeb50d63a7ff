import pytest

from caveat.figures import METRICS
from tests.caveats.cases import CHUNKS, chunk_metric


@pytest.fixture
def chunks(monkeypatch):
    """The table of metrics with one that times pieces of a stream, as a client's importer would add it."""
    monkeypatch.setitem(METRICS, CHUNKS, chunk_metric())
