"""The ledger as its callers see it: filters, names, descent, and the same answers whatever happens to its files."""

import os
from pathlib import Path

import msgspec
import pytest

from caveat.errors import LedgerError, NotFoundError, UsageError
from caveat.figures import Check, Provenance, Row, Run, Source, dump
from caveat.ledger import Added, Ledger, default_path, parse_where
from caveat.ledger.shipped import shipped_bytes
from tests.builders import published_run

TTFT = Row(metric="loadgen-ttft.p99", value=1.5)
AMD = published_run(103275.0, rows=(TTFT,), output_tokens={"mean": 267.0})
DELL = published_run(148563.0, submitter="Dell", benchmark="llama3.1-8b", round="v6.0", accelerators=72)
SILENT = published_run(1000.0, submitter="Quiet", engine=None, accelerators=None, prefix_caching=None)
FAILED = published_run(
    5.0,
    submitter='x\x1b[31m<b>"; DROP TABLE documents; --',
    engine="=cmd()",
    validity=(Check(aspect="harness verdict", outcome="fail"),),
    power_run=True,
)
RUNS = (AMD, DELL, SILENT, FAILED)
NAMES = dict(zip((run.id for run in RUNS), ("AMD", "DELL", "SILENT", "FAILED"), strict=True))


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger", shipped=False)
    ledger.add(RUNS)
    return ledger


def from_log(run, **changes):
    """The same run as a richer source tells it."""
    source = Source(kind="log-summary", path="mlperf_log_summary.txt", sha256="aa")
    provenance = Provenance(origin="imported", sources=(source,))
    return msgspec.structs.replace(run, provenance=provenance, **changes)


def names(ledger, *filters):
    return [NAMES[run.id] for run in ledger.runs([parse_where(text) for text in filters])]


def test_making_a_ledger_touches_nothing(tmp_path):
    """Nor does reading an empty one."""
    ledger = Ledger(tmp_path / "new", shipped=False)
    assert (ledger.figures(), ledger.runs(), ledger.verify()) == ((), (), ())
    ledger.rebuild_index()
    assert ledger.add([published_run()], dry_run=True) == Added((published_run().id,))
    assert ledger.add([]) == Added()
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_ledger(monkeypatch, tmp_path):
    """CAVEAT_LEDGER, or the platform's folder for a user's data where it is unset or empty."""
    monkeypatch.setenv("CAVEAT_LEDGER", str(tmp_path / "mine"))
    assert Ledger().path == tmp_path / "mine"
    monkeypatch.setenv("CAVEAT_LEDGER", "")
    assert default_path().parts[-2:] == ("caveat", "ledger")
    assert Ledger(tmp_path).path == tmp_path


def test_figures_come_in_one_order_with_their_runs(ledger):
    """By round, submitter, platform, benchmark and scenario; the same from a new ledger on the same folder."""
    expected = [DELL.id, AMD.id, SILENT.id, FAILED.id]
    assert [figure.run.id for figure in ledger.figures()] == expected
    again = Ledger(ledger.path, shipped=False)
    assert [figure.run for figure in again.figures()] == [ledger.run(id) for id in expected]
    assert [figure.id for figure in again.figures()] == [f"{id}.loadgen-completed-tokens-rate" for id in expected]


def test_all_figures_of_a_run_come_on_request(ledger):
    """The published one first; a filter on the metric asks for all of them by itself."""
    keys = [figure.metric.key for figure in ledger.figures([parse_where("submitter=AMD")], primary_only=False)]
    assert keys == ["loadgen-completed-tokens-rate", "loadgen-ttft.p99"]
    for text in ("metric=loadgen-ttft.p99", "primary=no"):
        assert [figure.row for figure in ledger.figures([parse_where(text)])] == [TTFT]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["round=v6.1"], ["AMD", "SILENT", "FAILED"]),
        (["round=V6.1,v6.0"], ["DELL", "AMD", "SILENT", "FAILED"]),
        (["round!=v6.1"], ["DELL"]),
        (["submitter=amd"], ["AMD"]),
        (["submitter~EL"], ["DELL"]),
        (["accelerators>=8"], ["DELL", "AMD", "FAILED"]),
        (["accelerators>8"], ["DELL"]),
        (["accelerators=8,72"], ["DELL", "AMD", "FAILED"]),
        (["accelerators!=8"], ["DELL"]),
        (["engine=undisclosed"], ["SILENT"]),
        (["engine!=undisclosed"], ["DELL", "AMD", "FAILED"]),
        (["engine!=vLLM 0.20"], ["FAILED"]),
        (["engine==cmd()"], ["FAILED"]),
        (["prefix_caching=off,undisclosed"], ["DELL", "AMD", "SILENT", "FAILED"]),
        (["prefix_caching=on"], []),
        (["engine=not applicable"], []),
        (["output_tokens.mean<300"], ["AMD"]),
        (["output_tokens.p99=undisclosed"], ["DELL", "AMD", "SILENT", "FAILED"]),
        (["output_tokens=undisclosed"], ["DELL", "SILENT", "FAILED"]),
        (["power_run=yes"], ["FAILED"]),
        (["value>100000"], ["DELL", "AMD"]),
        (["value>100000", "round=v6.1"], ["AMD"]),
        (["metric~ttft"], ["AMD"]),
        (["metric=loadgen-ttft.p99", "value>2"], []),
        (["outcome=fail"], ["FAILED"]),
        (["origin=imported", "primary=yes"], ["DELL", "AMD", "SILENT", "FAILED"]),
        (["origin=measured"], []),
        (['submitter=x\x1b[31m<b>"; DROP TABLE documents; --'], ["FAILED"]),
        (["submitter='; DROP TABLE documents; --"], []),
        (["accuracy.x\"]'; DROP TABLE documents; --=1"], []),
        ([f"id={AMD.id[:8]}"], ["AMD"]),
        ([f"subject={DELL.subject}"], ["DELL"]),
    ],
)
def test_a_filter_selects_runs(ledger, filters, expected):
    """Unknown values satisfy no comparison; several filters hold together, for figures on one and the same figure."""
    assert names(ledger, *filters) == expected
    assert len(ledger.runs()) == 4


def test_what_does_not_apply_is_not_undisclosed(ledger):
    """The two kinds of absence are asked for by their own words."""
    conditions = msgspec.structs.replace(
        published_run(submitter="Apart", prefix_reuse=None).conditions, not_applicable=("prefix_reuse",)
    )
    apart = msgspec.structs.replace(published_run(submitter="Apart"), conditions=conditions)
    ledger.add([apart])
    assert ledger.runs([parse_where("prefix_reuse=not applicable")]) == (apart,)
    assert apart not in ledger.runs([parse_where("prefix_reuse=undisclosed")])
    assert ledger.runs([parse_where("prefix_reuse!=undisclosed")]) == (apart,)


def test_a_run_is_found_by_the_beginning_of_its_id(ledger):
    """Four digits are enough where they are unique, in either case."""
    assert ledger.run(AMD.id) == AMD
    assert ledger.run(AMD.id[:4]) == AMD
    assert ledger.run(AMD.id[:10].upper()) == AMD


@pytest.mark.parametrize("text", ["", "abc", "xyzx", "a" * 41, "abcd.loadgen-ttft.p99", "\x1b[31m"])
def test_what_is_no_id_is_refused(ledger, text):
    """The message shows what was found without obeying it."""
    with pytest.raises(UsageError, match="expected 4 to 40 hex digits") as caught:
        ledger.run(text)
    assert "\x1b" not in caught.value.message


def two_alike():
    """Two runs whose ids begin with the same four digits."""
    seen: dict[str, Run] = {}
    for number in range(10_000):
        run = published_run(platform=f"box {number}")
        if run.id[:4] in seen:
            return seen[run.id[:4]], run
        seen[run.id[:4]] = run
    raise AssertionError


def test_an_ambiguous_beginning_lists_the_candidates(ledger):
    """Ids and subjects of all that it may mean; one digit more may be enough."""
    alike = two_alike()
    ledger.add(alike)
    with pytest.raises(NotFoundError, match="may be any of") as caught:
        ledger.run(alike[0].id[:4])
    assert caught.value.code == "ambiguous"
    for run in alike:
        assert f"{run.id[:10]} ({run.subject})" in caught.value.message
        assert ledger.run(run.id) == run


@pytest.mark.parametrize(
    "text",
    [
        AMD.id,
        AMD.id[:6],
        f"{AMD.id[:6]}.loadgen-completed-tokens-rate",
        AMD.subject,
        "AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/server/run_1",
    ],
)
def test_a_figure_has_several_names(ledger, text):
    """Id, beginning of it, with the metric, the subject or its end."""
    assert ledger.figure(text).id == f"{AMD.id}.loadgen-completed-tokens-rate"


def test_a_figure_beside_the_published_one_is_named_by_its_metric(ledger):
    """The metric key has dots of its own."""
    assert ledger.figure(f"{AMD.id[:6]}.loadgen-ttft.p99").row == TTFT


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("0000000000", "nothing is called '0000000000'", "caveat figures"),
        ("server/nothing", "nothing is called", "caveat figures"),
        ("erver/run_1", "nothing is called", "caveat figures"),
        ("server/run_1", "may be any of", "write more"),
        (f"{AMD.id}.loadgen-tpot.p99", "has no metric loadgen-tpot.p99", "it has: loadgen-completed-tokens-rate"),
    ],
)
def test_a_name_that_nothing_or_too_much_answers_to(ledger, text, message, hint):
    """The message says which, the hint what to do."""
    with pytest.raises(NotFoundError, match=message) as caught:
        ledger.figure(text)
    assert hint in caught.value.next


def test_a_run_without_a_published_metric_needs_one_named(ledger):
    """Nothing is picked at random."""
    (id,) = ledger.add([msgspec.structs.replace(AMD, subject="mine", primary=None)]).added
    with pytest.raises(NotFoundError, match="not published under one metric") as caught:
        ledger.figure("mine")
    assert "loadgen-ttft.p99" in caught.value.next
    assert ledger.figure(f"{id}.loadgen-ttft.p99").row == TTFT
    assert ledger.figures([parse_where("subject=mine")]) == ()


def test_adding_twice_adds_nothing(ledger):
    """No file changes."""
    before = sorted((path, path.stat().st_mtime_ns) for path in (ledger.path / "runs").rglob("*"))
    assert ledger.add(RUNS) == Added(known=tuple(run.id for run in RUNS))
    assert sorted((path, path.stat().st_mtime_ns) for path in (ledger.path / "runs").rglob("*")) == before


def test_a_richer_source_replaces_and_the_old_id_resolves(ledger):
    """Queries show the new document, history both, and the old figure is still there by its id."""
    richer = from_log(AMD, rows=(*AMD.rows, Row(metric="loadgen-tpot.p99", value=0.1)))
    added = ledger.add([richer])
    (new,) = added.added
    assert added == Added((new,), (), {AMD.id: new})
    assert [run.id for run in ledger.runs([parse_where("submitter=AMD")])] == [new]
    assert [run.id for run in ledger.history(AMD.subject)] == [AMD.id, new]
    assert ledger.run(AMD.id) == AMD
    assert ledger.figure(AMD.id).run.id == AMD.id
    assert ledger.figure(AMD.subject).run.id == new
    assert (ledger.add([richer]).known, ledger.add([AMD]).known) == ((new,), (new,))
    assert ledger.verify() == ()


def test_runs_of_one_subject_in_one_call_become_one_document(tmp_path):
    """Summary and log make one, and neither alone is new afterwards."""
    ledger = Ledger(tmp_path, shipped=False)
    log = from_log(AMD)
    (id,) = ledger.add([AMD, log]).added
    assert {source.kind for source in ledger.run(id).provenance.sources} == {"log-summary", "published-summary"}
    assert ledger.add([AMD]).known == ledger.add([log]).known == ledger.add([log, AMD]).known == (id,)


def test_a_dry_run_says_what_would_happen_and_writes_nothing(ledger):
    """The same answer as the real one."""
    runs = (AMD, from_log(DELL), published_run(submitter="New"))
    expected = ledger.add(runs, dry_run=True)
    assert len(list(ledger.path.rglob("*.json"))) == 4
    assert ledger.add(runs) == expected
    assert (len(expected.added), len(expected.known), len(expected.replaced)) == (2, 1, 1)


def test_history_of_an_unknown_subject_is_not_found(ledger):
    """A name that nothing answers to."""
    with pytest.raises(NotFoundError, match="no run has the subject 'nobody'"):
        ledger.history("nobody")


def test_a_file_in_the_place_of_the_ledger_is_refused(tmp_path):
    """For reading and for writing."""
    (tmp_path / "file").write_text("not a folder")
    ledger = Ledger(tmp_path / "file", shipped=False)
    for use in (ledger.figures, ledger.verify, lambda: ledger.add([AMD])):
        with pytest.raises(LedgerError, match="cannot be used"):
            use()


def test_a_corrupted_document_hides_itself_only(ledger):
    """The other figures are there; verify names the file; importing the source again heals it."""
    path = ledger.path / "runs" / AMD.id[:2] / f"{AMD.id}.json"
    path.write_bytes(dump(AMD)[:100])
    assert names(ledger) == ["DELL", "SILENT", "FAILED"]
    assert [(problem.code, problem.path) for problem in ledger.verify()] == [
        ("unreadable", f"runs/{AMD.id[:2]}/{AMD.id}.json")
    ]
    assert ledger.add([AMD]).added == (AMD.id,)
    assert names(ledger) == ["DELL", "AMD", "SILENT", "FAILED"]
    assert ledger.verify() == ()


@pytest.mark.parametrize("damage", [b"", b"PAR1 garbage PAR1", None], ids=["empty", "garbage", "gone"])
def test_a_damaged_index_is_made_again(ledger, damage):
    """For a ledger that is open and for a new one; what the documents say does not depend on it."""
    expected = names(ledger)
    (index,) = (ledger.path / ".index").glob("*.parquet")
    for reader in (ledger, Ledger(ledger.path, shipped=False)):
        index.unlink() if damage is None else index.write_bytes(damage)
        assert names(reader) == expected
        assert names(Ledger(ledger.path, shipped=False)) == expected


def test_a_ledger_whose_index_cannot_be_kept_answers(tmp_path):
    """The index stays in memory then."""
    ledger = Ledger(tmp_path / "ledger", shipped=False)
    ledger.add(RUNS)
    for path in (ledger.path / ".index").iterdir():
        path.unlink()
    (ledger.path / ".index").rmdir()
    (ledger.path / ".index").write_bytes(b"in the way")
    reader = Ledger(ledger.path, shipped=False)
    assert names(reader, "round=v6.1") == ["AMD", "SILENT", "FAILED"]
    assert reader.verify() == ()
    with pytest.raises(LedgerError, match="cannot be used"):
        reader.add([published_run(submitter="New")])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_ledger_that_may_only_be_read_answers(ledger):
    """As on a read-only disk."""
    for path in sorted((ledger.path, *ledger.path.rglob("*")), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert names(Ledger(ledger.path, shipped=False)) == ["DELL", "AMD", "SILENT", "FAILED"]
    finally:
        for path in (ledger.path, *ledger.path.rglob("*")):
            path.chmod(0o755)


def test_a_path_that_looks_like_a_pattern_is_a_path(tmp_path):
    """Brackets, stars and key=value in folder names mean nothing."""
    ledger = Ledger(tmp_path / "a[1]*" / "round=v9" / "it's {x}", shipped=False)
    ledger.add([AMD])
    assert Ledger(ledger.path, shipped=False).figures([parse_where("round=v6.1")])[0].run == AMD


@pytest.fixture
def shipping(monkeypatch, tmp_path):
    """A package whose shipped set is AMD and DELL."""
    path = tmp_path / "shipped.parquet"
    path.write_bytes(shipped_bytes([AMD, DELL]))
    monkeypatch.setattr("caveat.ledger.shipped.SHIPPED", path)
    return Ledger(tmp_path / "ledger")


def test_the_shipped_set_is_there_without_any_import(shipping):
    """And stays what it is: adding it adds nothing."""
    assert names(shipping) == ["DELL", "AMD"]
    assert shipping.add([AMD, DELL]) == Added(known=(AMD.id, DELL.id))
    assert not list(shipping.path.rglob("*.json"))


def test_a_shipped_head_is_replaced_by_a_document_of_ones_own(shipping):
    """The replacement lies in the folder, the old id resolves from the package."""
    (new,) = shipping.add([from_log(AMD)]).added
    assert shipping.run(new).replaces == AMD.id
    assert [run.id for run in shipping.runs([parse_where("submitter=AMD")])] == [new]
    assert [run.id for run in shipping.history(AMD.subject)] == [AMD.id, new]
    assert shipping.run(AMD.id) == AMD
    assert shipping.verify() == ()


def test_a_document_in_both_sets_counts_once(shipping):
    """As after an update of the package that ships what one had imported."""
    Ledger(shipping.path, shipped=False).add([AMD])
    assert names(shipping) == ["DELL", "AMD"]
    assert shipping.history(AMD.subject) == (AMD,)
    assert shipping.verify() == ()


def test_a_package_without_its_figures_says_so(monkeypatch, tmp_path):
    """Rather than answer from nothing."""
    monkeypatch.setattr("caveat.ledger.shipped.SHIPPED", Path(tmp_path / "none.parquet"))
    with pytest.raises(LedgerError, match="shipped figures are missing"):
        Ledger(tmp_path / "ledger").figures()


def test_a_large_ledger_never_shows_a_document_that_was_written_over(ledger, monkeypatch):
    """It is not looked at before it is asked for, and then it is: for an open ledger and for a new one."""
    monkeypatch.setattr("caveat.ledger.looking.LOOKED_AT_EACH_TIME", -1)
    monkeypatch.setattr("caveat.ledger.looking.SETTLED_AFTER_NS", 0)
    assert len(names(ledger)) == 4
    path = ledger.path / "runs" / AMD.id[:2] / f"{AMD.id}.json"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"103275", b"903275"))
    for reader in (ledger, Ledger(ledger.path, shipped=False)):
        assert names(reader) == ["DELL", "SILENT", "FAILED"]
        with pytest.raises(NotFoundError):
            reader.run(AMD.id)
    path.write_bytes(content)
    assert names(ledger) == ["DELL", "AMD", "SILENT", "FAILED"]
    assert ledger.verify() == ()


def test_a_replaced_document_written_over_hides_nothing(ledger, monkeypatch):
    """Of the subject that is asked for, the older document is the head again."""
    monkeypatch.setattr("caveat.ledger.looking.LOOKED_AT_EACH_TIME", -1)
    (new,) = ledger.add([from_log(AMD)]).added
    (ledger.path / "runs" / new[:2] / f"{new}.json").write_bytes(b"{")
    assert ledger.figure(AMD.subject).run.id == AMD.id


def test_a_limit_reads_the_first_ones_and_a_count_none(ledger, monkeypatch):
    """In the order of the ledger."""
    read = []

    def loaded(content, **how):
        read.append(how["path"])
        return AMD

    monkeypatch.setattr("caveat.ledger.ledger.load", loaded)
    assert ledger.count_figures() == 4
    assert ledger.count_figures([parse_where("submitter=AMD")], primary_only=False) == 2
    assert read == []
    assert len(ledger.figures(limit=2)) == 2
    assert read == [f"runs/{run.id[:2]}/{run.id}.json" for run in (DELL, AMD)]


def test_siblings_are_of_the_same_system_and_benchmark(ledger):
    """Under another scenario or run path; a run of one's own has none, however many there are of them."""
    offline = published_run(110_000.0, scenario="offline")
    own = [published_run(float(value), subject=f"measured/{value}") for value in range(3)]
    ledger.add([offline, *own])
    assert [figure.run for figure in ledger.siblings(AMD.subject)] == [offline]
    assert [figure.run for figure in ledger.siblings(offline.subject)] == [AMD]
    assert ledger.siblings(DELL.subject) == ledger.siblings("measured/0") == ledger.siblings("mine") == ()
