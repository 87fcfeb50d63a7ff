"""Verifying: each thing that can be wrong with a ledger has a code and names its file."""

import msgspec
import pytest

from caveat.figures import dump
from caveat.ledger import Ledger, parse_where
from caveat.ledger.store import scan
from tests.builders import published_run

RUN = published_run()


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path, shipped=False)


def place(ledger, *runs):
    """Documents as a merge of two folders under git would leave them."""
    for run in runs:
        path = ledger.path / name_of(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dump(run))


def name_of(run):
    return f"runs/{run.id[:2]}/{run.id}.json"


def codes(ledger):
    return [(problem.code, problem.path) for problem in ledger.verify()]


def test_a_whole_ledger_has_no_problems(ledger):
    """Nothing to say."""
    ledger.add([RUN, published_run(platform="other")])
    assert ledger.verify() == ()


def test_a_changed_document_is_named_and_not_shown(ledger):
    """A number that somebody edited is worse than none."""
    place(ledger, RUN)
    path = ledger.path / name_of(RUN)
    path.write_bytes(path.read_bytes().replace(b"103275", b"903275"))
    assert ledger.runs() == ()
    (problem,) = ledger.verify()
    assert (problem.code, problem.path) == ("changed", name_of(RUN))
    assert "the content was changed" in problem.message
    assert "import its source again" in problem.next


def test_an_index_that_says_something_else_is_named(ledger):
    """Even under the right name: documents are hashed again, and compared with what queries read."""
    place(ledger, RUN)
    ledger.runs()
    path = ledger.path / ".index" / next((ledger.path / ".index").glob("*.parquet")).name
    other, forgery = Ledger(ledger.path / "other", shipped=False), published_run(2.0)
    place(other, forgery)
    other.runs()
    path.write_bytes(next((other.path / ".index").glob("*.parquet")).read_bytes())
    forged = Ledger(ledger.path, shipped=False)
    assert codes(forged) == sorted([("index", name_of(RUN)), ("index", name_of(forgery))], key=lambda one: one[1])
    forged.rebuild_index()
    assert forged.verify() == ()


def test_two_heads_of_a_subject_are_a_fork(ledger):
    """The richer one is shown, whichever file came first, until one replaces the other."""
    other = published_run(2.0)
    place(ledger, RUN, other)
    (shown,) = ledger.runs()
    (problem,) = ledger.verify()
    assert (problem.code, problem.path) == ("fork", name_of(shown))
    assert {run.id[:10] for run in (RUN, other)} <= set(problem.found.replace(",", " ").split())
    assert shown.id == min(RUN.id, other.id)


def test_a_document_that_replaces_nothing_is_dangling(ledger):
    """It is shown, and the gap is named."""
    orphan = msgspec.structs.replace(RUN, replaces="ab" * 20)
    place(ledger, orphan)
    assert ledger.runs() == (orphan,)
    assert codes(ledger) == [("dangling", name_of(orphan))]


def test_a_document_cannot_hide_one_of_another_subject(ledger):
    """A claim to replace somebody else's run is a problem and has no effect."""
    intruder = msgspec.structs.replace(published_run(1.0, platform="other"), replaces=RUN.id)
    place(ledger, RUN, intruder)
    assert (
        set(ledger.runs()) == {RUN, intruder} if False else {run.id for run in ledger.runs()} == {RUN.id, intruder.id}
    )
    assert codes(ledger) == [("dangling", name_of(intruder))]


def test_documents_that_replace_each_other_are_a_circle(ledger):
    """None of them is a head; queries go on, and history ends."""
    other = msgspec.structs.replace(published_run(2.0), replaces=RUN.id)
    place(ledger, msgspec.structs.replace(RUN, replaces=other.id), other, published_run(platform="fine"))
    assert [run.conditions.get("platform") for run in ledger.runs()] == ["fine"]
    assert codes(ledger) == [("circle", name_of(min(RUN, other, key=lambda run: run.id)))]
    assert {run.id for run in ledger.history(RUN.subject)} == {RUN.id, other.id}


def test_a_document_cannot_replace_itself(ledger):
    """Its id does not depend on what it replaces, so it could try."""
    place(ledger, msgspec.structs.replace(RUN, replaces=RUN.id))
    assert [run.id for run in ledger.runs([parse_where("round=v6.1")])] == [RUN.id]


def test_strangers_are_named(ledger, tmp_path):
    """A link among the documents is not read, whatever it points to."""
    place(ledger, RUN)
    link = ledger.path / "runs" / RUN.id[:2] / f"{RUN.id[:2]}{'0' * 38}.json"
    link.symlink_to("/etc/hostname")
    assert codes(ledger) == [("stranger", str(link.relative_to(ledger.path)))]
    assert len(scan(ledger.path).documents) == 1


def test_hostile_text_of_a_document_stays_in_its_own_field(ledger):
    """The message is ours; a subject from outside is found text, cut to a readable length."""
    hostile = [published_run(value, subject="\x1b[2J" + "x" * 1000) for value in (1.0, 2.0)]
    place(ledger, *hostile)
    (problem,) = ledger.verify()
    assert "\x1b" not in problem.message
    assert len(problem.found) < 300
