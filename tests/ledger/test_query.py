"""Filters: what they mean, which they refuse, and that no text of theirs becomes SQL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import UsageError
from caveat.figures import TABLE
from caveat.ledger import KEYS, Where, parse_where
from caveat.ledger.query import SPECIAL, condition_sql


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("round=v6.1", Where("round", "=", "v6.1")),
        (" round = v6.0,v6.1 ", Where("round", "=", "v6.0,v6.1")),
        ("accelerators>=8", Where("accelerators", ">=", "8")),
        ("accelerators>8", Where("accelerators", ">", "8")),
        ("value<=1e5", Where("value", "<=", "1e5")),
        ("benchmark!=llama2-70b-99.9", Where("benchmark", "!=", "llama2-70b-99.9")),
        ("system~GB300", Where("system", "~", "GB300")),
        ("engine=a=b", Where("engine", "=", "a=b")),
        ("output_tokens.mean<300", Where("output_tokens.mean", "<", "300")),
        ("primary=no", Where("primary", "=", "no")),
    ],
)
def test_a_filter_is_read_from_its_text(text, expected):
    """Key, operator and value, blanks around them left out; the longest operator wins."""
    assert parse_where(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("round", "not a filter: 'round'", "for instance round=v6.1"),
        ("=v6.1", "not a filter: '=v6.1'", "for instance"),
        ("runde=v6.1", "no key is called 'runde'", "did you mean round"),
        ("acelerator=H100", "no key is called 'acelerator'", "accelerator"),
        ("\x1b[31mred=1", "no key is called '\\x1b[31mred'", "docs/conditions.md"),
        ("round.x=1", "round has no parts: found 'round.x'", "write round"),
        ("output_tokens.p95>1", "output_tokens has no part 'p95'", "mean, p50, p90, p99"),
        ("output_tokens>1", "output_tokens>1: output_tokens is several numbers", "output_tokens.mean"),
        ("accuracy=1", "accuracy=1: accuracy is several numbers", "accuracy.NAME"),
        ("accelerators>=eight", "accelerators>=eight: found 'eight', expected a number", ""),
        ("ttft_limit_s<inf", "ttft_limit_s<inf: found 'inf', expected a number in s", ""),
        ("value>=100,000", "value>=100,000: >= takes one number", "without commas"),
        ("round>=v6.0", "round>=v6.0: round has no order", "list the values"),
        ("accelerators~8", "accelerators~8: ~ looks into text", "write accelerators=8"),
        ("power_run=maybe", "power_run=maybe: found 'maybe', expected yes or no", ""),
        ("division=closde", "division=closde: division is never 'closde'", "one of closed, open, network"),
        ("prefix_caching=true", "prefix_caching=true: prefix_caching is never 'true'", "one of on, off"),
        ("metric=loadgen-ttft.p95x", "metric is never", "loadgen-ttft.p95"),
        ("engine=", "engine=: a value is missing", "engine=undisclosed"),
        ("round=v6.0,", "round=v6.0,: a value is missing", "round=undisclosed"),
    ],
)
def test_a_filter_that_could_never_match_is_refused(text, message, hint):
    """The message says what was found, the hint what to write."""
    with pytest.raises(UsageError) as caught:
        parse_where(text)
    assert message in caught.value.message
    assert hint in caught.value.next


def test_a_filter_made_by_code_is_checked_too():
    """There is no way around the check."""
    with pytest.raises(UsageError, match="no operator is called '; DROP'"):
        Where("round", "; DROP", "x")


def test_every_condition_can_be_asked_for_being_undisclosed():
    """Absence is a question for each key of the table."""
    for row in TABLE:
        sql, parameters = condition_sql(Where(row.key, "=", "undisclosed"))
        assert sql == f'(("{row.key}" IS NULL AND NOT list_contains(not_applicable, ?)))'
        assert parameters == (row.key,)


def test_special_keys_and_conditions_do_not_share_a_name():
    """A key means one thing."""
    assert len(set(KEYS)) == len(KEYS) == len(SPECIAL) + len(TABLE)


@given(key=st.sampled_from(["engine", "id", "subject", "location"]), value=st.text(min_size=1))
def test_what_a_person_writes_is_never_part_of_the_sql(key, value):
    """The SQL depends on the number of alternatives, never on what they say; all of them are parameters."""
    try:
        sql, parameters = condition_sql(Where(key, "=", value))
    except UsageError:
        return
    one, _ = condition_sql(Where(key, "=", "x"))
    if not {"undisclosed", "not applicable"} & {part.strip().lower() for part in value.split(",")}:
        assert sql == "(" + " OR ".join([one[1:-1]] * len(parameters)) + ")"
    assert len(parameters) == sql.count("?")
