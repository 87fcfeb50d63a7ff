"""The front door: any mix of files and folders."""

import json
import random
import shutil

import pytest

from caveat.errors import UsageError
from caveat.figures import METRICS, Conditions, Provenance, Run, close, dump
from caveat.importers import read, verify_schedules
from caveat.importers.mlperf import read_summary
from caveat.units import Unit
from tests.builders import MLPERF, NO_SHARED, published_run
from tests.importers.tables import checker_table, results_table

needs_rounds = pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)
LOGS = MLPERF / "submissions"
AMD_V61 = "v6.1/closed/AMD"


def codes(imported):
    return [problem.code for problem in imported.problems]


def test_files_of_several_formats_are_read_together(tmp_path):
    """In the order of their subjects, whatever the order of the paths."""
    document = tmp_path / "run.json"
    document.write_bytes(dump(published_run(subject="a/run")))
    paths = [checker_table(tmp_path), document, results_table(tmp_path)]
    runs = read(paths).runs
    assert [run.subject for run in runs] == sorted(run.subject for run in runs)
    assert len(runs) == 3
    assert read(paths[::-1]) == read(paths)


def test_a_run_document_reads_back_as_it_was(tmp_path):
    """Our own format is a format."""
    run, path = published_run(), tmp_path / "run.json"
    path.write_bytes(dump(run))
    assert read([path]).runs == (run,)


def test_a_broken_run_document_is_a_problem(tmp_path):
    """With what the document broke."""
    path = tmp_path / "run.json"
    path.write_bytes(dump(published_run()).replace(b'"server"', b"7"))
    imported = read([path])
    assert (imported.runs, codes(imported)) == ((), ["document-malformed"])


def test_a_folder_is_searched_for_tables_and_documents(tmp_path):
    """Outside the folders in which a submission tree keeps other things."""
    (tmp_path / "closed" / "AMD").mkdir(parents=True)
    checker_table(tmp_path / "closed" / "AMD")
    (tmp_path / "code").mkdir()
    results_table(tmp_path / "code")
    (tmp_path / "settings.json").write_text("{}")
    imported = read([tmp_path])
    assert [run.conditions.get("round") for run in imported.runs] == ["v6.1"]
    assert imported.problems == ()


def test_two_tables_of_one_result_become_one_run(tmp_path):
    """Both stand as sources; where they differ the run says so."""
    first = checker_table(tmp_path, name="first.csv")
    second = checker_table(tmp_path, {"Result": "103999.0"}, name="second.csv")
    imported = read([first, second])
    (run,) = imported.runs
    assert [(one.code, one.found) for one in imported.problems] == [
        ("sources-differ", "the sources disagree: 103,275 tokens/s and 103,999 tokens/s")
    ]
    assert [source.path for source in run.provenance.sources].count("first.csv") == 1
    assert len([source for source in run.provenance.sources if source.kind == "published-summary"]) == 2
    assert {entry.aspect: entry.outcome for entry in run.validity}["sources agree"] == "unknown"


def test_the_same_file_twice_is_one_run(tmp_path):
    """Reading is idempotent."""
    path = checker_table(tmp_path)
    assert read([path, path, tmp_path]).runs == read([path]).runs


def test_documents_that_cannot_be_one_run_are_a_problem(tmp_path):
    """The first stays; nothing is raised."""
    one = published_run(subject="same")
    other = json.loads(dump(one))
    other["provenance"]["origin"] = "measured"
    (tmp_path / "a.json").write_bytes(dump(one))
    (tmp_path / "b.json").write_text(json.dumps(other))
    imported = read([tmp_path / "a.json", tmp_path / "b.json"])
    assert imported.runs == (one,)
    assert codes(imported) == ["subject-differs"]


def test_a_run_without_sources_that_cannot_be_merged_is_a_problem_too(tmp_path):
    """One's own runs need name no file; the problem then names the run."""
    other = published_run(subject="same")
    own = Run(subject="same", conditions=Conditions(), provenance=Provenance(origin="measured"), rows=other.rows)
    (tmp_path / "a.json").write_bytes(dump(own))
    (tmp_path / "b.json").write_bytes(dump(other))
    imported = read([tmp_path / "a.json", tmp_path / "b.json"])
    assert imported.runs == (own,)
    assert [(one.code, one.path) for one in imported.problems] == [("subject-differs", "same")]


def test_missing_and_unknown_paths_are_problems_with_a_next_step(tmp_path):
    """The rest is read."""
    odd = tmp_path / "odd.xlsx"
    odd.write_bytes(b"PK\x03\x04")
    imported = read([tmp_path / "nowhere", odd, checker_table(tmp_path)])
    assert codes(imported) == ["path-missing", "format-unknown"]
    assert "mlperf-summary-csv" in str(imported.problems[1].expected)
    assert "--as" in str(imported.problems[1].next)
    assert len(imported.runs) == 1


def test_an_empty_folder_says_that_it_is_empty(tmp_path):
    """No runs without a word."""
    assert codes(read([tmp_path])) == ["no-results"]


def test_a_format_may_be_named(tmp_path):
    """A table under a log's name is still a table; a format that does not exist is a usage error."""
    path = checker_table(tmp_path)
    assert read([path], as_format="mlperf-summary-csv").runs == read([path]).runs
    assert codes(read([path], as_format="caveat-run")) == ["document-malformed"]
    assert codes(read([tmp_path], as_format="mlperf-summary-csv")) == ["file-unreadable"]
    with pytest.raises(UsageError):
        read([path], as_format="excel")


def test_random_damage_never_raises(tmp_path):
    """Bytes flipped, cut and doubled in tables and documents."""
    rng = random.Random(20261130)
    document = tmp_path / "run.json"
    document.write_bytes(dump(published_run()))
    for source in (checker_table(tmp_path), results_table(tmp_path), document):
        content = source.read_bytes()
        for trial in range(60):
            damaged = bytearray(content)
            for _ in range(rng.randint(1, 12)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            path = tmp_path / f"damaged-{trial}{source.suffix}"
            path.write_bytes(bytes(damaged[: rng.randint(1, len(damaged))] if trial % 3 == 0 else damaged))
            imported = read([path])
            assert imported.runs or imported.problems or imported.passed_over


@needs_rounds
def test_log_and_row_become_one_run(tmp_path):
    """The log's value stands, the row agrees, and both are sources."""
    shutil.copytree(LOGS / AMD_V61, tmp_path / "closed" / "AMD")
    shutil.copy(MLPERF / "summary_v6.1.csv", tmp_path)
    runs = [run for run in read([tmp_path]).runs if len(run.rows) > 1]
    assert [(run.conditions.get("scenario"), round(run.rows[0].value)) for run in runs if run.primary] != []
    for run in runs:
        kinds = [source.kind for source in run.provenance.sources]
        assert {"log-summary", "published-summary"} <= set(kinds)
        agreement = [
            entry for entry in run.validity if entry.aspect == "sources agree" and run.primary in entry.metrics
        ]
        assert [entry.outcome for entry in agreement] == ["pass"]
    assert len(runs) == 2


@needs_rounds
def test_schedules_are_verified_through_the_front_door():
    """One submitter's Server logs of v6.0 come out as the seed gives; the v6.1 copies have no detail logs."""
    reproduced = verify_schedules([LOGS / "v6.0" / "closed" / "Nebius"])
    assert {one.state for one in reproduced} == {"reproduced"}
    absent = verify_schedules([LOGS / AMD_V61])
    assert [one.state for one in absent] == ["not checkable"]
    assert absent[0].subject.endswith("/llama2-70b-99.9/server/run_1")


@needs_rounds
def test_progress_is_heard():
    """What is read, how far, of how many."""
    heard = []
    read([LOGS / AMD_V61], progress=lambda *said: heard.append(said))
    what, done, total = heard[-1]
    assert (what, done) == ("AMD", total)


@pytest.mark.full
@needs_rounds
def test_every_published_row_equals_its_log():
    """All rows of v5.1 and v6.0 to 1e-4, whisper apart, whose logs are not among the public copies."""
    tables = [MLPERF / f"summary_results_{name}.json" for name in ("v5.1", "v6.0")]
    runs = {run.subject: run for run in read([MLPERF], verify=True).runs}
    without_log: dict[str, int] = {}
    for row in (run for table in tables for run in read_summary(table).runs):
        run = runs[row.subject]
        if not any(source.kind.startswith("log-") for source in run.provenance.sources):
            benchmark = str(run.conditions.get("benchmark"))
            without_log[benchmark] = without_log.get(benchmark, 0) + 1
            continue
        assert run.primary == row.primary
        logged = run.row(row.rows[0].metric)
        assert logged is not None
        assert close(logged.value, row.rows[0].value), row.subject
    assert without_log == {"whisper": 37 + 37}
    assert len(runs) >= 1651
    states = [run.conditions.get("schedule") for run in runs.values()]
    assert (states.count("reproduced"), states.count("differs")) == (616, 1)
    assert all(METRICS[run.primary].unit in Unit for run in runs.values() if run.primary)
