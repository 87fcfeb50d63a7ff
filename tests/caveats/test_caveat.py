import re
from string import Formatter

import pytest

from caveat.caveats import CATALOGUE
from caveat.caveats.caveat import filled

# Everything with a digit that prose may hold, and why. All other numbers come from `facts` or from the ledger.
NAMES = {
    "p99": "the name of a percentile",
    "llama2-70b": "the name of a benchmark",
    "llama3.1-8b": "the name of a benchmark",
    "99": "the name of an accuracy track",
    "99.9": "the name of an accuracy track",
}


def prose(caveat) -> list[str]:
    return [caveat.title, *(text for _, text in caveat.sections), caveat.shown]


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_no_number_is_typed_into_a_page(caveat):
    """A number that was typed can be wrong tomorrow; names may hold digits."""
    for text in prose(caveat):
        words = re.findall(r"[\w.\-]*\d[\w.\-]*", re.sub(r"{\w+}", "", text))
        assert [word for word in words if word.rstrip(".") not in NAMES] == []


def test_every_name_with_digits_is_still_used():
    """The list of exceptions does not outlive its reasons."""
    everything = "\n".join(text for caveat in CATALOGUE for text in prose(caveat))
    assert [name for name in NAMES if not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", everything)] == []


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_prose_asks_only_for_numbers_that_exist(caveat):
    """Sections use what the rules give; the words around the evidence use the evidence as well, all of it."""
    evidence = caveat.evidence(())
    assert set().union(*(fields(text) for _, text in caveat.sections)) <= set(caveat.given)
    assert fields(caveat.shown) <= {*caveat.given, *evidence.numbers}
    assert set(evidence.numbers) <= fields(caveat.shown)


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_every_section_says_something(caveat):
    """No page without a conclusion, a reason, an alternative and a right use."""
    assert [heading for heading, _ in caveat.sections] == [
        "What is often concluded",
        "Why it does not follow",
        "What to do instead",
        "When the figure is right to use",
    ]
    assert all(len(text.split()) >= 8 for _, text in caveat.sections)


def test_what_is_often_repeated_wrongly_is_set_right():
    """The pages name the three errors that everybody meets."""
    pages = {caveat.id: " ".join(" ".join(prose(caveat)).split()) for caveat in CATALOGUE}
    given = {caveat.id: caveat.given for caveat in CATALOGUE}
    assert "llama2-70b are questions and instructions from {llama2}" in pages["fixed-shape-is-not-your-traffic"]
    assert given["fixed-shape-is-not-your-traffic"]["llama2"].startswith("OpenOrca")
    assert "Server is an open loop." in pages["poisson-at-a-chosen-rate"]
    assert given["poisson-at-a-chosen-rate"]["sample"] == "0.5"


def test_prose_is_filled_paragraph_by_paragraph():
    """Line breaks of the source go, empty lines stay, braces in a value are not read again."""
    text = "\n        One {name}\n        line.\n\n        And {n}.\n        "
    assert filled(text, {"name": "{n}", "n": 1234}) == "One {n} line.\n\nAnd 1,234."
