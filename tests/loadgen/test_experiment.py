"""An experiment on a real server: what is in its folder, what never is, and how it ends."""

import json
import random
import re

import pyarrow.parquet as pq
import pytest

from caveat.errors import CaveatError, InputError, RefusedError
from caveat.loadgen import Endpoint, Settings, experiment, is_going, read_folder
from caveat.loadgen.folder import NOTES, SAMPLES, SPEC
from caveat.loopback import Loopback, behaviour_of
from caveat.measure import columns_of
from caveat.workload import Concurrency, Fixed, Limits, Poisson, Separate, Workload, plan_digest
from tests.loadgen.folders import poisson_spec, text_of
from tests.loadgen.server import GOOD, HANG, STREAM, Server, chunk, sse, stream, whole

KEY, HEADER = "sk-do-not-keep-me", "Tenant 4711-confidential"
SHORT = Separate(input=Fixed(value=8), output=Fixed(value=4))
QUICK = Settings(timeout_s=5.0, connect_timeout_s=2.0, idle_s=5.0, drain_s=0.5)


@pytest.fixture(scope="module")
def server():
    with Loopback(behaviour_of({"ttft_s": 0.005, "itl_s": 0.001})).start() as running:
        yield running


def spec_at(url, *, requests=20, concurrency=None, key_env=None, headers=None, **changes):
    arrivals = Poisson(rate_qps=200.0) if concurrency is None else Concurrency(requests=concurrency)
    workload = Workload(arrivals=arrivals, lengths=SHORT, limits=Limits(requests=requests), seed=1)
    there = Endpoint(url=url, model="m", key_env=key_env, headers=headers or {})
    return poisson_spec(**{"endpoint": there, "workload": workload, "settings": QUICK, **changes})


def carried_out(spec, folder, **more):
    return experiment(
        spec, folder, version="1", started="2026-01-01T00:00:00+00:00", rng=random.Random(4), environ={"K": KEY}, **more
    )


def prompts_of(server):
    """What was asked, in order of arrival."""
    bodies = [request.partition(b"\r\n\r\n")[2] for request in server.requests if request.startswith(b"POST")]
    return [json.loads(body)["messages"][0]["content"] for body in bodies]


def test_everything_that_was_learned_is_in_the_folder(server, tmp_path):
    """The spec, one sample a request, the digest of the plan, the salt, the probes, the client, the engine's words."""
    before = len(server.log())
    spec = spec_at(server.url)
    notes = carried_out(spec, tmp_path / "run", subject="measured/" + "1" * 32)
    assert read_folder(tmp_path / "run") == (spec, notes)
    assert columns_of(tmp_path / "run" / SAMPLES).rows == 20
    assert len(server.log()) - before == 20 + len(notes.prompts.probes)
    assert notes.plan == plan_digest(spec.workload.plan())
    assert notes.salt is not None
    assert "Python" in notes.client
    assert notes.health.requests == 20
    assert notes.before.facts["version"].source == "GET /version"
    assert not (notes.interrupted or notes.by_clock)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".going", NOTES, SAMPLES, SPEC]


def test_no_key_and_no_value_of_a_header_is_anywhere_in_the_folder(tmp_path):
    """Even where the server says them back: in an error, as the reason of an end, as its version or model."""
    echo = f"{KEY} {HEADER}"
    finish = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": echo}]}
    answers = {
        b"GET /version": whole(json.dumps({"version": echo}).encode()),
        b"GET /v1/models": whole(json.dumps({"data": [{"id": "m", "owned_by": echo, "root": echo}]}).encode()),
        b"GET /metrics": whole(echo.encode(), "500 Oh"),
    }

    def answer(number, request):
        for route, reply in answers.items():
            if request.startswith(route):
                return [reply]
        return [
            [whole(echo.encode(), "500 Oh")],
            [stream(finish)],
            [STREAM, chunk(sse({"error": {"message": echo}})), b"0\r\n\r\n"],
            [chunk(echo.encode())],
        ][number % 4]

    headers = {"X-Tenant": HEADER}
    with Server(answer) as server:
        carried_out(spec_at(server.url, key_env="K", headers=headers, calibrated=False), tmp_path / "run")
        sent = b"".join(server.requests)
    assert KEY.encode() in sent  # the search below looks for the right thing
    assert HEADER.encode() in sent
    kept = text_of(tmp_path / "run")
    assert b"[hidden]" in kept
    assert KEY.encode() not in kept
    assert HEADER.encode() not in kept


def test_a_server_that_refuses_the_probes_leaves_nothing_on_disk(tmp_path):
    """Not even a folder; the message has the server's own words."""
    refusal = whole(b'{"error": "model m does not exist"}', "404 Not Found")
    with Server(lambda *_: [refusal]) as server, pytest.raises(CaveatError, match="does not exist") as caught:
        carried_out(spec_at(server.url), tmp_path / "run")
    assert "the model's name" in caught.value.next
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_is_not_there_is_missed_before_anything_is_sent(server, tmp_path):
    """By the name of its variable."""
    before = len(server.log())
    with pytest.raises(InputError, match="OTHER"):
        carried_out(spec_at(server.url, key_env="OTHER", calibrated=False), tmp_path / "run")
    assert (len(server.log()), list(tmp_path.iterdir())) == (before, [])


def test_a_folder_with_a_run_is_not_written_to_again(server, tmp_path):
    """Append, never overwrite."""
    carried_out(spec_at(server.url), tmp_path / "run")
    before = text_of(tmp_path / "run")
    with pytest.raises(RefusedError, match="already"):
        carried_out(spec_at(server.url, requests=3), tmp_path / "run")
    assert text_of(tmp_path / "run") == before


def test_prompts_of_two_runs_begin_differently_unless_one_asks_for_the_same(tmp_path):
    """A salt of its own for each; without, the same plan has the same words."""
    with Server(lambda *_: [GOOD]) as server:
        for number, salted in enumerate((True, True, False, False)):
            spec = spec_at(server.url, requests=3, calibrated=False, salted=salted)
            experiment(spec, tmp_path / str(number), version="1", started="", rng=random.Random(number))
        runs = [sorted(prompts_of(server)[at : at + 3]) for at in (0, 3, 6, 9)]
    assert {words.split()[0] for words in runs[0]}.isdisjoint({words.split()[0] for words in runs[1]})
    assert runs[2] == runs[3]


def test_an_endpoint_that_counts_nothing_is_measured_and_said_to_count_nothing(tmp_path):
    """Lengths are words then; why is in the notes."""
    with Loopback(behaviour_of({"usage": "never"})).start() as server:
        notes = carried_out(spec_at(server.url), tmp_path / "run")
    assert notes.prompts is None
    assert "expected a usage count" in notes.prompts_unknown
    assert columns_of(tmp_path / "run" / SAMPLES).rows == 20


def test_a_closed_loop_is_ended_by_its_clock(server, tmp_path):
    """No further request is sent, those in flight are waited for and count: every row is a measured one."""
    spec = spec_at(server.url, requests=100_000, concurrency=4, stop_after_s=0.3)
    notes = carried_out(spec, tmp_path / "run")
    table = pq.read_table(tmp_path / "run" / SAMPLES)
    assert (notes.by_clock, notes.interrupted) == (True, False)
    assert 4 <= table.num_rows < 100_000
    assert set(table.column("phase").to_pylist()) == {"measured"}
    assert table.column("error_class").null_count == table.num_rows
    assert max(table.column("sent_ns").to_pylist()) < 1_500_000_000


def test_what_does_not_end_after_the_clock_is_marked_and_not_measured(tmp_path):
    """A server that hangs: the requests are cut off, and the drain says how many."""
    with Server(lambda n, r: [HANG] if r.startswith(b"POST") else [whole(b"{}")]) as server:
        spec = spec_at(server.url, requests=50, concurrency=2, stop_after_s=0.1, calibrated=False)
        notes = carried_out(spec, tmp_path / "run")
    table = pq.read_table(tmp_path / "run" / SAMPLES)
    assert notes.by_clock
    assert table.column("phase").to_pylist() == ["drain", "drain"]
    assert table.column("error_class").to_pylist() == ["cancelled", "cancelled"]


class Asked:
    """Asks to stop at its third question, and looks whether the folder is known to be going."""

    def __init__(self, folder):
        self.folder, self.questions, self.was_going = folder, 0, False

    def requested(self):
        self.questions += 1
        self.was_going = self.was_going or is_going(self.folder)
        return self.questions > 2


def test_a_run_that_is_asked_to_stop_drains_and_keeps_what_it_has(server, tmp_path):
    """It is known to be going while it goes, and not afterwards."""
    asked = Asked(tmp_path / "run")
    notes = carried_out(spec_at(server.url, requests=100_000), tmp_path / "run", cancel=asked)
    assert (notes.interrupted, notes.by_clock) == (True, False)
    assert asked.was_going
    assert not is_going(tmp_path / "run")
    assert 0 < columns_of(tmp_path / "run" / SAMPLES).rows < 100_000


def test_the_salt_of_a_run_is_in_its_notes_and_in_its_prompts(tmp_path):
    """So that a run can be repeated to the word by whoever has its notes."""
    with Server(lambda *_: [GOOD]) as server:
        first = carried_out(spec_at(server.url, requests=2, calibrated=False), tmp_path / "a")
        again = carried_out(spec_at(server.url, requests=2, calibrated=False), tmp_path / "b")
        prompts = prompts_of(server)
    assert sorted(prompts[:2]) == sorted(prompts[2:])
    assert first.salt == again.salt
    assert re.search(rb'"salt": \d+', (tmp_path / "a" / NOTES).read_bytes())
