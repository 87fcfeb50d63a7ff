"""A bare claim is read as it was written, or refused; never taken for something near it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.publish.claim import parse_claim
from caveat.units import Unit


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("106,517", 106517.0, ""),
        ("106517 tokens/s", 106517.0, Unit.TOKENS_PER_SECOND),
        ("106_517 tok/s", 106517.0, Unit.TOKENS_PER_SECOND),
        ("106 517 output tokens per second", 106517.0, Unit.TOKENS_PER_SECOND),
        ("1.04M tok/s", 1.04e6, Unit.TOKENS_PER_SECOND),
        ("1.04m tokens/s", 1.04e6, Unit.TOKENS_PER_SECOND),
        ("106.5k", 106500.0, ""),
        ("106.5ktok/s", 106500.0, Unit.TOKENS_PER_SECOND),
        ("1.2e5 TPS", 120000.0, Unit.TOKENS_PER_SECOND),
        (" 377.5 samples/s ", 377.5, Unit.SAMPLES_PER_SECOND),
        ("367 QPS", 367.0, Unit.SAMPLES_PER_SECOND),
        ("12 requests/sec", 12.0, Unit.REQUESTS_PER_SECOND),
        ("640 ms", 0.64, Unit.SECOND),
        ("2 s", 2.0, Unit.SECOND),
    ],
)
def test_a_claim_is_a_number_with_its_unit(text, number, unit):
    """Grouping, scale letters, exponents and times, as slides have them."""
    found, said = parse_claim(text)
    assert found == pytest.approx(number, rel=1e-12)
    assert said == unit


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "tokens/s",
        "-5 tokens/s",
        "1,04M tok/s",  # a decimal comma is not a group of three
        "1,2345",
        "10,6517",
        "1.2.3",
        "1e999",
        "5 m",
        "106517 tokens/min",
        "106517 bananas",
        "106517 tokens/s\n--evil",
        "10\u0661 tokens/s",  # an Arabic-Indic digit
        "106517 tokens/s offline",
    ],
)
def test_what_cannot_be_read_is_refused(text):
    """With an example of what can."""
    with pytest.raises(UsageError, match="expected") as refusal:
        parse_claim(text)
    assert refusal.value.next == "--value '106517 tokens/s'"


@pytest.mark.parametrize("unit", ["tokens/s/GPU", "tok/s per chip", "tokens/s / accelerator"])
def test_a_rate_per_accelerator_is_not_looked_up_as_a_systems(unit):
    """It was divided by a count that the claim does not give."""
    with pytest.raises(UsageError, match="per accelerator"):
        parse_claim(f"13,314 {unit}")


@given(st.floats(0, 1e12), st.sampled_from(["tokens/s", "tok/s", "TPS"]))
def test_every_way_to_write_a_number_reads_back(value, unit):
    """Grouped, plain or scientific."""
    for text in (f"{value:,.3f}", f"{value:.3f}", f"{value:.6e}"):
        number, said = parse_claim(f"{text} {unit}")
        assert number == float(text.replace(",", ""))
        assert said == Unit.TOKENS_PER_SECOND


@given(st.text(max_size=40))
def test_no_text_does_anything_but_parse_or_refuse(text):
    """A claim comes from anybody."""
    try:
        number, _ = parse_claim(text)
    except UsageError:
        return
    assert number >= 0
