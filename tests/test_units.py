"""units: conversions that come back, and numbers as people write them."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.units import (
    Unit,
    format_interval,
    format_number,
    format_quantity,
    format_seconds,
    seconds_from_ms,
    seconds_from_ns,
    unit_words,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
LENGTH_S = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (106517.4, Unit.TOKENS_PER_SECOND, "106,517 tokens/s"),
        (1136100.0, Unit.TOKENS_PER_SECOND, "1,136,100 tokens/s"),
        (0.0701, Unit.SECOND, "70.1 ms"),
        (2.0, Unit.SECOND, "2 s"),
        (1200.0, Unit.SECOND, "20 min"),
        (267.0, Unit.TOKENS_PER_SAMPLE, "267.0 tokens/sample"),
        (290.83, Unit.TOKENS_PER_SAMPLE, "290.8 tokens/sample"),
        (12.3456, Unit.SAMPLES_PER_SECOND, "12.35 samples/s"),
        (0.5, Unit.REQUESTS_PER_SECOND, "0.5 requests/s"),
        (0.9696, Unit.RATIO, "0.97"),
        (10200.0, Unit.WATT, "10,200 W"),
        (0.0, Unit.TOKEN, "0 tokens"),
    ],
)
def test_a_quantity_reads_as_people_write_it(value, unit, text):
    """Thousands grouped, a scale of its own for times, the unit in words."""
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (-0.0, "0 s"),
        (7e-10, "0.7 ns"),
        (70.1e-6, "70.1 µs"),
        (0.64, "640 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),  # not 1e+03 ms
        (1.466, "1.47 s"),
        (599.0, "599 s"),
        (600.0, "10 min"),
        (36000.0, "10 h"),
        (60000.0, "16.7 h"),  # not 1e+03 min
        (-2.0, "-2 s"),
        (math.nan, "nan s"),
        (math.inf, "inf s"),
    ],
)
def test_a_time_chooses_a_scale_on_which_three_digits_read_well(seconds, text):
    """The scale is chosen after rounding."""
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(999.94, "999.9"), (999.95, "1,000"), (99.996, "100"), (0.00123, "0.00123"), (-0.0, "0"), (math.inf, "inf")],
)
def test_a_number_keeps_its_grouping_over_the_border_of_rounding(value, text):
    """999.95 is 1,000, not 1,000.0; zero has no sign."""
    assert format_number(value) == text


@given(st.floats(1e-9, 1e7))
def test_a_formatted_time_is_never_scientific_and_within_half_a_percent(seconds):
    """Three digits on the scale are read back as the time that went in."""
    number, scale = format_seconds(seconds).split(" ")
    assert re.fullmatch(r"[0-9][0-9,]*(\.[0-9]+)?", number)
    assert float(number.replace(",", "")) * LENGTH_S[scale] == pytest.approx(seconds, rel=0.006)


@given(st.floats(1e-4, 1e15))
def test_a_formatted_number_is_never_scientific_and_within_half_a_percent(value):
    """Everyday sizes stay readable without losing what matters."""
    text = format_number(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.006)


@given(finite)
def test_any_number_can_be_written(value):
    """Formatting never raises."""
    assert format_number(value) and format_seconds(value)


@given(st.integers(0, 2**53))
def test_nanoseconds_and_milliseconds_come_back(ticks):
    """Conversion at the border loses nothing that a sample's clock can say."""
    assert round(seconds_from_ns(ticks) * 1e9) == pytest.approx(ticks, rel=1e-15)
    assert round(seconds_from_ms(ticks) * 1e3) == pytest.approx(ticks, rel=1e-15)


def test_every_unit_has_its_words_and_no_two_share_them():
    """A table head says which unit is meant."""
    words = [unit_words(unit) for unit in Unit]
    assert len(set(words)) == len(words)
    assert not any("{" in word for word in words)


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (0.2, 0.204, Unit.SECOND, "200 to 204 ms"),
        (0.6, 3.8, Unit.SECOND, "600 ms to 3.8 s"),
        (1.0, 3.0, Unit.SECOND, "1 to 3 s"),
        (1.948, 2.09, Unit.REQUESTS_PER_SECOND, "1.948 to 2.09 requests/s"),
        (0.991, 1.0, Unit.RATIO, "0.991 to 1"),
    ],
)
def test_an_interval_names_a_shared_unit_once(low, high, unit, text):
    """And both where they differ."""
    assert format_interval(low, high, unit) == text
