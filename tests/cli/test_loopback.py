"""caveat loopback: it serves what it was asked to, and ends when it is told to."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from caveat.errors import EXIT_CANNOT_SAY, EXIT_INPUT, EXIT_USAGE

LIMIT_S = 20


def started(*argv):
    return subprocess.Popen(
        [sys.executable, "-m", "caveat", "loopback", "--port", "0", *argv], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_serves_and_ends_with_a_signal(number):
    """One object for a machine; the address answers."""
    with started("--json", "--ttft", "0.001", "--slots", "2") as child:
        try:
            said = json.loads("".join(child.stdout.readline() for _ in range(4)))
            with urllib.request.urlopen(f"{said['url']}/v1/models", timeout=LIMIT_S) as answer:
                assert json.load(answer)["data"][0]["id"] == "loopback"
            child.send_signal(number)
            assert child.wait(LIMIT_S) == 0
        finally:
            child.kill()
    assert said["format"] == "caveat-loopback/1"


def test_a_model_drives_it():
    """Prompt and step of the file: 5 ms until a request is looked at, 10 ms a step, 2 ms for each of three words."""
    with started("--json", "--model", "slots8-small", "--set", "fleet.replicas=2") as child:
        try:
            url = json.loads("".join(child.stdout.readline() for _ in range(4)))["url"]
            body = json.dumps({"prompt": "one two three", "max_tokens": 1}).encode()
            urllib.request.urlopen(f"{url}/v1/completions", body, timeout=LIMIT_S).close()
            with urllib.request.urlopen(f"{url}/loopback/log", timeout=LIMIT_S) as answer:
                truth = json.loads(answer.read().splitlines()[1])
            assert truth["first_due_ns"] - truth["arrival_ns"] == 21_000_000
        finally:
            child.kill()


def test_people_read_a_sentence():
    """With the way out."""
    with started() as child:
        try:
            assert child.stdout.readline().endswith("Ctrl-C ends it\n")
            child.send_signal(signal.SIGINT)
            assert child.wait(LIMIT_S) == 0
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--ttft", "soon"), EXIT_USAGE),
        (("--itl", "lognormal(100ms, 50ms)"), EXIT_INPUT),
        (("--itl", "-1"), EXIT_INPUT),
        (("--behaviour", "nowhere.toml"), EXIT_INPUT),
        (("--slots", "-1"), EXIT_USAGE),
        (("--model", "nowhere.toml"), EXIT_INPUT),
        (("--model", "slots8-small", "--ttft", "0.1"), EXIT_USAGE),
        (("--model", "slots8-small", "--set", "fleet.replicas=0"), EXIT_INPUT),
        (
            (
                "--model",
                "slots8-small",
                "--set",
                "scheduler.static_slots=none",
                "--set",
                'scheduler.max_num_seqs="unknown"',
            ),
            EXIT_CANNOT_SAY,
        ),
        (("--set", "fleet.replicas=2"), EXIT_USAGE),
        (("--port", "70000"), EXIT_USAGE),
    ],
)
def test_what_it_cannot_be_is_refused_before_it_serves(caveat, argv, code):
    """With the next step."""
    done = caveat("loopback", *argv)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("caveat: ")
