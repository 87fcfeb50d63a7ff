"""What is new about a run, and what it replaces."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.figures import Provenance, Row, Run, Source, conditions_of
from caveat.ledger.adding import Added, one_each, plan
from caveat.ledger.view import Known
from tests.builders import published_run

SUMMARY = published_run()
LOG = msgspec.structs.replace(
    SUMMARY,
    rows=(*SUMMARY.rows, Row(metric="loadgen-ttft.p99", value=1.5)),
    provenance=Provenance(
        origin="imported", sources=(Source(kind="log-summary", path="mlperf_log_summary.txt", sha256="aa"),)
    ),
)


def head(run):
    return {run.subject: Known(run.id, frozenset({run.id}))}, {run.id: run}


def test_a_first_run_is_written_as_it_is():
    """Whatever it claims to replace is not here."""
    documents, added = plan([msgspec.structs.replace(SUMMARY, replaces="ab" * 20)], {}, {})
    assert documents == (SUMMARY,)
    assert added == Added((SUMMARY.id,))


def test_the_same_run_is_known():
    """Nothing to write."""
    assert plan([SUMMARY], *head(SUMMARY)) == ((), Added(known=(SUMMARY.id,)))


def test_a_richer_source_replaces_the_head_and_keeps_what_it_said():
    """The new document says what both say and names the old one."""
    (document,), added = plan([LOG], *head(SUMMARY))
    assert document.replaces == SUMMARY.id
    assert [row.metric for row in document.rows] == ["loadgen-completed-tokens-rate", "loadgen-ttft.p99"]
    assert {source.kind for source in document.provenance.sources} == {"log-summary", "published-summary"}
    assert added == Added((document.id,), (), {SUMMARY.id: document.id})


@pytest.mark.parametrize("poorer", [SUMMARY, LOG])
def test_a_source_that_is_in_the_head_already_is_known(poorer):
    """The merged document needs neither of its parts again, from whichever copy they are read."""
    both = one_each([SUMMARY, LOG])[0]
    source = msgspec.structs.replace(poorer.provenance.sources[0], path="copy", sha256="ff")
    copy = msgspec.structs.replace(poorer, provenance=Provenance(origin="imported", sources=(source,)))
    for run in (poorer, copy):
        assert plan([run], *head(both)) == ((), Added(known=(both.id,)))


@given(st.permutations([SUMMARY, LOG, published_run(1.0, platform="other")]))
def test_the_order_of_sources_does_not_matter(runs):
    """One document a subject, the same whatever came first."""
    merged = one_each(runs)
    assert {run.subject: run.id for run in merged} == {run.subject: run.id for run in one_each([LOG, SUMMARY, *runs])}
    assert len(merged) == 2


def test_an_old_document_that_comes_back_is_known():
    """A replaced document is not written again."""
    known = {SUMMARY.subject: Known(LOG.id, frozenset({LOG.id, SUMMARY.id}))}
    assert plan([SUMMARY], known, {LOG.id: LOG}) == ((), Added(known=(LOG.id,)))


def test_a_measured_run_does_not_merge_into_an_imported_one():
    """Who says so is not a detail."""
    measured = Run(
        subject=SUMMARY.subject, conditions=conditions_of({}), provenance=Provenance(origin="measured"), rows=()
    )
    other = published_run(submitter="Dell")
    documents, added = plan([measured, other], *head(SUMMARY))
    assert documents == (other,)
    assert list(added.refused) == [SUMMARY.subject]
    assert "one document is" in added.refused[SUMMARY.subject]


@pytest.mark.parametrize("state", ["reproduced", "differs", "not checkable"])
def test_a_source_read_again_without_looking_is_known(state):
    """Whoever did not check the schedule says nothing against whoever did."""
    checked = published_run(schedule=state)
    assert plan([published_run(schedule="not checked")], *head(checked)) == ((), Added(known=(checked.id,)))
    (better,), _ = plan([checked], *head(published_run(schedule="not checked")))
    assert better.conditions.get("schedule") == state
    assert better.conditions.claims == {}
