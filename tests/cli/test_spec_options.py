"""The small words of `caveat measure`: what they mean, and what is refused instead of guessed."""

import math

import pytest

from caveat.cli.asked import Asked, samples_folder, specs
from caveat.cli.spec_options import Words, at_point, headers, known, length, seconds, slo, stop_after_s, sweep, warmup
from caveat.cli.spec_options import workload as workload_of
from caveat.errors import CaveatError, UsageError
from caveat.ledger import Ledger
from caveat.measure import Slo, WarmUp
from caveat.workload import Concurrency, Constant, Fixed, Gamma, Limits, Lognormal, Poisson, Uniform, encode_workload
from tests.loadgen.folders import poisson_spec

HERE = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("512", Fixed(value=512)),
        ("100-900", Uniform(low=100, high=900)),
        ("lognormal:500:1.2", Lognormal(mean=500.0, cv=1.2)),
    ],
)
def test_a_length_is_one_of_three_words(text, shape):
    """Tokens, a range, or mean and variation."""
    assert length(text) == shape


@pytest.mark.parametrize("text", ["", "many", "-5", "1.5", "900-100", "lognormal:500", "lognormal:1.2.3:1", "0", "²"])
def test_other_words_are_no_length(text):
    """Refused with the words that are."""
    with pytest.raises(CaveatError) as caught:
        length(text)
    assert caught.value.next


@pytest.mark.parametrize(
    ("text", "value"), [("200ms", 0.2), ("2s", 2.0), ("5min", 300.0), ("1h", 3600.0), ("1.5", 1.5), (" 3 s ", 3.0)]
)
def test_a_time_has_its_unit_or_is_in_seconds(text, value):
    """Minutes are min: m could be anything."""
    assert math.isclose(seconds(text), value)


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "-1s", "1.2.3s", "1m", "1e3", "5 minutes"])
def test_other_words_are_no_time(text):
    """Never taken for a number that no clock shows."""
    with pytest.raises(UsageError, match="expected for instance"):
        seconds(text)


def test_limits_name_what_they_limit():
    """Each once, with the percentile at which they hold."""
    assert slo("ttft=2s,tpot=200ms,e2e=20s,p95") == Slo(ttft_s=2.0, tpot_s=0.2, latency_s=20.0, percentile="p95")
    assert slo("latency=1s") == Slo(latency_s=1.0)
    assert slo(None) is None
    for wrong in ("p95", "ttft", "ttft=soon", "itl=3s", "ttft=2s,p42", "ttft=0s"):
        with pytest.raises(UsageError):
            slo(wrong)


def test_a_warm_up_is_a_time_a_number_or_a_steady_state():
    """A bare number counts requests."""
    assert warmup("10s") == WarmUp(first_s=10.0)
    assert warmup("100") == WarmUp(first_requests=100)
    assert warmup("steady") == WarmUp(until_steady=True)
    with pytest.raises(UsageError):
        warmup("a while")


def test_what_is_known_is_of_the_kind_that_the_table_asks():
    """Counts are counts, flags are yes or no, and nothing is said by saying nothing."""
    said = ["accelerator=H100", "accelerators=8", "parameters_b=70", "power_run=no", "engine=a=b"]
    assert known(said) == {
        "accelerator": "H100",
        "accelerators": 8,
        "parameters_b": 70.0,
        "power_run": False,
        "engine": "a=b",
    }
    for wrong in ("accelerator", "accelerator=", "accelerators=eight", "colour=red", "power_run=maybe"):
        with pytest.raises(UsageError, match="--known"):
            known([wrong])


def test_a_header_without_a_colon_is_refused_without_saying_it_back():
    """It may be a key."""
    assert headers(["X-Team: blue", "Authorization:Bearer a:b"]) == {"X-Team": "blue", "Authorization": "Bearer a:b"}
    with pytest.raises(UsageError) as caught:
        headers(["sk-do-not-keep-me"])
    assert "sk-do" not in str(caught.value) + caught.value.next


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


@pytest.mark.parametrize(
    "text", ["rate", "rate=", "rate=1,,2", "rate=0", "rate=nan", "rate=inf", "concurrency=1.5", "input=1,2"]
)
def test_other_sweeps_are_refused(text):
    """With the form that is meant."""
    with pytest.raises(UsageError, match="rate=1,2,4"):
        sweep(text)


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
