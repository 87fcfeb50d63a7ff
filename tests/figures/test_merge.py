"""merge: several sources of one run as one document, whatever the order in which they are read."""

from itertools import permutations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import DocumentError
from caveat.figures import (
    Check,
    Claim,
    Provenance,
    Row,
    Run,
    Source,
    Value,
    close,
    conditions_of,
    dump,
    load,
    merge,
    merge_all,
    same_facts,
)
from tests.strategies import parts

RATE, SAMPLES, TTFT = "loadgen-completed-tokens-rate", "loadgen-completed-samples-rate", "loadgen-ttft.p99"
LOG = Source(kind="log-detail", path="log.txt", sha256="11")
TABLE = Source(kind="published-summary", path="summary.csv", sha256="22", place="row 2")
SYSTEM = Source(kind="system-description", path="system.json", sha256="33")


def part(source: Source, conditions=None, *, rows=(), claims=None, **fields) -> Run:
    """What one source says about the run."""
    return Run(
        subject="run",
        conditions=conditions_of(conditions or {}, claims=claims),
        provenance=Provenance(origin="imported", sources=(source,)),
        rows=tuple(Row(metric=key, value=value) for key, value in rows),
        **fields,
    )


# what a merged document says


def test_a_log_and_its_published_row_become_one_document():
    """The log's value is kept with the note of the table, both sources stand in it, and that they agree is said."""
    log = part(LOG, {"target_qps": 350.0}, rows=[(RATE, 103274.8), (TTFT, 0.64)], primary=RATE)
    table = part(TABLE, {"submitter": "AMD", "target_qps": 350.0}, rows=[(RATE, 103275.0)], notes=("unit corrected",))
    both = merge(table, log)
    assert both == Run(
        subject="run",
        conditions=msgspec.structs.replace(
            conditions_of({"target_qps": 350.0, "submitter": "AMD"}), sources={"target_qps": 0, "submitter": 1}
        ),
        provenance=Provenance(origin="imported", sources=(LOG, TABLE)),
        rows=(Row(metric=RATE, value=103274.8), Row(metric=TTFT, value=0.64)),
        validity=(
            Check(aspect="sources agree", outcome="pass", metrics=(RATE,), sentence="the sources agree to 1e-4"),
        ),
        primary=RATE,
        notes=("unit corrected",),
    )


def test_sources_that_disagree_leave_the_value_unsure():
    """The richer source is believed, and the validity of that metric is unknown."""
    both = merge(part(LOG, rows=[(RATE, 103275.0), (TTFT, 1.0)]), part(TABLE, rows=[(RATE, 100000.0)]))
    assert [(row.metric, row.value) for row in both.rows] == [(RATE, 103275.0), (TTFT, 1.0)]
    assert both.validity == (
        Check(
            aspect="sources agree",
            outcome="unknown",
            metrics=(RATE,),
            sentence="the sources disagree: 100,000 tokens/s and 103,275 tokens/s",
        ),
    )


def test_a_condition_on_which_sources_disagree_keeps_both_claims():
    """The richer source is believed; per-accelerator values have something to refuse on."""
    both = merge(part(TABLE, {"accelerators": 88}), part(SYSTEM, {"accelerators": 87}))
    assert both.conditions.get("accelerators") == 87
    assert both.conditions.claims["accelerators"] == (
        Claim(87, "system-description"),
        Claim(88, "published-summary"),
    )
    assert both.conditions.conflicts() == ("accelerators",)


def test_claims_of_both_documents_are_kept():
    """A third source does not wash away what the first two could not agree on."""
    first = part(LOG, {"nodes": 11}, claims={"nodes": (Claim(11, "a"), Claim(12, "b"))})
    second = part(TABLE, {"nodes": 13}, claims={"nodes": (Claim(13, "c"),)})
    claims = merge(first, second).conditions.claims["nodes"]
    assert {claim.value for claim in claims} == {11, 12, 13}
    assert len(claims) == len(set(claims)) == 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"engine": "vLLM  0.20"}, {"engine": "vllm 0.20"}),
        ({"target_qps": 350.0}, {"target_qps": 350.01}),
        ({"output_tokens": {"mean": 267.0, "p99": 1024.0}}, {"output_tokens": {"mean": 267.01, "max": 1024.0}}),
    ],
)
def test_spelling_and_rounding_are_no_conflict(one: dict[str, Value], other: dict[str, Value]):
    """Blanks, capitals and the sixth digit."""
    both = merge(part(LOG, one), part(TABLE, other))
    assert both.conditions.conflicts() == ()
    key = next(iter(one))
    believed, kept = one[key], both.conditions.get(key)
    if isinstance(kept, dict) and isinstance(believed, dict):
        assert kept.items() >= believed.items()
    else:
        assert kept == believed


def test_distributions_complete_each_other_where_they_agree():
    """One source gives the mean, another the maximum; where they disagree the richer stays whole."""
    log, table = part(LOG, {"output_tokens": {"mean": 267.0}}), part(TABLE, {"output_tokens": {"max": 1024.0}})
    assert merge(log, table).conditions.get("output_tokens") == {"mean": 267.0, "max": 1024.0}
    against = part(TABLE, {"output_tokens": {"mean": 290.8, "max": 1024.0}})
    contested = merge(log, against).conditions
    assert contested.get("output_tokens") == {"mean": 267.0}
    assert contested.conflicts() == ("output_tokens",)


def test_what_one_knows_is_not_inapplicable_because_of_the_other():
    """Knowledge wins over 'not applicable'."""
    knows = part(LOG, {"concurrency": 8})
    denies = msgspec.structs.replace(
        part(TABLE), conditions=conditions_of({}, not_applicable=("concurrency", "target_qps"))
    )
    assert merge(knows, denies).conditions.state("concurrency") == "known"
    assert merge(knows, denies).conditions.not_applicable == ("target_qps",)


def test_the_worst_of_two_checks_is_kept():
    """One entry for each aspect and set of metrics, whatever the order of the metrics."""

    def checked(source, outcome, metrics):
        return part(source, validity=(Check(aspect="errors", outcome=outcome, metrics=metrics, sentence=outcome),))

    both = merge(checked(LOG, "pass", (RATE, TTFT)), checked(TABLE, "fail", (TTFT, RATE)))
    assert [(entry.aspect, entry.outcome, entry.sentence) for entry in both.validity] == [("errors", "fail", "fail")]


def test_one_source_read_twice_does_not_agree_with_itself():
    """Agreement needs two witnesses; reading a file again adds nothing."""
    once = part(LOG, rows=[(RATE, 1.0)])
    moved = part(msgspec.structs.replace(LOG, path="moved.txt"), rows=[(RATE, 1.0)])
    assert merge(once, once) == once
    assert merge(once, moved).id == once.id
    differs = merge(once, part(LOG, rows=[(RATE, 2.0)]))
    assert [entry.outcome for entry in differs.validity] == ["unknown"]


def test_what_is_not_one_run_is_not_merged():
    """Another subject, another origin, another formula, sources on one side only: each refused with its reason."""
    measured = Provenance(origin="measured")
    derived = Provenance(origin="derived", formula="a / b", inputs=("a", "b"))
    one = part(LOG)

    def other(**changes):
        return msgspec.structs.replace(one, **changes)

    for first, second, message in (
        (one, other(subject="another"), "not the same run: 'run' and 'another'"),
        (one, other(provenance=measured), "one document is imported, the other measured"),
        (
            other(provenance=derived),
            other(provenance=msgspec.structs.replace(derived, formula="b / a")),
            "derived by other formulas",
        ),
        (
            other(provenance=measured),
            other(provenance=Provenance(origin="measured", sources=(LOG,))),
            "the other has none",
        ),
    ):
        with pytest.raises(DocumentError, match=message):
            merge(first, second)
    with pytest.raises(DocumentError, match="found no documents"):
        merge_all(())


def test_measured_runs_without_files_can_be_merged():
    """Their rows and conditions meet like any others."""
    runs = [
        Run(
            subject="own",
            conditions=conditions_of({"concurrency": concurrency}),
            provenance=Provenance(origin="measured"),
            rows=(Row(metric=TTFT, value=0.2),),
        )
        for concurrency in (8, 9)
    ]
    both = merge(*runs)
    assert both.rows == runs[0].rows
    assert both.conditions.conflicts() == ("concurrency",)


# laws


@given(parts(), parts())
def test_merging_does_not_depend_on_the_order(first, second):
    """The same document, whichever file was read first."""
    assert merge(first, second).id == merge(second, first).id


@given(parts())
def test_merging_with_itself_changes_nothing(run):
    """Importing twice adds nothing."""
    assert merge(run, run).id == run.id


@given(parts(), parts())
def test_merging_what_is_already_in_changes_nothing(first, second):
    """A source that was merged before has nothing new to say."""
    both = merge(first, second)
    assert merge(both, first).id == merge(second, both).id == both.id


@settings(max_examples=200)
@given(parts(), parts(), parts())
def test_three_sources_give_one_document_in_every_order_and_grouping(a, b, c):
    """Where values are equal or clearly differ; within rounding the last digits may depend on the order."""
    expected = merge_all((a, b, c)).id
    assert {merge(merge(x, y), z).id for x, y, z in permutations((a, b, c))} == {expected}
    assert {merge(x, merge(y, z)).id for x, y, z in permutations((a, b, c))} == {expected}


@given(parts(), parts())
def test_merging_loses_nothing(first, second):
    """Every key, row, claim, source, note and failed check of both is in the merged document."""
    both = merge(first, second)
    for run in (first, second):
        c = run.conditions
        assert set(c.known) <= set(both.conditions.known)
        assert all(both.conditions.state(key) != "undisclosed" for key in c.not_applicable)
        assert {row.metric for row in run.rows} <= {row.metric for row in both.rows}
        assert {note for row in run.rows for note in row.notes} <= {note for row in both.rows for note in row.notes}
        assert all(set(claims) <= set(both.conditions.claims[key]) for key, claims in c.claims.items())
        assert set(c.conflicts()) <= set(both.conditions.conflicts())
        assert set(run.notes) <= set(both.notes)
        assert all(both.outcome(row.metric) == "fail" for row in run.rows if run.outcome(row.metric) == "fail")


@given(parts(), parts())
def test_every_value_that_was_said_is_known_or_claimed(first, second):
    """A value that lost against a richer source is still on the page."""
    both = merge(first, second).conditions
    for run in (first, second):
        for key, value in run.conditions.known.items():
            claimed = [claim.value for claim in both.claims.get(key, ())]
            whole = both.known[key]
            within = isinstance(value, dict) and isinstance(whole, dict) and value.items() <= whole.items()
            assert within or value == whole or value in claimed


@given(parts(), parts())
def test_every_index_points_to_the_source_that_said_so(first, second):
    """Sources are reordered by rank and freed of copies; rows and conditions follow them."""
    both = merge(first, second)
    kept = both.provenance.sources
    names = [(source.kind, source.sha256, source.place) for source in kept]
    assert len(set(names)) == len(names)
    assert [source.rank for source in kept] == sorted(source.rank for source in kept)

    def said(value_of, index_of):
        """(source, value) of each document that has a value, by the names of sources."""
        for run in (first, second):
            if (value := value_of(run)) is not None:
                source = run.provenance.sources[index_of(run)]
                yield (source.kind, source.sha256, source.place), value

    for row in both.rows:
        of = said(lambda r, k=row.metric: (f := r.row(k)) and f.value, lambda r, k=row.metric: r.row(k).source)
        assert (names[row.source], row.value) in list(of)
    for key, value in both.conditions.known.items():
        if not isinstance(value, dict):
            of = said(lambda r, k=key: r.conditions.get(k), lambda r, k=key: r.conditions.sources[k])
            assert (names[both.conditions.sources[key]], value) in list(of)


@given(parts(), parts())
def test_a_merged_document_can_be_stored(first, second):
    """It is a Run like any other."""
    both = merge(first, second)
    assert load(dump(both)) == both


# same facts, close values


@given(parts(), st.sampled_from(["33", "44"]))
def test_another_copy_of_a_source_says_the_same(run, sha256):
    """A file with other line ends has another hash and the same facts; a changed value is another fact."""
    sources = tuple(msgspec.structs.replace(source, sha256=sha256, path="copy") for source in run.provenance.sources)
    copy = msgspec.structs.replace(run, provenance=msgspec.structs.replace(run.provenance, sources=sources))
    assert same_facts(run, copy)
    assert not same_facts(run, msgspec.structs.replace(run, subject="another"))
    assert not same_facts(run, msgspec.structs.replace(run, conditions=conditions_of({"engine": "x"})))


@pytest.mark.parametrize(
    ("one", "other", "are_close"),
    [(103275.0, 103274.8, True), (100.0, 100.011, False), (0.0, 0.0, True), (0.0, 1e-9, False), (-1.0, 1.0, False)],
)
def test_close_is_within_the_rounding_of_published_tables(one, other, are_close):
    """A relative 1e-4 of the larger; nothing is close to zero but zero."""
    assert close(one, other) is are_close
    assert close(other, one) is are_close
