"""Hypothesis strategies for the records of the figures room, drawn from its tables: a new line needs no change here.

`runs()` draws any run that a document can hold. `parts(subject)` draws runs that describe one subject in pieces,
with values that either are equal or clearly differ: what importers give to `merge`.
"""

from collections.abc import Mapping
from typing import Literal

from hypothesis import strategies as st

from caveat.figures import (
    ASPECTS,
    METRICS,
    SOURCE_KINDS,
    TABLE,
    Check,
    Claim,
    Condition,
    Conditions,
    Provenance,
    Row,
    Run,
    Source,
    Spread,
    Value,
)

KEYS = [row.key for row in TABLE]
ORIGINS: tuple[Literal["measured", "simulated", "imported"], ...] = ("measured", "simulated", "imported")
OUTCOMES = ("pass", "fail", "unknown", "not applicable")
LENGTHS = ("mean", "p50", "p90", "p99", "max", "n")

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(lambda text: text.strip() != "")
numbers = st.floats(allow_nan=False, allow_infinity=False)
amounts = numbers.map(abs)
counts = st.integers(0, 2**63 - 1)
hashes = st.text("0123456789abcdef", min_size=64, max_size=64)

# Clearly different or equal, never within rounding of each other.
plain_texts = st.sampled_from(["vllm", "sglang", "tensorrt-llm"])
plain_numbers = st.integers(-20, 40).map(lambda exponent: 2.0**exponent)
plain_counts = st.integers(0, 9)
MEETING_TABLE = [
    row for row in TABLE if row.group == "model" or row.key in ("loop", "nodes", "coalesced", "duration_s")
]
MEETING_METRICS = ("loadgen-completed-tokens-rate", "loadgen-ttft.p99", "loadgen-tpot.p99")
plain_parts = {name: 2.0**place for place, name in enumerate(LENGTHS)}


def values(row: Condition) -> st.SearchStrategy[Value]:
    """Any value that the condition may hold."""
    if row.allowed:
        return st.sampled_from(row.allowed)
    kinds: Mapping[str, st.SearchStrategy[Value]] = {
        "text": texts,
        "number": numbers,
        "count": counts,
        "seconds": amounts,
        "flag": st.booleans(),
        "technique": st.sampled_from(["on", "off"]),
        "lengths": st.dictionaries(st.sampled_from(LENGTHS), amounts, min_size=1),
        "numbers": st.dictionaries(texts, numbers, min_size=1, max_size=3),
    }
    return kinds[row.kind]


def plain_values(row: Condition) -> st.SearchStrategy[Value]:
    """A value of which no two come near each other; distributions differ only in which statistics they hold."""
    if row.allowed:
        return st.sampled_from(row.allowed)
    few: Mapping[str, st.SearchStrategy[Value]] = {
        "text": plain_texts,
        "number": plain_numbers,
        "count": plain_counts,
        "seconds": plain_numbers,
        "lengths": st.sets(st.sampled_from(LENGTHS), min_size=1).map(lambda ks: {k: plain_parts[k] for k in ks}),
        "numbers": st.sets(st.sampled_from(LENGTHS), min_size=1).map(lambda ks: {k: plain_parts[k] for k in ks}),
    }
    return few.get(row.kind, values(row))


@st.composite
def conditions(draw, *, value_of=values, sources=1, table=TABLE) -> Conditions:
    """Conditions with up to eight values of a run with so many sources, some keys not applicable, some claims."""
    by_key = {row.key: row for row in table}
    keys = draw(st.lists(st.sampled_from(sorted(by_key)), max_size=8, unique=True))
    without = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    contested = draw(st.lists(st.sampled_from(sorted(by_key)), max_size=2, unique=True))
    return Conditions(
        known={key: draw(value_of(by_key[key])) for key in keys},
        not_applicable=tuple(key for key in without if key not in keys),
        sources={key: draw(st.integers(0, sources - 1)) for key in keys},
        claims={key: draw(claims(by_key[key], value_of=value_of)) for key in contested},
    )


def claims(row: Condition, *, value_of=values) -> st.SearchStrategy[tuple[Claim, ...]]:
    """One to three claims about one condition."""
    claim = st.builds(Claim, value_of(row), plain_texts)
    return st.lists(claim, min_size=1, max_size=3).map(tuple)


def spreads(*, of=numbers) -> st.SearchStrategy[Spread]:
    """Any interval."""
    ends = st.tuples(of, of).map(sorted)
    return ends.map(lambda pair: Spread(low=pair[0], high=pair[1], method="95 % of the mean, batch means"))


@st.composite
def rows(draw, *, of=numbers, metrics=tuple(METRICS), sources=1) -> tuple[Row, ...]:
    """Up to five rows, each of another metric."""
    keys = draw(st.lists(st.sampled_from(metrics), max_size=5, unique=True))
    return tuple(
        Row(
            metric=key,
            value=draw(of),
            n=draw(st.none() | plain_counts),
            spread=draw(st.none() | spreads(of=of)),
            source=draw(st.integers(0, sources - 1)),
            source_key=draw(st.sampled_from(["", "result_tokens_per_second"])),
            notes=tuple(draw(st.lists(plain_texts, max_size=2, unique=True))),
        )
        for key in keys
    )


def checks() -> st.SearchStrategy[Check]:
    """Any validity entry."""
    return st.builds(
        Check,
        aspect=st.sampled_from(sorted(ASPECTS)),
        outcome=st.sampled_from(OUTCOMES),
        sentence=st.sampled_from(["", "p99 TTFT 0.64 s of 2 s"]),
        metrics=st.lists(st.sampled_from(sorted(METRICS)), max_size=2, unique=True).map(tuple),
    )


def validities() -> st.SearchStrategy[tuple[Check, ...]]:
    """Up to four entries, one for each aspect and set of metrics."""
    return st.lists(checks(), max_size=4, unique_by=lambda c: (c.aspect, frozenset(c.metrics))).map(tuple)


def sources(*, sha256=hashes) -> st.SearchStrategy[Source]:
    """Any source."""
    return st.builds(
        Source,
        kind=st.sampled_from(SOURCE_KINDS),
        path=st.sampled_from(["a/summary.csv", "b/mlperf_log_detail.txt", ""]),
        sha256=sha256,
        place=st.sampled_from(["", "row 2", "line 17"]),
        retrieved=st.sampled_from(["", "2026-11-30"]),
    )


def provenances(files: tuple[Source, ...]) -> st.SearchStrategy[Provenance]:
    """How a run with these sources came to be known: any origin."""
    version = st.sampled_from(["", "0.1.0"])
    own = st.builds(Provenance, origin=st.sampled_from(ORIGINS), sources=st.just(files), tool_version=version)
    derived = Provenance(origin="derived", sources=files, formula="a / b", inputs=("x", "y"))
    return own | st.just(derived)


@st.composite
def runs(draw) -> Run:
    """Any run that a document can hold."""
    files = tuple(draw(st.lists(sources(), min_size=1, max_size=3)))
    its_rows = draw(rows(sources=len(files)))
    return Run(
        subject=draw(texts),
        conditions=draw(conditions(sources=len(files))),
        provenance=draw(provenances(files)),
        rows=its_rows,
        validity=draw(validities()),
        primary=draw(st.sampled_from([None, *(row.metric for row in its_rows)])),
        notes=tuple(draw(st.lists(texts, max_size=2))),
        samples=draw(st.sampled_from([None, "samples/x.parquet"])),
        replaces=draw(st.none() | hashes),
    )


@st.composite
def parts(draw, subject: str = "one run") -> Run:
    """An imported run of one subject. Keys, metrics, sources and values are few, so that two of them meet."""
    files = tuple(draw(st.lists(sources(sha256=st.sampled_from(["00", "11"])), min_size=1, max_size=3)))
    return Run(
        subject=subject,
        conditions=draw(conditions(value_of=plain_values, sources=len(files), table=MEETING_TABLE)),
        provenance=Provenance(origin="imported", sources=files),
        rows=draw(rows(of=plain_numbers, metrics=MEETING_METRICS, sources=len(files))),
        validity=draw(validities()),
        notes=tuple(draw(st.lists(plain_texts, max_size=2, unique=True))),
    )
