"""A search for the peak on the screen, and the probe that it is interrupted in: kept, and findable."""

import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from caveat.cli.find_peak import MOST_SHOWN, print_peak
from caveat.errors import EXIT_CANNOT_SAY
from caveat.ledger import Ledger
from caveat.loopback import behaviour_of, start_process
from caveat.measure import PeakGoal, PeakProbe, find_peak_with

LIMIT_S = 30
SHORT = ("--input", "16", "--output", "4", "--no-calibrate", "--no-probe", "--model", "m")


def peak_of(**goal):
    """A search on a server that is over for one request in a hundred at 100 a second."""

    def probe(ask):
        share = min(1.0, (ask.rate_qps / 100) ** 8 / 100)
        over = np.random.default_rng(ask.seed).random(ask.queries) < share
        return PeakProbe(over=over, span_s=ask.seconds, latency_s=0.01, run=f"measured/{ask.number}")

    return find_peak_with(PeakGoal(start_qps=5.0, seed=1, **goal), probe)


def test_the_answer_stands_first_and_the_last_probes_below(capsys):
    """With how it ended and that nobody verified it; earlier probes are counted, and --full has them."""
    peak = peak_of(confirm=False)
    assert len(peak.probes) > MOST_SHOWN
    print_peak(peak, [])
    short = capsys.readouterr().out
    assert short.startswith("The peak with at most 1 % of requests over the limit is ")
    assert short.index("not an MLPerf result") < short.index("probe ")
    numbers = [int(number) for number in re.findall(r"^ +(\d+)  (?:bracket|estimate)", short, re.MULTILINE)]
    assert numbers == [row.number for row in peak.probes[-MOST_SHOWN:]]
    assert f"{len(peak.probes) - MOST_SHOWN} earlier probe: --full" in short
    assert "without --no-confirm" in short
    print_peak(peak, [], full=True)
    full = capsys.readouterr().out
    assert len(re.findall(r"^ +\d+  (?:bracket|estimate)", full, re.MULTILINE)) == len(peak.probes)
    assert "earlier probes" not in full


@pytest.mark.parametrize(
    ("goal", "step"),
    [
        ({"most_queries": 20_000, "width": 0.05}, "--peak-within"),
        ({"ceiling_qps": 50.0}, "more than this client can send"),
    ],
)
def test_how_it_ended_says_what_to_do(capsys, goal, step):
    """More time, or another client."""
    print_peak(peak_of(confirm=False, **goal), [])
    assert step in capsys.readouterr().out.split("\nnext\n")[1]


def test_an_interrupted_search_keeps_the_probe_that_was_under_way():
    """It is a run of the ledger like those before it, and the error says under which id."""
    search = ("--find-peak", "--no-confirm", "--rate", "40", "--slo", "ttft=2s,p99", "--json", *SHORT)
    with start_process(behaviour_of({"ttft_s": 0.005})) as server:
        argv = (sys.executable, "-m", "caveat", "measure", server.url, *search, "--ledger", str(Ledger().path))
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert any(line.startswith("{") and json.loads(line)["ended"] >= 10 for line in child.stderr)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=LIMIT_S)
        finally:
            child.kill()
            child.communicate()
    error = json.loads(out)["error"]
    assert (child.returncode, error["message"]) == (EXIT_CANNOT_SAY, "peak: the search was interrupted")
    (run,) = Ledger(shipped=False).runs()
    assert f"caveat show {run.id[:10]}; start it again" in error["next"]
    assert run.notes[0].startswith("probe 1 of a search for the peak (bracket)")
    assert run.notes[0].endswith("in which the search ended")
    assert (Ledger().path / run.samples).is_file()
