"""The small words of `caveat measure` as values: what they mean, and what is refused instead of guessed."""

import math

import pytest

from caveat.cli.spec_options import headers, known, length, seconds, slo, sweep, warmup
from caveat.errors import CaveatError, UsageError
from caveat.measure import Slo, WarmUp
from caveat.workload import Fixed, Lognormal, Uniform


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
    "text", ["rate", "rate=", "rate=1,,2", "rate=0", "rate=nan", "rate=inf", "concurrency=1.5", "input=1,2"]
)
def test_other_sweeps_are_refused(text):
    """With the form that is meant."""
    with pytest.raises(UsageError, match="rate=1,2,4"):
        sweep(text)
