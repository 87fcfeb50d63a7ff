"""Published tables become runs: whole rows, counts of real rounds, and what is refused."""

import re
import statistics

import pytest

from caveat.figures import Check, Claim, Source, dump, load
from caveat.importers.mlperf.summary_tables import REVIEWED, read_summary
from tests.builders import MLPERF, NO_SHARED
from tests.importers.tables import AMD, checker_table, results_table

needs_rounds = pytest.mark.skipif(not MLPERF.exists(), reason=NO_SHARED)
SUBJECT = f"mlperf-inference/v6.1/{AMD.replace('/results', '').replace('Server', 'server')}/run_1"


def codes(imported):
    return [problem.code for problem in imported.problems]


def test_a_checker_row_becomes_a_run(tmp_path):
    """Everything the row says, everything the rules fix, and where each comes from."""
    imported = read_summary(checker_table(tmp_path))
    (run,) = imported.runs
    assert imported.problems == ()
    assert run.subject == SUBJECT
    assert run.primary == "loadgen-completed-tokens-rate"
    assert [(row.metric, row.value, row.source_key, row.notes) for row in run.rows] == [
        ("loadgen-completed-tokens-rate", 103275.0, "Result", ())
    ]
    assert run.validity == (Check(aspect="review", outcome="pass", sentence=REVIEWED),)
    table, rules = run.provenance.sources
    assert (table.kind, table.path, table.place) == ("published-summary", "summary.csv", "row 2")
    assert re.fullmatch("[0-9a-f]{64}", table.sha256)
    assert (rules.kind, rules.sha256) == ("rules", "")
    stated = {key: run.conditions.get(key) for key, index in run.conditions.sources.items() if index == 0}
    assert stated == {
        "accelerator": "MI355X",
        "accelerator_stated": "AMD Instinct MI355X 288GB HBM3e",
        "accelerators": 8,
        "accelerators_per_node": 8,
        "accuracy": {"rouge1": 44.4, "rouge2": 22.1, "rougeL": 28.7},
        "accuracy_tokens_per_sample": 280.5,
        "availability": "available",
        "benchmark": "llama2-70b-99.9",
        "division": "closed",
        "engine": "vLLM 0.20, ROCm 7.2",
        "location": "closed/AMD/results/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/server",
        "nodes": 1,
        "platform": "8xMI355X_2xEPYC_9575F",
        "power_run": False,
        "review": "reviewed",
        "round": "v6.1",
        "scenario": "server",
        "submitter": "AMD",
        "system": "AMD MI355X (8x MI355X)",
        "system_type": "datacenter",
        "weight_precision": "fp4",
    }
    assert run.conditions.get("ttft_limit_s") == 2.0
    assert run.conditions.get("prefix_caching") == "off"


def test_a_results_row_becomes_a_run_with_its_conflict(tmp_path):
    """The system whose text says 87 and whose product says 88."""
    (run,) = read_summary(results_table(tmp_path)).runs
    assert run.rows[0].value == 1016380.0
    assert run.rows[0].source_key == "Performance_Result"
    assert run.provenance.sources[0] == Source(
        kind="published-summary", path="summary_results.json", sha256=run.provenance.sources[0].sha256, place="row 1"
    )
    assert run.conditions.get("accelerators") == 88
    assert run.conditions.conflicts() == ("accelerators",)
    assert Claim(87, "platform name") in run.conditions.claims["accelerators"]


def test_runs_of_tables_survive_storing(tmp_path):
    """Dump and load give the same document and id."""
    for run in (*read_summary(checker_table(tmp_path)).runs, *read_summary(results_table(tmp_path)).runs):
        again = load(dump(run))
        assert (again, again.id) == (run, run.id)


def test_a_row_without_location_is_placed_by_its_other_columns(tmp_path):
    """The same subject as with one."""
    (run,) = read_summary(checker_table(tmp_path, {"Location": None})).runs
    assert run.subject == SUBJECT


def test_columns_may_be_missing(tmp_path):
    """What is not there is undisclosed."""
    absent = ("SystemName", "number_of_nodes", "total_accelerators", "framework", "errors", "compliance", "inferred")
    (run,) = read_summary(checker_table(tmp_path, dict.fromkeys(absent))).runs
    assert run.conditions.state("nodes") == "undisclosed"
    assert run.conditions.state("engine") == "undisclosed"
    assert run.conditions.get("accelerators") == 8  # from the platform's name


def test_other_benchmarks_are_counted_and_unknown_ones_are_problems(tmp_path):
    """Nothing disappears without a word."""
    imported = read_summary(
        checker_table(tmp_path, {"MlperfModel": "resnet"}, {"MlperfModel": "dlrm-v3"}, {"MlperfModel": "gpt-9"}, {})
    )
    assert imported.passed_over == {"not a language or speech benchmark": 2}
    assert codes(imported) == ["benchmark-unknown"]
    assert len(imported.runs) == 1


@pytest.mark.parametrize("value", ["0", "-5", "nan", "1e300", "fast"])
def test_impossible_values_are_problems_with_their_row(tmp_path, value):
    """No run is made of them."""
    imported = read_summary(checker_table(tmp_path, {}, {"Result": value, "Scenario": "Offline", "Location": ""}))
    assert len(imported.runs) == 1
    (found,) = imported.problems
    assert (found.code, found.line) == ("value-impossible", 3)
    assert "row 3" in found.message


def test_of_two_rows_for_one_result_the_first_is_kept(tmp_path):
    """The second is a problem that names it."""
    imported = read_summary(checker_table(tmp_path, {}, {"Result": "1.0"}))
    assert [run.rows[0].value for run in imported.runs] == [103275.0]
    assert codes(imported) == ["row-duplicate"]
    assert "the result of row 2" in imported.problems[0].message


def test_a_power_row_belongs_to_the_result_before_it(tmp_path):
    """The checker writes the watts as a second row of the same place."""
    power = {"has_power": "True"}
    imported = read_summary(checker_table(tmp_path, power, {**power, "Result": "10400.9", "Units": "Watts"}))
    (run,) = imported.runs
    assert imported.problems == ()
    assert (run.conditions.get("power_run"), run.conditions.get("power_w")) == (True, 10400.9)
    beside = {"has_power": True, "Power_Result": 9566.2, "Power_Units": "Watts"}
    (run,) = read_summary(results_table(tmp_path, beside)).runs
    assert run.conditions.get("power_w") == 9566.2


def test_the_inferred_mark_means_something_before_v60_only(tmp_path):
    """A value inferred from another scenario is no measurement; a mark set by spelling is a note."""
    old = read_summary(checker_table(tmp_path, {"version": "v5.1", "inferred": "1"}))
    assert old.runs == ()
    assert old.passed_over == {"inferred from another scenario, not measured": 1}
    (new,) = read_summary(checker_table(tmp_path, {"inferred": "1"})).runs
    assert "does not say that the value was inferred" in new.notes[0]


def test_samples_under_a_token_label_are_recognised_beside_other_scenarios(tmp_path):
    """A rate forty times below the system's others is not tokens/s; one that is merely low may be."""
    model = {"MlperfModel": "deepseek-r1", "Model": "deepseek-r1", "Location": ""}
    rows = [
        {**model, "Scenario": "Offline", "Result": "400000"},
        {**model, "Scenario": "Server", "Result": "20000"},
        {**model, "Scenario": "Interactive", "Result": "103"},
    ]
    imported = read_summary(checker_table(tmp_path, *rows))
    assert [run.conditions.get("scenario") for run in imported.runs] == ["offline", "server"]
    assert codes(imported) == ["rate-implausible"]
    assert imported.problems[0].line == 4


@pytest.mark.parametrize(
    ("changes", "aspect", "outcome"),
    [
        ({"errors": "2"}, "errors", "fail"),
        ({"errors": "some"}, "errors", "unknown"),
        ({"compliance": "0"}, "review", "fail"),
        ({"compliance": "INVALID"}, "review", "fail"),
        ({"compliance": "under review"}, "review", "unknown"),
        ({"compliance": "1"}, "review", "pass"),
    ],
)
def test_what_the_table_says_against_a_result_is_validity(tmp_path, changes, aspect, outcome):
    """One entry, with a sentence."""
    (run,) = read_summary(checker_table(tmp_path, changes)).runs
    assert {entry.aspect: entry.outcome for entry in run.validity}[aspect] == outcome
    assert all(entry.sentence for entry in run.validity)


def test_a_version_that_is_no_round_leaves_the_round_undisclosed(tmp_path):
    """And out of the subject."""
    (run,) = read_summary(checker_table(tmp_path, {"version": "../../etc"})).runs
    assert run.conditions.state("round") == "undisclosed"
    assert "/unknown-round/" in run.subject


@pytest.mark.parametrize("location", ["../../etc/passwd", "closed/AMD/results/P", "closed/AMD/results/P/M/NoScenario"])
def test_a_location_that_names_no_place_falls_back_to_columns(tmp_path, location):
    """Paths in a table are read, never followed."""
    (run,) = read_summary(checker_table(tmp_path, {"Location": location})).runs
    assert run.subject == SUBJECT


def test_a_row_that_nobody_answers_for_is_a_problem(tmp_path):
    """Neither location nor submitter: no subject."""
    imported = read_summary(checker_table(tmp_path, {"Location": "", "Organization": ""}))
    assert (imported.runs, codes(imported)) == ((), ["row-incomplete"])


def test_hostile_texts_are_kept_as_harmless_text(tmp_path):
    """Terminal sequences go; markup and formulas stay text for renderers to escape."""
    changes = {"SystemName": '<script>alert("x")</script>', "framework": "\x1b[31mred\x07\ttab", "Organization": "=1+1"}
    (run,) = read_summary(checker_table(tmp_path, changes)).runs
    assert run.conditions.get("system") == '<script>alert("x")</script>'
    assert run.conditions.get("engine") == "red tab"
    assert run.conditions.get("submitter") == "=1+1"


def test_a_file_that_is_no_table_is_one_problem(tmp_path):
    """Binary, missing, or of other columns."""
    path = tmp_path / "summary.csv"
    path.write_bytes(b"\x00\xff" * 50)
    assert codes(read_summary(path)) == ["table-not-utf8", "table-malformed"]
    path.write_text("a,b\n1,2\n")
    assert codes(read_summary(path)) == ["table-malformed"]
    path.write_text("[]")
    assert codes(read_summary(path)) == ["table-malformed"]
    assert codes(read_summary(tmp_path / "nothing.csv")) == ["file-unreadable"]
    assert codes(read_summary(tmp_path)) == ["file-unreadable"]


@needs_rounds
@pytest.mark.parametrize(
    ("name", "runs", "passed_over"),
    [
        ("summary_results_v5.1.json", 453, {"not a language or speech benchmark": 995}),
        ("summary_results_v6.0.json", 438, {"not a language or speech benchmark": 82}),
        (
            "summary_v6.1.csv",
            428,
            {
                "not a language or speech benchmark": 58,
                "no source says which metric qwen3.6-27b single-stream publishes": 6,
            },
        ),
    ],
)
def test_every_language_row_of_a_round_is_read(name, runs, passed_over):
    """Without a problem, and the rest is counted."""
    imported = read_summary(MLPERF / name)
    assert (len(imported.runs), imported.problems, imported.passed_over) == (runs, (), passed_over)


@needs_rounds
def test_pairs_of_v61_have_the_known_median():
    """156 systems have Offline and Server in tokens/s."""
    rates: dict[str, dict[str, float]] = {}
    for run in read_summary(MLPERF / "summary_v6.1.csv").runs:
        if run.primary in ("loadgen-offline-tokens-rate", "loadgen-completed-tokens-rate"):
            system, scenario, _ = run.subject.rsplit("/", 2)
            rates.setdefault(system, {})[scenario] = run.rows[0].value
    ratios = [rate["server"] / rate["offline"] for rate in rates.values() if {"server", "offline"} <= rate.keys()]
    assert len(ratios) == 156
    assert round(statistics.median(ratios), 4) == 0.9461
    assert (round(min(ratios), 4), round(max(ratios), 4)) == (0.3809, 1.0583)
    assert sum(ratio > 1 for ratio in ratios) == 12


@needs_rounds
def test_output_lengths_of_v61_llama2_are_read():
    """88 rows from 267.0 to 290.8 tokens a sample."""
    runs = read_summary(MLPERF / "summary_v6.1.csv").runs
    lengths = [
        run.conditions.number("accuracy_tokens_per_sample") or 0.0
        for run in runs
        if run.conditions.get("benchmark") == "llama2-70b-99.9"
    ]
    assert (len(lengths), min(lengths), max(lengths)) == (88, 267.0, 290.8)


@needs_rounds
def test_wrong_labels_of_real_tables_are_all_corrected():
    """37 whisper rows and 8 Interactive rows in v5.1, 37 in v6.0, 25 in v6.1."""
    corrected = {
        name: sum(
            "the value is tokens/s" in note for run in read_summary(MLPERF / name).runs for note in run.rows[0].notes
        )
        for name in ("summary_results_v5.1.json", "summary_results_v6.0.json", "summary_v6.1.csv")
    }
    assert list(corrected.values()) == [45, 37, 25]
