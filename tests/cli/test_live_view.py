"""The line that one watches: a hundred columns, whatever happens, and the same for a machine."""

import json
import math
import os
import signal
import threading

import pytest

from caveat.cli.live_view import Interrupt, Progress, progress_json, progress_line
from caveat.loadgen import Watched
from caveat.measure import Live, LiveView
from tests.measure.samples import samples

NONE = (math.nan,) * 3


def view(**changes):
    values = {
        "ended": 0,
        "failed": 0,
        "errors": {},
        "in_flight": None,
        "rate_per_s": 0.0,
        "output_tokens": 0,
        "ttft_s": NONE,
        "tpot_s": NONE,
    }
    return LiveView(**{**values, **changes})


def test_a_line_says_what_matters_first():
    """Time, what is left, how far, how many failed, how fast, and latencies."""
    look = view(
        ended=1234, in_flight=9, failed=2, rate_per_s=31.4159, ttft_s=(0.1, 0.2, 0.5), tpot_s=(0.02, 0.03, 0.04)
    )
    assert progress_line(look, 12.0, expected=2000, lasts_s=60.0) == (
        "12 s  48 s left  1,234/2,000 done  9 in flight  2 failed  31.4/s  p50/99: TTFT 100/500 ms  TPOT 20/4"
    )
    slow = view(ttft_s=(0.5, 1.5, math.nan))
    assert "p50/99: TTFT 500 ms/-  TPOT -/-" in progress_line(slow, 1.0, expected=None, lasts_s=None)


@pytest.mark.parametrize(
    "look",
    [
        view(),
        view(ended=10**9, failed=10**9, rate_per_s=1e6, ttft_s=(1e5, 1e5, 1e5), tpot_s=(123.456, 123.456, 123.456)),
    ],
)
def test_a_line_fits_a_hundred_columns(look):
    """Also of a run of days that goes wrong."""
    assert len(progress_line(look, 1e6, expected=10**9, lasts_s=1e7)) <= 100


def test_a_scenario_shows_how_far_it_is_from_certain():
    """How many more queries, then that there are enough; for a machine the number itself."""
    assert "0 failed  61 more to certify  0/s" in progress_line(view(more_queries=61), 1.0, expected=None, lasts_s=None)
    assert "certified so far" in progress_line(view(more_queries=0), 1.0, expected=None, lasts_s=None)
    assert "certif" not in progress_line(view(), 1.0, expected=None, lasts_s=None)
    assert progress_json(view(more_queries=61), 1.0, expected=None, lasts_s=None)["more_queries"] == 61


def test_a_machine_reads_null_where_nothing_is_known():
    """JSON has no NaN."""
    found = json.loads(json.dumps(progress_json(view(), 0.5, expected=None, lasts_s=None), allow_nan=False))
    assert (found["format"], found["ttft_s"], found["lasts_s"]) == ("caveat-progress/1", [None] * 3, None)


class Clock:
    """A plan's clock that stands."""

    def now_ns(self):
        return 2_000_000_000


def test_progress_is_shown_until_it_is_stopped(capsys, monkeypatch):
    """JSON lines on standard error; nothing on a stream that nobody watches."""
    monkeypatch.setattr("caveat.cli.live_view.EVERY_S", 0.001)
    live = Live()
    live.take(samples([0.1, 0.2], 0.5).to_batches()[0])
    seen = []
    shown = Progress(expected=2, lasts_s=1.0, as_json=True)
    monkeypatch.setattr("sys.stderr.flush", lambda: seen.append(1), raising=False)
    shown.watch(Watched(live, Clock()))
    deadline = 10_000
    while not seen and deadline:
        deadline -= 1
        shown._done.wait(0.001)
    shown.stop()
    lines = capsys.readouterr().err.splitlines()
    assert json.loads(lines[0])["ended"] == 2
    quiet = Progress(expected=2, lasts_s=1.0, as_json=False)
    quiet.watch(Watched(live, Clock()))
    quiet.stop()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_leaves(number):
    """Handlers are as they were afterwards."""
    before = signal.getsignal(number)
    interrupt = Interrupt()
    with interrupt.listening():
        assert not interrupt.requested()
        os.kill(os.getpid(), number)
        assert interrupt.wait(5.0)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


class SeenClock(Clock):
    """Says when somebody looks at it."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def now_ns(self):
        self.seen.set()
        return 0


def test_a_run_says_itself_how_many_requests_it_plans(capfd, monkeypatch):
    """Where nobody could know before the plan was read; a number that was known before stays."""
    monkeypatch.setattr("caveat.cli.live_view.EVERY_S", 0.001)
    for known, expected in ((None, 40), (7, 7)):
        shown = Progress(expected=known, lasts_s=1.0, as_json=True)
        seen = threading.Event()
        shown.watch(Watched(Live(), SeenClock(seen), 40))
        assert seen.wait(10)
        shown.stop()
        assert json.loads(capfd.readouterr().err.splitlines()[0])["expected"] == expected
