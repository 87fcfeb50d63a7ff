"""What the client can do is measured once a day, for each machine and version."""

import msgspec
import pytest

from caveat.loadgen import Endpoint
from caveat.loadgen import client_calibration as module
from caveat.loadgen.client_calibration import GOOD_FOR_S, ClientCalibration, cache_path, calibration, measure_client
from tests.loadgen.server import GOOD, Server

FOUND = ClientCalibration(
    machine="box",
    version="1",
    processes=1,
    at_s=1000.0,
    requests_per_s=9000.0,
    ttft_added_p50_s=0.0002,
    ttft_added_p99_s=0.001,
    ttft_added_busy_p99_s=0.01,
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """No test reads the cache of whoever runs it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def asked(now_s: float, again: bool = False, version: str = "1") -> tuple[bool, ClientCalibration]:
    """Whether it was measured, and what came back."""
    measured = []

    def measure() -> ClientCalibration:
        measured.append(1)
        return msgspec.structs.replace(FOUND, at_s=now_s)

    found = calibration(measure, version=version, processes=1, now_s=now_s, again=again)
    return bool(measured), found


def test_it_is_kept_for_a_day():
    """And measured anew after it, when asked, for another version, or when the clock went back."""
    assert asked(1000.0)[0]
    assert not asked(1000.0 + GOOD_FOR_S - 1)[0]
    assert asked(1000.0 + GOOD_FOR_S)[0]
    assert asked(1000.0 + GOOD_FOR_S + 5, again=True)[0]
    assert asked(1000.0 + GOOD_FOR_S + 6, version="2")[0]
    assert asked(500.0)[0]


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"\xff", msgspec.json.encode(msgspec.structs.replace(FOUND, format="x/9"))]
)
def test_a_kept_file_that_cannot_be_read_is_measured_again(text):
    """Half written, or by another version of caveat."""
    path = cache_path("1", 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    assert asked(1000.0)[0] and not asked(1001.0)[0]


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path, monkeypatch):
    """It is measured each time."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert asked(1000.0)[0] and asked(1001.0)[0]


def test_the_client_is_measured_busy_and_idle(monkeypatch):
    """Against a server that answers at once; the file's sentence is for people."""
    monkeypatch.setattr(module, "_BUSY_REQUESTS", 60)
    monkeypatch.setattr(module, "_IDLE_REQUESTS", 5)
    with Server(lambda *_: [GOOD]) as server:
        found = measure_client(Endpoint(url=server.url, model="m"), version="1", now_s=5.0)
        assert len(server.requests) == 65
    assert found.requests_per_s > 0 and 0 < found.ttft_added_p50_s <= found.ttft_added_p99_s
    assert (found.at_s, found.version, found.processes) == (5.0, "1", 1)
    assert FOUND.sentence() == "this client can send 9,000 requests/s and adds 0.2 ms to a first token (p99 1 ms)"
