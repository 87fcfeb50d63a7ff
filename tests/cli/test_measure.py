"""caveat measure against a real server: what is sent, what is kept, what is said, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger
from caveat.loadgen import read_folder
from caveat.loopback import behaviour_of, read_log, start_process
from tests.loadgen.folders import text_of
from tests.loadgen.server import Server, whole

LIMIT_S = 30
SHORT = ("--input", "16", "--output", "4", "--no-calibrate")
KEY, HEADER = "sk-do-not-keep-me", "Tenant 4711-confidential"
MODELS = whole(json.dumps({"data": [{"id": "m"}]}).encode())


@pytest.fixture(scope="module")
def server():
    """In a process of its own, so that it does not hold up the client."""
    with start_process(behaviour_of({"ttft_s": 0.005, "itl_s": 0.001})) as running:
        yield running


def log(server):
    with urllib.request.urlopen(f"{server.url}/loopback/log", timeout=LIMIT_S) as answer:
        return read_log(answer.read())


def one_run(done):
    """The only run of a JSON answer. A busy machine may make it invalid: what is asked here is what it says."""
    assert done.code in (EXIT_YES, EXIT_NO), done
    (run,) = done.json["runs"]
    assert done.code == (EXIT_YES if run["valid"] else EXIT_NO)
    return run


def conditions(run):
    return run["figures"][0]["conditions"]


def failed(run):
    entries = run["figures"][0]["validity"]["entries"]
    return {entry["aspect"] for entry in entries if entry["outcome"] == "fail"}


def test_a_run_is_one_object_with_its_conditions_and_is_kept(caveat, server):
    """Progress goes to standard error as lines of JSON; the ledger has the run, its samples inside."""
    argv = ("measure", server.url, "--rate", "40", "--duration", "1500ms", *SHORT, "--slo", "ttft=2s,tpot=1s", "--json")
    done = caveat(*argv)
    run = one_run(done)
    assert failed(run) <= {"client health", "arrivals"}
    assert {json.loads(line)["format"] for line in done.err.splitlines()} == {"caveat-progress/1"}
    known = conditions(run)
    assert known["model"] == "loopback"
    assert known["review"] == "unverified"
    assert known["suite"] == "own measurement"
    assert (known["target_qps"], known["ttft_limit_s"], known["tpot_limit_s"]) == (40.0, 2.0, 1.0)
    assert "MLPerf" not in done.out
    metrics = {figure["metric"]["key"]: figure["value"] for figure in run["figures"]}
    assert metrics["caveat-goodput-share"] == 1.0
    kept = Ledger().run(run["id"])
    assert kept.samples == f"{run['subject']}/samples.parquet"
    assert (Ledger().path / kept.samples).is_file()


def test_no_secret_leaves_the_command(caveat, monkeypatch):
    """Nor in the ledger, its samples, either output or an error, though the server says all of them back."""
    monkeypatch.setenv("MY_KEY", KEY)

    def answer(number, request):
        if request.startswith(b"GET /v1/models"):
            return [MODELS]
        return [whole(f"who is {KEY} of {HEADER}?".encode(), "500 Oh")]

    secret = ("--key-env", "MY_KEY", "--header", f"X-Tenant: {HEADER}")
    with Server(answer) as echo:
        argv = ("measure", echo.url, "--rate", "50", "--requests", "20", *SHORT, *secret)
        first = caveat(*argv, "--no-probe")
        second = caveat(*argv, "--no-probe", "--json")
        refused = caveat(*argv)
        sent = b"".join(echo.requests)
    assert KEY.encode() in sent  # the search below looks for the right thing
    assert HEADER.encode() in sent
    assert (first.code, second.code, refused.code) == (EXIT_NO, EXIT_NO, EXIT_INPUT)
    assert "error rate" in {entry.aspect for run in Ledger(shipped=False).runs() for entry in run.validity}
    said = "".join(part for done in (first, second, refused) for part in (done.out, done.err))
    assert "[hidden]" in said
    for secret_text in (KEY, HEADER):
        assert secret_text not in said
        assert secret_text.encode() not in text_of(Ledger().path)


def test_like_repeats_a_run_to_the_last_request(caveat, server):
    """One plan, one way of asking; values of headers are given again, by name."""
    options = ("--rate", "40", "--cv", "2", "--requests", "25", "--seed", "9", "--warmup", "3", "--header", "X-A: 1")
    first = one_run(caveat("measure", server.url, *options, *SHORT, "--no-probe", "--known", "nodes=1", "--json"))
    missing = caveat("measure", "--like", first["id"], "--no-calibrate")
    assert (missing.code, "X-A" in missing.err) == (EXIT_USAGE, True)
    again = one_run(caveat("measure", "--like", first["id"][:12], "--header", "x-a: 1", "--no-calibrate", "--json"))
    assert conditions(again)["plan"] == conditions(first)["plan"]
    changing = ("run_date", "completed_qps", "duration_s", "scheduled_qps")
    same = [{key: value for key, value in conditions(run).items() if key not in changing} for run in (first, again)]
    assert same[0] == same[1]
    folders = [Ledger().path / run["subject"] for run in (first, again)]
    assert read_folder(folders[0])[0] == read_folder(folders[1])[0]
    assert read_folder(folders[0])[1].salt != read_folder(folders[1])[1].salt


def test_like_of_a_run_that_was_not_measured_here_is_refused(caveat):
    """A published result has no spec."""
    done = caveat("measure", "--like", "AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/server/run_1", "--no-calibrate")
    assert done.code in (EXIT_USAGE, EXIT_INPUT)
    assert done.err.startswith("caveat: ")


def test_a_dry_run_sends_nothing_and_says_what_it_would(caveat, server):
    """Plan, time, tokens, money; not even the model is asked for."""
    before = log(server)
    prices = ("--price-in", "0.5", "--price-out", "2")
    argv = ("measure", "http://127.0.0.1:9", "--rate", "10", "--requests", "100", *SHORT, "--dry-run", "--repeats", "2")
    done = caveat(*argv, *prices, "--json")
    assert done.code == EXIT_YES
    assert [run["requests"] for run in done.json["runs"]] == [100, 100]
    run = done.json["runs"][0]
    assert (run["input_tokens"], run["output_tokens"]) == (1600, 400)
    assert run["cost"] == pytest.approx((1600 * 0.5 + 400 * 2) / 1e6)
    text = caveat(*argv, *prices).out
    assert "nothing was sent" in text
    assert "1,600 tokens in, 400 out, cost 0.0016" in " ".join(text.split())
    there = caveat("measure", server.url, "--concurrency", "4", "--duration", "9s", *SHORT, "--dry-run", "--json")
    assert [there.json["runs"][0][key] for key in ("requests", "duration_s", "cost")] == [None, 9.0, None]
    assert log(server) == before
    assert not Ledger().path.exists()


def test_one_price_alone_is_no_price(caveat):
    """The other is not zero."""
    done = caveat("measure", "http://127.0.0.1:9", "--rate", "1", "--dry-run", "--price-in", "1")
    assert (done.code, "--price-out" in done.err) == (EXIT_USAGE, True)


def test_a_sweep_is_a_run_a_point_each_with_cold_prompts(caveat, server):
    """Each twice here, each in the ledger, one line each on the screen."""
    done = caveat("measure", server.url, "--sweep", "concurrency=1,4", "--repeats", "2", "--cool-down", "0s", *SHORT)
    assert done.code in (EXIT_YES, EXIT_NO)
    runs = Ledger(shipped=False).runs()
    assert sorted(run.conditions.get("concurrency") for run in runs) == [1, 1, 4, 4]
    assert sorted(run.conditions.get("queries") for run in runs) == [20, 20, 80, 80]
    assert len({read_folder(Ledger().path / run.subject)[1].salt for run in runs}) == 4
    rows = [line.split() for line in done.out.splitlines() if re.match(r"[0-9a-f]{10} ", line)]
    assert [row[1] for row in rows] == ["1", "1", "4", "4"]
    assert {row[0] for row in rows} == {run.id[:10] for run in runs}
    table = done.out.partition("asked:")[0]
    assert [line for line in table.splitlines() if len(line) > 100] == []


def test_repeats_have_draws_of_their_own_and_a_mean(caveat, server):
    """Beside --like they repeat it exactly; a model that the spec does not name is asked for."""
    argv = ("--rate", "40", "--requests", "30", *SHORT, "--no-probe", "--repeats", "2", "--cool-down", "0s", "--json")
    done = caveat("measure", server.url, *argv)
    assert done.code in (EXIT_YES, EXIT_NO), done
    assert len({conditions(run)["plan"] for run in done.json["runs"]}) == 2
    (point,) = done.json["repeats"]
    assert (point["asked"], point["own_draws"], len(point["runs"])) == ("40 requests/s", True, 2)
    assert (done.json["interrupted"], done.json["not_measured"]) == (False, [])
    first = done.json["runs"][0]["id"]
    again = caveat("measure", "--like", first, "--no-calibrate", "--repeats", "2", "--cool-down", "0s", "--json")
    assert {conditions(run)["plan"] for run in again.json["runs"]} == {conditions(done.json["runs"][0])["plan"]}
    assert again.json["repeats"][0]["own_draws"] is False


def test_a_spec_need_not_name_its_model(caveat, server, tmp_path):
    """Where one model is served, that one is meant; before anything is sent it has no name."""
    spec = tmp_path / "run.toml"
    spec.write_text(
        f"""
        calibrated = false
        [endpoint]
        url = "{server.url}"
        [workload.arrivals]
        kind = "constant"
        rate_qps = 40
        [workload.lengths]
        kind = "separate"
        input = {{ kind = "fixed", value = 16 }}
        output = {{ kind = "fixed", value = 4 }}
        [workload.limits]
        requests = 10
        """
    )
    assert conditions(one_run(caveat("measure", "--spec", spec, "--no-calibrate", "--json")))["model"] == "loopback"


def test_a_closed_loop_lasts_as_long_as_it_was_asked_to(caveat, server):
    """Whatever the plan holds; that is no interruption."""
    run = one_run(caveat("measure", server.url, "--concurrency", "4", "--duration", "1s", *SHORT, "--json"))
    assert failed(run) <= {"client health"}
    assert 20 < conditions(run)["queries"] < 800
    (entry,) = [e for e in run["figures"][0]["validity"]["entries"] if e["aspect"] == "completion"]
    assert (entry["outcome"], "as asked" in entry["sentence"]) == ("pass", True)


@pytest.mark.parametrize(
    ("options", "api", "absent"),
    [
        (("--no-stream",), "openai-chat, whole answers", "caveat-ttft.p50"),
        (("--completions",), "openai-completions, streamed", "none"),
    ],
)
def test_ways_of_asking_are_conditions(caveat, server, options, api, absent):
    """Whole answers have no first token; nothing is made up for it."""
    run = one_run(caveat("measure", server.url, "--rate", "50", "--requests", "20", *SHORT, *options, "--json"))
    assert conditions(run)["api"] == api
    metrics = {figure["metric"]["key"] for figure in run["figures"]}
    assert absent not in metrics
    assert "caveat-latency.p50" in metrics


def test_warm_up_and_what_is_known_are_conditions(caveat, server):
    """Said by whoever measured."""
    facts = ("--known", "accelerator=H100", "--known", "accelerators=8")
    options = ("--rate", "50", "--requests", "30", "--warmup", "10", *facts)
    run = one_run(caveat("measure", server.url, *options, *SHORT, "--json"))
    assert conditions(run)["warmup"] == "the first 10 requests"
    assert (conditions(run)["accelerator"], conditions(run)["accelerators"]) == ("H100", 8)
    assert conditions(run)["queries"] == 20


@pytest.mark.parametrize("fact", ["suite=MLPerf Inference", "review=reviewed", "round=v6.1", "benchmark=llama2-70b-99"])
def test_nobody_can_say_that_a_run_is_a_published_one(caveat, fact):
    """Not by an option either."""
    done = caveat("measure", "http://127.0.0.1:9", "--model", "m", "--rate", "1", "--known", fact)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert f"known.{fact.partition('=')[0]}" in done.err


def test_an_endpoint_that_is_not_there_is_said_before_anything_runs(caveat):
    """Exit 4, and no ledger is begun."""
    done = caveat("measure", "http://127.0.0.1:9", "--rate", "1", "--no-calibrate")
    assert (done.code, done.out) == (EXIT_INPUT, "")
    assert "http://127.0.0.1:9 cannot be reached" in done.err
    assert "next: start the server" in done.err
    assert not Ledger().path.exists()


def test_a_model_that_is_not_served_is_said_by_the_first_probe(caveat):
    """Nothing is kept of it."""
    with Server(lambda n, r: [MODELS if r.startswith(b"GET") else whole(b"no model x", "404 Not Found")]) as refusing:
        done = caveat("measure", refusing.url, "--model", "x", "--rate", "1", "--no-calibrate")
    assert (done.code, "no model x" in done.err) == (EXIT_INPUT, True)
    assert not Ledger().path.exists()


def test_a_server_that_loads_is_waited_for(caveat):
    """With --wait; without it the option is named."""
    with start_process(behaviour_of({"loading_s": 1.0})) as loading:
        options = ("measure", loading.url, "--rate", "50", "--requests", "10", *SHORT)
        early = caveat(*options)
        assert (early.code, "--wait" in early.err) == (EXIT_INPUT, True)
        run = one_run(caveat(*options, "--wait", "20s", "--json"))
    assert "error rate" not in failed(run)


def test_a_server_that_counts_nothing_gives_no_token_rate(caveat):
    """Unknown is unknown: request rates and latencies stand, and the reason is in the notes."""
    with start_process(behaviour_of({"usage": "never"})) as silent:
        run = one_run(caveat("measure", silent.url, "--rate", "50", "--requests", "20", *SHORT, "--json"))
    metrics = {figure["metric"]["key"] for figure in run["figures"]}
    assert "caveat-request-rate" in metrics
    assert not [key for key in metrics if key.endswith("-usage")]
    assert "output_tokens" not in conditions(run)
    assert any("expected a usage count" in note for note in run["notes"])


def test_a_run_may_come_whole_from_a_file(caveat, server, tmp_path):
    """A spec sent by somebody, on a server of one's own."""
    path = tmp_path / "run.toml"
    path.write_text(
        """
        calibrated = false
        [endpoint]
        url = "http://elsewhere:1"
        model = "theirs"
        [workload]
        arrivals = {kind = "constant", rate_qps = 50.0}
        lengths = {kind = "separate", input = {kind = "fixed", value = 16}, output = {kind = "fixed", value = 4}}
        limits = {requests = 20}
        """
    )
    run = one_run(caveat("measure", server.url, "--spec", path, "--model", "ours", "--no-calibrate", "--json"))
    assert (conditions(run)["model"], conditions(run)["arrivals"]) == ("ours", "constant")
    assert caveat("measure", server.url, "--spec", tmp_path / "no.toml").code == EXIT_INPUT


class Going:
    """A measurement of ten minutes in a process of its own, whose progress can be waited for."""

    def __init__(self, url, ledger, *options):
        self.child = subprocess.Popen(
            [
                *(sys.executable, "-m", "caveat", "measure", url, "--rate", "50", "--duration", "10min"),
                *(*SHORT, "--no-probe", "--model", "m", "--json", *options),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "CAVEAT_LEDGER": str(ledger)},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.communicate()

    def until(self, ended: int) -> None:
        """Wait for a line of progress with so many requests ended."""
        for line in self.child.stderr:
            if line.startswith("{") and json.loads(line)["ended"] >= ended:
                return
        raise AssertionError("the run ended by itself")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_drains_and_keeps_what_was_measured(server, number):
    """Exit 1: the run is in the ledger, says that it was interrupted, and is one object on standard output."""
    with Going(server.url, Ledger().path) as going:
        going.until(10)
        going.child.send_signal(number)
        out, _ = going.child.communicate(timeout=LIMIT_S)
    assert going.child.returncode == EXIT_NO
    (run,) = json.loads(out)["runs"]
    entries = run["figures"][0]["validity"]["entries"]
    assert [e["outcome"] for e in entries if e["aspect"] == "completion"] == ["unknown"]
    assert any("interrupted" in e["sentence"] for e in entries)
    assert Ledger().run(run["id"]).conditions.get("queries") >= 10


def test_a_second_signal_leaves_at_once_and_says_where_the_samples_are(caveat):
    """Although a server that hangs would have been drained for half a minute."""
    hanging = behaviour_of({"ttft_s": 600.0})
    with start_process(hanging) as server, Going(server.url, Ledger().path) as going:
        going.until(0)
        going.child.send_signal(signal.SIGINT)
        going.until(0)
        going.child.send_signal(signal.SIGINT)
        out, err = going.child.communicate(timeout=LIMIT_S)
    assert (going.child.returncode, out) == (130, "")
    folder = Path(re.search(r"next: caveat record (\S+)", err)[1])
    assert folder.is_relative_to(Ledger().path)
    assert caveat("record", folder).code != EXIT_YES


def test_a_killed_run_is_recorded_afterwards_and_shown_meanwhile(caveat, server):
    """While it goes nothing is added; killed, what was on disk becomes a run that says so, once."""
    with Going(server.url, Ledger().path) as going:
        going.until(120)
        (folder,) = (Ledger().path / "measured").iterdir()
        meanwhile = caveat("record", folder, "--json")
        assert "still goes" in meanwhile.json["ledger"]
        assert Ledger(shipped=False).runs() == ()
        going.child.kill()
        going.child.communicate(timeout=LIMIT_S)
    first = caveat("record", folder, "--json")
    assert first.json["ledger"] == "added to the ledger"
    (run,) = first.json["runs"]
    entries = run["figures"][0]["validity"]["entries"]
    assert ["interrupted" in e["sentence"] for e in entries if e["aspect"] == "completion"] == [True]
    assert conditions(run)["queries"] >= 50
    again = caveat("record", folder, "--json")
    assert (again.json["runs"][0]["id"], again.json["ledger"].startswith("the ledger has it")) == (run["id"], True)
    assert len(Ledger(shipped=False).runs()) == 1
