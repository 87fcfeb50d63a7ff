"""ServeGen's files: small ones written here, and the published ones where they are at hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from caveat.errors import InputError
from caveat.workload import (
    Client,
    GammaGaps,
    Histogram,
    Limits,
    Separate,
    Superposition,
    WeibullGaps,
    Window,
    Windows,
    Workload,
    read_servegen,
)
from caveat.workload.gaps import weibull_cv
from tests.builders import NO_SHARED, SHARED
from tests.workload.cases import CHAT, rows

PUBLISHED = SHARED / "data" / "traces" / "servegen"

TRACE = "0,0,0,,0,0\n600,2.5,2,Gamma,0.25,1.6\n1200,1.5,1,Weibull,1,0.66\n"
DATASET = {
    "0": {"input_tokens": "{10: 0.25, 12: 0.75}", "output_tokens": "{5: 1.0}", "reason_ratio": "{}"},
    "1200": {"input_tokens": "{11: 1.0}", "output_tokens": "{6: 0.5, 7: 0.5}", "reason_ratio": "{}"},
}


def write(folder: Path, number: int, trace: str = TRACE, dataset: object = DATASET) -> None:
    (folder / f"chunk-{number}-trace.csv").write_text(trace)
    if dataset is not None:
        (folder / f"chunk-{number}-dataset.json").write_text(json.dumps(dataset))


def test_a_client_is_read_as_windows_and_histograms(tmp_path: Path):
    """1,500 requests with the first table, 900 with the second: shares of 5/8 and 3/8."""
    write(tmp_path, 3)
    read = read_servegen(tmp_path)
    assert read.without_lengths == ()
    assert read.arrivals == Superposition(
        (
            Client(
                name="chunk-3",
                arrivals=Windows(
                    (
                        Window(0.0, 0.0),
                        Window(600.0, 2.5, GammaGaps(2.0)),
                        Window(1200.0, 1.5, WeibullGaps(weibull_cv(1.0))),
                    ),
                    end_s=1800.0,
                ),
                lengths=Separate(
                    input=Histogram((10, 11, 12, 13), (156250, 375000, 468750)),
                    output=Histogram((5, 6, 7, 8), (625000, 187500, 187500)),
                ),
            ),
        )
    )


def test_a_stretch_of_time_begins_at_zero(tmp_path: Path):
    """From 900 s: the rest of one window and the next, half of it; rates doubled."""
    write(tmp_path, 1)
    (client,) = read_servegen(tmp_path, from_s=900.0, until_s=1500.0, rate_scale=2.0).arrivals.clients
    assert isinstance(client.arrivals, Windows)
    assert [(w.start_s, w.rate_qps) for w in client.arrivals.windows] == [(0.0, 5.0), (300.0, 3.0)]
    assert client.arrivals.end_s == 600.0
    assert client.lengths == Separate(
        input=Histogram((10, 11, 12, 13), (156250, 375000, 468750)),
        output=Histogram((5, 6, 7, 8), (625000, 187500, 187500)),
    )


def test_clients_are_in_order_of_number_and_those_without_lengths_are_named(tmp_path: Path):
    """10 comes after 9; an idle client is no client."""
    for number in (10, 9):
        write(tmp_path, number)
    write(tmp_path, 2, dataset=None)
    write(tmp_path, 4, dataset={"0": {"input_tokens": "{}", "output_tokens": "{}"}})
    write(tmp_path, 5, trace="0,0,0,,0,0\n")
    read = read_servegen(tmp_path)
    assert [client.name for client in read.arrivals.clients] == ["chunk-9", "chunk-10"]
    assert read.without_lengths == ("chunk-2", "chunk-4")


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        ("", "no windows"),
        ("0,1,1,Gamma,1\n", "line 1"),
        ("0,1,1,Gamma,1,1\n600,x,1,Gamma,1,1\n", "line 2: .*could not convert"),
        ("0,1,1,Pareto,1,1\n", "family 'Pareto'"),
        ("0,1,1,Gamma,0,1\n", "shape 0.0"),
        ("0,1,1,Gamma,nan,1\n", "shape nan"),
        ("0,1e300,1,Gamma,1,1\n", "rate_qps: found 1e[+]300"),
        ("0,nan,1,Gamma,1,1\n", "rate_qps: found nan"),
        ("600,1,1,Gamma,1,1\n0,1,1,Gamma,1,1\n", "above the one before it"),
        ("\x1b[31m,1,1,Gamma,1,1\n", "could not convert"),
        ("\x00" * 100, "line 1"),
        ("7" * 200_000, "field larger than field limit"),
    ],
)
def test_a_trace_file_that_is_none_is_refused(tmp_path: Path, trace: str, expected: str):
    """With file and line, and nothing that a terminal would obey."""
    write(tmp_path, 1, trace=trace)
    with pytest.raises(InputError, match=expected) as refusal:
        read_servegen(tmp_path)
    assert "\x1b" not in str(refusal.value)


@pytest.mark.parametrize(
    "dataset",
    [[], {"0": []}, {"soon": {}}, {"0": {"input_tokens": {"1": 1}}}],
    ids=["list", "window of a list", "time of day", "table not text"],
)
def test_a_dataset_file_that_is_none_is_refused(tmp_path: Path, dataset: object):
    """With its name."""
    write(tmp_path, 1, dataset=dataset)
    with pytest.raises(InputError, match=r"chunk-1-dataset\.json"):
        read_servegen(tmp_path)


def test_tables_are_read_and_never_run(tmp_path: Path):
    """Text that is Python stays text; entries out of bounds are left out."""
    hostile = "{7: 0.5, 0: 0.1, 99999999: 0.1, 8: 2.0, 9: nan, __import__('os').abort(): 1}"
    write(tmp_path, 1, dataset={"0": {"input_tokens": hostile, "output_tokens": "{5: 1.0}"}})
    (client,) = read_servegen(tmp_path).arrivals.clients
    assert isinstance(client.lengths, Separate)
    assert client.lengths.input == Histogram((7, 8), (1_000_000,))


def test_a_folder_without_clients_is_refused(tmp_path: Path):
    """And says what was looked for."""
    with pytest.raises(InputError, match="no client with requests and lengths") as refusal:
        read_servegen(tmp_path)
    assert "chunk-N-trace.csv" in refusal.value.next


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason=NO_SHARED)
@pytest.mark.parametrize(("name", "clients", "without"), [("reason-deepseek-r1", 11, 62), ("language-m-small", 8, 0)])
def test_the_published_clients_give_their_own_rate(name: str, clients: int, without: int):
    """Ten minutes of the first day: as many requests as the windows' rates say, within their burstiness."""
    read = read_servegen(PUBLISHED / name, from_s=43200.0, until_s=43800.0)
    assert len(read.arrivals.clients) <= clients
    assert len(read.without_lengths) <= without
    expected = read.arrivals.expected(600.0)
    found = len(rows(Workload(arrivals=read.arrivals, lengths=CHAT).plan()))
    variance = sum(_variance(client.arrivals) for client in read.arrivals.clients)
    assert abs(found - expected) < 5 * math.sqrt(variance)


def _variance(windows: object) -> float:
    assert isinstance(windows, Windows)
    return sum(window.rate_qps * 600.0 * max(window.gaps.cv, 1.0) ** 2 for window in windows.windows)


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason=NO_SHARED)
def test_the_published_lengths_are_those_of_the_tables():
    """A client's mean input over the first six hours is that of its first table."""
    read = read_servegen(PUBLISHED / "language-m-small", until_s=21600.0)
    client = next(client for client in read.arrivals.clients if client.name == "chunk-12")
    text = json.loads((PUBLISHED / "language-m-small" / "chunk-12-dataset.json").read_text())["0"]["input_tokens"]
    pairs = [pair.split(": ") for pair in text.strip("{}").split(", ")]
    mean = sum(int(length) * float(share) for length, share in pairs)
    plan = Workload(arrivals=read.arrivals, lengths=CHAT, limits=Limits(duration_s=10.0))
    assert isinstance(client.lengths, Separate)
    drawn = client.lengths.input.tokens((np.arange(100_000) + 0.5) / 100_000)
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert plan.lengths == CHAT
