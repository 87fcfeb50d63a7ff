"""The values that a run has for the conditions: three states, and one way in which each value is written."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import DocumentError
from caveat.figures import TABLE, Claim, Conditions, conditions_of, format_value
from tests.strategies import KEYS, conditions, values

BY_KEY = {row.key: row for row in TABLE}


# three states


def test_every_key_is_known_undisclosed_or_not_applicable():
    """And people read the word for it, never a zero."""
    c = conditions_of({"accelerators": 8, "engine": None}, not_applicable=("concurrency", "accelerators"))
    assert {key: c.state(key) for key in ("accelerators", "engine", "concurrency")} == {
        "accelerators": "known",
        "engine": "undisclosed",
        "concurrency": "not applicable",
    }
    assert (c.text("accelerators"), c.text("engine"), c.text("concurrency")) == ("8", "undisclosed", "not applicable")
    assert (c.number("engine"), c.number("concurrency"), c.words("engine"), c.numbers("accuracy")) == (
        None,
        None,
        None,
        {},
    )
    assert c.disclosed() == (1, len(TABLE) - 1)


@given(conditions())
def test_the_states_share_out_the_table(c):
    """No key is in two states; what is known is read by get, and only that."""
    states = [c.state(key) for key in KEYS]
    assert (states.count("known"), states.count("not applicable")) == (len(c.known), len(c.not_applicable))
    assert [key for key in KEYS if c.get(key) is not None] == [key for key in KEYS if c.state(key) == "known"]
    assert c.disclosed() == (len(c.known), len(TABLE) - len(c.not_applicable))


@pytest.mark.parametrize("ask", ["get", "number", "words", "numbers", "state", "text"])
def test_a_key_that_no_line_has_is_a_mistake_of_code(ask):
    """A misspelt key is a KeyError, never 'undisclosed'."""
    with pytest.raises(KeyError):
        getattr(Conditions(), ask)("acelerators")


def test_a_typed_answer_is_given_for_its_own_type_only():
    """True is no number, a number no word, a text no distribution."""
    c = conditions_of({"power_run": True, "accelerators": 8, "engine": "vLLM", "input_tokens": {"mean": 99.0}})
    assert [c.number(key) for key in ("power_run", "accelerators", "engine", "input_tokens")] == [None, 8.0, None, None]
    assert [c.words(key) for key in ("power_run", "accelerators", "engine")] == [None, None, "vLLM"]
    assert [c.numbers(key) for key in ("engine", "input_tokens")] == [{}, {"mean": 99.0}]


@pytest.mark.parametrize("blank", [None, "", "  \t\n"])
def test_nothing_said_is_undisclosed(blank):
    """None, blank texts and empty distributions are the absence of a value."""
    assert conditions_of({"engine": blank, "accuracy": blank}) == Conditions()
    assert conditions_of({"input_tokens": {}, "engine": blank}) == Conditions()


def test_an_empty_table_is_no_absent_text_or_number():
    """`accelerator = {}` in a file is a slip of the pen and not silence."""
    for key in ("accelerator", "accelerators", "power_run"):
        with pytest.raises(DocumentError, match=rf"{key}: found {{}}, expected "):
            conditions_of({key: {}})
    with pytest.raises(DocumentError, match="expected a key of the table"):
        conditions_of({"colour": {}})


def test_false_and_zero_are_values():
    """Only absence is undisclosed."""
    c = conditions_of({"power_run": False, "warmup": "none", "queries": 0, "duration_s": 0.0})
    assert c.disclosed()[0] == 4
    assert (c.get("power_run"), c.get("queries"), c.get("duration_s")) == (False, 0, 0.0)


# values


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.key)
def test_every_line_takes_a_value_of_its_kind_and_writes_it_for_people(row):
    """The strategy, the check and the formatter know the same kinds."""

    @given(values(row))
    def each(value):
        c = conditions_of({row.key: value})
        assert c.get(row.key) == value
        assert c.text(row.key).isprintable() and c.text(row.key) != ""

    each()


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("target_qps", 5, 5.0),
        ("duration_s", 600, 600.0),
        ("accelerators", 8.0, 8),
        ("headroom_ttft", -0.0, 0.0),
        ("accuracy", {"rouge1": 44}, {"rouge1": 44.0}),
    ],
)
def test_one_number_has_one_spelling(key, value, written):
    """8 and 8.0 are one count, 5 and 5.0 one rate: else one run would have two ids."""
    found = Conditions(known={key: value}).get(key)
    assert repr(found) == repr(written)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("accelerators", True, "a whole number that is not negative"),
        ("accelerators", 8.5, "a whole number that is not negative"),
        ("accelerators", -1, "a whole number that is not negative"),
        ("accelerators", 2**63, "a whole number that is not negative"),
        ("accelerators", "8", "a whole number that is not negative"),
        ("accelerators", 1e300, "a whole number that is not negative"),
        ("target_qps", True, "a finite number"),
        ("target_qps", float("nan"), "a finite number"),
        ("target_qps", float("inf"), "a finite number"),
        ("target_qps", 10**400, "a finite number"),
        ("duration_s", -1.0, "a time in seconds that is not negative"),
        ("duration_s", "600 s", "a time in seconds that is not negative"),
        ("power_run", 1, "true or false"),
        ("power_run", "false", "true or false"),
        ("prefix_caching", "undisclosed", "on or off (undisclosed is the absence of a value)"),
        ("prefix_caching", True, "on or off (undisclosed is the absence of a value)"),
        ("engine", 20, "a text that is not empty"),
        ("engine", " ", "a text that is not empty"),
        ("engine", "v\udc80", "a text that UTF-8 can write (no lone surrogates)"),
        ("input_tokens", {}, "token lengths by statistic (mean, p50, p90, p99, max, n)"),
        ("input_tokens", {"p75": 1.0}, "token lengths by statistic (mean, p50, p90, p99, max, n)"),
        ("input_tokens", {"mean": -1.0}, "token lengths by statistic (mean, p50, p90, p99, max, n)"),
        ("input_tokens", {"mean": True}, "token lengths by statistic (mean, p50, p90, p99, max, n)"),
        ("input_tokens", 512, "token lengths by statistic (mean, p50, p90, p99, max, n)"),
        ("accuracy", {"rouge1": float("nan")}, "finite numbers by name"),
        ("accuracy", {"rouge1": "44.4"}, "finite numbers by name"),
        ("accuracy", {"": 1.0}, "finite numbers by name"),
        ("loop", "ajar", "one of open, semi-open, closed, burst"),
        ("division", "Closed", "one of closed, open, network"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(key, value, expected):
    """Key, what was found, what was expected; the same for a claim."""
    with pytest.raises(DocumentError) as refusal:
        Conditions(known={key: value})
    assert refusal.value.message.startswith(f"{key}: found ")
    assert refusal.value.message.endswith(f", expected {expected}")
    with pytest.raises(DocumentError):
        Conditions(claims={key: (Claim(value, "log"),)})


def test_a_refusal_does_not_repeat_a_hostile_value_at_length():
    """What was found is shortened and cannot drive a terminal."""
    with pytest.raises(DocumentError) as refusal:
        Conditions(known={"accelerators": "\x1b[31m" + "9" * 10_000})
    assert len(refusal.value.message) < 200
    assert "\x1b" not in refusal.value.message


@pytest.mark.parametrize("field", ["known", "not_applicable", "sources", "claims"])
def test_a_key_outside_the_table_is_refused_wherever_it_stands(field):
    """No condition can be kept that nobody can read."""
    content: dict[str, Any] = {
        "known": {"colour": "red"},
        "not_applicable": ("colour",),
        "sources": {"colour": 0},
        "claims": {"colour": ()},
    }
    with pytest.raises(DocumentError, match="found 'colour', expected a key of the table"):
        Conditions(**{field: content[field]})


def test_known_and_not_applicable_is_a_contradiction():
    """One of the two."""
    with pytest.raises(DocumentError, match="nodes: found both a value and 'not applicable'"):
        Conditions(known={"nodes": 1}, not_applicable=("nodes",))


# frozen


def test_nobody_changes_the_conditions_of_a_run_afterwards():
    """Neither through the record nor through the mapping it was made from: a cached id would lie."""
    mine: dict[str, Any] = {"input_tokens": {"mean": 100.0}}
    c = Conditions(known=mine, claims={"nodes": (Claim(1, "log"),)})
    mine["input_tokens"]["mean"] = 1.0
    mine["engine"] = {"x": 1.0}
    assert c.known == {"input_tokens": {"mean": 100.0}}
    for change in (
        lambda: c.known.update(engine="x"),
        lambda: c.known.__setitem__("engine", "x"),
        lambda: c.known.pop("input_tokens"),
        lambda: c.known.clear(),
        lambda: c.known.setdefault("engine", "x"),
        lambda: c.known.__ior__({"engine": "x"}),
        lambda: c.numbers("input_tokens").__delitem__("mean"),
        lambda: c.sources.__setitem__("engine", 0),
        lambda: c.claims.popitem(),
        lambda: Conditions().known.__setitem__("engine", "x"),
    ):
        with pytest.raises(TypeError, match="frozen record"):
            change()
    assert dict(c.known) | {"nodes": 1} == {"input_tokens": {"mean": 100.0}, "nodes": 1}


@given(conditions())
def test_frozen_conditions_can_be_hashed_copied_and_pickled(c):
    """What is frozen is a value: it travels to other processes and stands in sets."""
    for twin in (copy.copy(c), copy.deepcopy(c), pickle.loads(pickle.dumps(c))):
        assert twin == c
        assert hash(twin) == hash(c)
        with pytest.raises(TypeError, match="frozen record"):
            twin.known["engine"] = "x"


# claims, columns, words


def test_a_conflict_is_what_sources_say_differently():
    """87 in the text and 11 nodes of 8 are a conflict; the same said twice is none."""
    c = conditions_of(
        {"accelerators": 87},
        claims={
            "accelerators": (Claim(87, "description"), Claim(88, "11 nodes x 8")),
            "nodes": (Claim(11, "description"), Claim(11, "log")),
        },
    )
    assert c.conflicts() == ("accelerators",)


def test_flat_spreads_distributions_into_columns():
    """`output_tokens.mean` is a column of its own."""
    c = conditions_of({"accelerators": 8, "output_tokens": {"mean": 267.0, "p99": 1024}, "power_run": False})
    assert c.flat() == {
        "accelerators": 8,
        "output_tokens.mean": 267.0,
        "output_tokens.p99": 1024.0,
        "power_run": False,
    }


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("ttft_limit_s", 2.0, "2 s"),
        ("min_duration_s", 600.0, "10 min"),
        ("accelerators", 1024, "1,024"),
        ("target_qps", 0.5, "0.5"),
        ("power_run", True, "yes"),
        ("accuracy", {"rouge1": 44.4312}, "rouge1 44.4312"),
        ("input_tokens", {"mean": 99.5, "max": 1048576.0}, "mean 99.5, max 1,048,576"),
        ("engine", "vLLM \x1b[31m0.20\u202e\nnext", "vLLM \\x1b[31m0.20\\u202e next"),
        ("accuracy", {"\x1b]0;x\x07": 1.0}, "\\x1b]0;x\\x07 1"),
    ],
)
def test_a_value_reads_as_people_write_it_and_obeys_no_terminal(key, value, text):
    """Units of their own, grouped thousands, and hostile vendor strings made visible."""
    assert format_value(BY_KEY[key], value) == text
    assert conditions_of({key: value}).text(key) == text


@given(st.text())
def test_text_for_people_is_one_printable_line(text):
    """Whatever a vendor writes."""
    assert format_value(BY_KEY["engine"], text).isprintable()
