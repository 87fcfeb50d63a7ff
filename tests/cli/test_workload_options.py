"""The words that describe a workload, alone, in a sweep and beside a document; and what is refused beside what."""

from pathlib import Path

import pytest

from caveat.cli.asked import Asked, samples_folder, specs
from caveat.cli.workload_options import Words, at_point, stop_after_s
from caveat.cli.workload_options import workload as workload_of
from caveat.errors import EXIT_INPUT, EXIT_USAGE, UsageError
from caveat.ledger import Ledger
from caveat.loadgen import UNNAMED, Decoding
from caveat.workload import Concurrency, Constant, Gamma, Limits, Poisson, encode_workload
from tests.loadgen.folders import poisson_spec

HERE = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("words", "arrivals", "limits"),
    [
        (Words(rate=4), Poisson(rate_qps=4), Limits(duration_s=60.0)),
        (Words(rate=4, cv=0), Constant(rate_qps=4), Limits(duration_s=60.0)),
        (Words(rate=4, cv=2.0, duration="2min"), Gamma(rate_qps=4, cv=2.0), Limits(duration_s=120.0)),
        (Words(rate=1, requests=1000), Poisson(rate_qps=1), Limits(requests=1000)),
        (Words(rate=1, requests=9, duration="5s"), Poisson(rate_qps=1), Limits(requests=9, duration_s=5.0)),
        (Words(concurrency=8), Concurrency(requests=8), Limits(requests=160)),
        (Words(concurrency=8, requests=100), Concurrency(requests=8), Limits(requests=100)),
        (Words(concurrency=8, duration="60s"), Concurrency(requests=8), Limits(requests=96_000)),
        (Words(concurrency=8, duration="60s", requests=9), Concurrency(requests=8), Limits(requests=9)),
    ],
)
def test_small_words_make_the_usual_workloads(words, arrivals, limits):
    """A number of requests is a number of requests; a closed loop with a duration has requests to spare."""
    found = workload_of(words)
    assert (found.arrivals, found.limits) == (arrivals, limits)


def test_a_closed_loop_with_a_duration_is_ended_by_the_clock():
    """Open arrivals end by their plan."""
    assert stop_after_s(Words(concurrency=8, duration="60s")) == 60.0
    assert stop_after_s(Words(concurrency=8)) is None
    assert stop_after_s(Words(rate=8, duration="60s")) is None


@pytest.mark.parametrize("words", [Words(), Words(rate=1, concurrency=1), Words(concurrency=2, cv=1.0)])
def test_a_workload_is_open_or_closed(words):
    """Not neither, not both, and no word is passed over."""
    with pytest.raises(UsageError):
        workload_of(words)


def test_each_point_of_a_sweep_is_a_workload_of_its_own():
    """As many requests a place at each width, whatever the first point was."""
    found = specs(Asked(words=Words(), url=HERE, model="m", points="concurrency=1,64"), Ledger())
    assert [spec.workload.limits.requests for spec in found] == [20, 1280]
    found = specs(Asked(words=Words(requests=50), url=HERE, model="m", points="rate=1,2"), Ledger())
    assert [(spec.workload.arrivals, spec.workload.limits.requests) for spec in found] == [
        (Poisson(rate_qps=1), 50),
        (Poisson(rate_qps=2), 50),
    ]
    with pytest.raises(UsageError, match="--sweep beside"):
        specs(Asked(words=Words(rate=3), url=HERE, model="m", points="rate=1,2"), Ledger())


def test_a_spec_is_swept_along_its_own_arrivals():
    """A rate has other rates, a number in flight other numbers."""
    spec = poisson_spec()
    assert at_point(spec, "rate", 3.0).workload.arrivals == Poisson(rate_qps=3.0)
    with pytest.raises(UsageError, match="arrivals are poisson"):
        at_point(spec, "concurrency", 3.0)


@pytest.mark.parametrize(
    "beside",
    [
        {"words": Words(rate=1.0)},
        {"words": Words(input="3")},
        {"words": Words(), "limits": "ttft=1s"},
        {"words": Words(), "unsalted": True},
        {"words": Words(), "like": "abcd"},
    ],
)
def test_no_option_is_passed_over_beside_a_spec(beside, tmp_path):
    """The document says all; where it goes may be said anew."""
    from caveat.loadgen import encode_spec

    path = tmp_path / "run.json"
    path.write_bytes(encode_spec(poisson_spec()))
    with pytest.raises(UsageError, match="beside --spec"):
        specs(Asked(spec_file=path, **beside), Ledger())
    (moved,) = specs(Asked(spec_file=path, words=Words(), url="http://other:1", facts=["accelerators=8"]), Ledger())
    assert (moved.endpoint.url, moved.known, moved.workload) == (
        "http://other:1",
        {"accelerators": 8},
        poisson_spec().workload,
    )


def test_a_workload_document_stands_alone(tmp_path):
    """Beside it no word of a workload is heard."""
    path = tmp_path / "w.json"
    path.write_bytes(encode_workload(poisson_spec().workload))
    (spec,) = specs(Asked(words=Words(), url=HERE, model="m", workload_path=path), Ledger())
    assert spec.workload == poisson_spec().workload
    with pytest.raises(UsageError, match="--workload"):
        specs(Asked(words=Words(rate=1.0), url=HERE, model="m", workload_path=path), Ledger())


def test_without_an_address_there_is_nothing_to_measure():
    """Usage."""
    with pytest.raises(UsageError, match="needs an address"):
        specs(Asked(words=Words(rate=1.0)), Ledger())


@pytest.mark.parametrize(
    "path", [None, "/etc/passwd", "measured/../../x/samples.parquet", "runs/ab/samples.parquet", "../samples.parquet"]
)
def test_samples_are_looked_for_inside_the_ledger_only(path):
    """A document from elsewhere may name any path."""
    book = Ledger()
    assert samples_folder(book, path) is None
    assert samples_folder(book, "measured/ab/samples.parquet") == book.path / "measured" / "ab"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rate", "0"), "--rate: found 0.0"),
        (("--rate", "nan"), "--rate: found nan"),
        (("--rate", "4", "--cv", "200"), "--cv: found 200.0"),
        (("--concurrency", "0"), "--concurrency: found 0"),
        (("--rate", "4", "--input", "0"), "--input: fixed.value: found 0"),
        (("--rate", "4", "--output", "9-3"), "--output: uniform.high: found 3"),
        (("--rate", "4", "--duration", "0s"), "--duration: found 0.0"),
        (("--rate", "4", "--duration", "soon"), "--duration: found the time 'soon'"),
        (("--rate", "4", "--seed", "-1"), "--seed: found -1"),
        (("--sweep", "rate=1e20"), "--sweep rate: found 1e+20"),
        (("--rate", "4", "--slo", "ttft=0s"), "--slo: ttft_s: found 0.0"),
        (("--replay", "trace.jsonl", "--first", "nan"), "--first: found nan"),
        (("--replay", "trace.jsonl", "--speed", "0"), "--speed: found 0"),
        (("--rate", "4", "--temperature", "hot"), "--temperature: found 'hot'"),
        (("--rate", "4", "--extra-body", "top_k"), "--extra-body: found no NAME=VALUE"),
        (("--rate", "4", "--extra-body", "max_tokens=3"), "--extra-body: found max_tokens"),
        (("--rate", "4", "--same-draw"), "found --same-draw without --repeats"),
    ],
)
def test_an_option_that_is_wrong_is_named(caveat, options, said):
    """Not the field of the document that it would have become; exit 2."""
    done = caveat("measure", HERE, "--dry-run", *options)
    assert (done.code, done.out) == (EXIT_USAGE, "")
    assert said in " ".join(done.err.split())


@pytest.mark.parametrize("option", ["--tokenizer", "--ca-file"])
def test_a_dry_run_finds_out_that_a_file_is_missing(caveat, option):
    """Nothing else of the run would work either."""
    done = caveat("measure", HERE, "--rate", "4", "--dry-run", option, "nowhere.json")
    assert (done.code, "nowhere.json" in done.err) == (EXIT_INPUT, True)


def test_how_to_ask_can_be_said_in_options():
    """What a spec can say of body, certificates and decoding."""
    asked = Asked(
        url="https://localhost",
        words=Words(rate=4),
        body=("top_k=20", 'stop=["END"]', "user=me"),
        ca_file=Path("ca.pem"),
        unverified=True,
        temperature="server",
        any_length=True,
        chunk_times=True,
    )
    (spec,) = specs(asked, Ledger())
    assert spec.endpoint.extra_body == {"top_k": 20, "stop": ["END"], "user": "me"}
    assert (spec.endpoint.ca_file, spec.endpoint.verify, spec.endpoint.model) == ("ca.pem", False, UNNAMED)
    assert spec.decoding == Decoding(temperature=None, exact_length=False)
    assert spec.settings.chunk_times
    (usual,) = specs(Asked(url="https://localhost", words=Words(rate=4), temperature="0.7"), Ledger())
    assert usual.decoding == Decoding(temperature=0.7)
    assert (usual.endpoint.verify, usual.settings.chunk_times) == (True, False)


def test_a_dry_run_says_what_the_draw_schedules_and_what_money_is_made_of(caveat):
    """117 of 100 asked for is this seed's; 10 in 10 s of a constant rate needs no word."""
    argv = ("measure", HERE, "--duration", "10s", "--dry-run", "--price-in", "1", "--price-out", "2")
    said = " ".join(caveat(*argv, "--rate", "10").out.split())
    assert "asked 10/s; this draw schedules 11.7/s, 17% more: a longer run, or another --seed, comes nearer" in said
    assert "cost 0.0899 at 1 a million tokens in and 2 out" in said
    assert "draw" not in caveat(*argv, "--rate", "10", "--cv", "0").out
