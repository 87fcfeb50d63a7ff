"""Submission trees, whole and in part, clean and hostile, small and real."""

import os
from collections import Counter, defaultdict

import pytest

from caveat.figures import dump, load
from caveat.importers.mlperf.tree import read_tree, schedule_claims
from tests.builders import MLPERF, NO_SHARED
from tests.importers.loadgen_files import SYSTEM, detail_log, summary_log, values, write_result

SUBMISSIONS = MLPERF / "submissions"
real = pytest.mark.skipif(not SUBMISSIONS.exists(), reason=NO_SHARED)


def codes(found):
    return [problem.code for problem in found.problems]


def subjects(found):
    return [run.subject for run in found.runs]


@pytest.mark.parametrize(
    "part",
    [
        "",
        "closed",
        "closed/Acme",
        "closed/Acme/results",
        "closed/Acme/results/H200-SXM-141GBx8",
        "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99",
        "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Server",
        "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Server/performance",
        "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Server/performance/run_1",
        "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Server/performance/run_1/mlperf_log_detail.txt",
        "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Server/performance/run_1/mlperf_log_summary.txt",
    ],
)
def test_any_part_of_a_tree_gives_the_same_run(tmp_path, part):
    """Down to one log file: what stands around it is read too."""
    tree = tmp_path / "rounds" / "v6.0"
    write_result(tree)
    whole, found = read_tree(tree), read_tree(tree / part)
    assert found == whole
    assert codes(found) == []
    assert len(found.runs) == 1


def test_both_layouts_give_the_same_conditions(tmp_path):
    """Measurements stood beside the results until v5.1, in the scenario's folder since."""
    write_result(tmp_path / "new")
    write_result(tmp_path / "old", old_layout=True)
    new, old = read_tree(tmp_path / "new"), read_tree(tmp_path / "old")
    assert new.runs[0].conditions == old.runs[0].conditions
    assert old.runs[0].conditions.get("weight_precision") == "fp8"


def test_a_run_of_a_tree_survives_being_stored(tmp_path):
    """Paths in it are those of the published tree."""
    write_result(tmp_path)
    (run,) = read_tree(tmp_path).runs
    assert load(dump(run)) == run
    assert str(tmp_path) not in dump(run).decode()
    home = "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Server"
    assert {source.path for source in run.provenance.sources if source.kind != "rules"} == {
        f"{home}/performance/run_1/mlperf_log_summary.txt",
        f"{home}/performance/run_1/mlperf_log_detail.txt",
        f"{home}/performance/run_1",
        f"{home}/accuracy/accuracy.txt",
        f"{home}/measurements.json",
        "closed/Acme/systems/H200-SXM-141GBx8.json",
    }


def test_only_run_1_of_results_is_a_result(tmp_path):
    """Logs of code, compliance, ranging and repetitions are not, even when one points at them."""
    scenario = write_result(tmp_path)
    log = detail_log(values())
    others = [
        tmp_path / "closed/Acme/code/llama2-70b-99/run",
        tmp_path / "closed/Acme/src/closed/Acme/results/box/llama2-70b-99/Server/performance/run_1",
        tmp_path / "closed/Acme/compliance/box/llama2-70b-99/Server/TEST06/performance/run_1",
        scenario / "TEST06/performance/run_1",
        scenario / "performance/run_2",
        scenario / "performance/ranging",
    ]
    for folder in others:
        folder.mkdir(parents=True)
        (folder / "mlperf_log_detail.txt").write_bytes(log)
    found = read_tree(tmp_path)
    assert len(found.runs) == 1
    assert found.runs[0].conditions.get("power_run") is True
    for folder in others[3:]:
        pointed = read_tree(folder)
        assert (pointed.runs, codes(pointed)) == ((), ["not-a-result"])


def test_other_benchmarks_are_passed_over_and_counted(tmp_path):
    """No problem, no run; whisper and vision-language models are language benchmarks."""
    write_result(tmp_path, model="resnet")
    write_result(tmp_path, model="whisper", folder="Offline")
    (tmp_path / "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/TEST06").mkdir(parents=True)
    (tmp_path / "closed/Acme/results/H200-SXM-141GBx8/llama2-70b-99/Offline").mkdir()
    found = read_tree(tmp_path)
    assert [run.conditions.get("benchmark") for run in found.runs] == ["whisper"]
    assert found.passed_over == {
        "benchmark of another field": 1,
        "folder of no scenario": 1,
        "folder without run_1": 1,
    }


def test_a_missing_description_is_told_once_for_its_system(tmp_path):
    """Two scenarios of one system, one problem."""
    write_result(tmp_path, system=None)
    write_result(tmp_path, folder="Offline", system=None)
    assert codes(read_tree(tmp_path)) == ["system-missing"]


def test_one_bad_file_stops_nothing(tmp_path):
    """Everything that can break is broken here, and the good run beside it is whole."""
    write_result(tmp_path)
    write_result(tmp_path, submitter="Binary", detail=bytes(range(256)) * 99, summary=b"\xff\x00" * 99)
    write_result(tmp_path, submitter="Empty", detail=b"\n", summary=b"\n")
    write_result(tmp_path, submitter="Deep", system=b"[" * 99_999, measurement=b'{"a":' * 9_999, accuracy=b"\x00")
    write_result(tmp_path, submitter="Cut", detail=detail_log(values())[:5_000], summary=None)
    write_result(tmp_path, submitter="None", detail=None, summary=None)
    (tmp_path / "closed/None/results/H200-SXM-141GBx8/llama2-70b-99/Server/performance/run_1").mkdir(parents=True)
    found = read_tree(tmp_path)
    assert [run.conditions.get("submitter") for run in found.runs] == ["Acme", "Deep"]
    assert set(codes(found)) == {
        "log-empty",
        "log-not-utf8",
        "log-truncated",
        "log-missing",
        "accuracy-unrecognised",
        "system-bad-json",
        "measurement-bad-json",
        "measurement-missing",
    }


def test_links_in_circles_end_and_linked_copies_count_once(tmp_path):
    """The folder itself gives the names, whatever points to it."""
    write_result(tmp_path, submitter="Real")
    (tmp_path / "closed/Alias").symlink_to(tmp_path / "closed/Real")
    (tmp_path / "closed/Real/results/loop").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "up").symlink_to("..")
    found = read_tree(tmp_path)
    assert subjects(found) == ["mlperf-inference/v6.0/closed/Real/H200-SXM-141GBx8/llama2-70b-99/server/run_1"]
    assert found.passed_over == {"link out of the tree": 1}


def test_folders_that_may_not_be_read_are_problems(tmp_path, monkeypatch):
    """The rest is read."""
    write_result(tmp_path)
    (tmp_path / "open").mkdir()
    scandir = os.scandir

    def denying(folder):
        if folder == tmp_path / "open":
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", denying)
    found = read_tree(tmp_path)
    assert (len(found.runs), codes(found)) == (1, ["folder-unreadable"])


def test_a_pipe_in_place_of_a_log_does_not_block(tmp_path):
    """It is no file."""
    scenario = write_result(tmp_path, detail=None)
    os.mkfifo(scenario / "performance/run_1/mlperf_log_detail.txt")
    found = read_tree(tmp_path)
    assert (len(found.runs), codes(found)) == (1, ["file-unreadable"])


def test_two_runs_of_one_place_are_not_mixed(tmp_path):
    """A copy counts once; another run is a problem, and the first is kept."""
    write_result(tmp_path / "a")
    write_result(tmp_path / "b")
    assert read_tree(tmp_path).passed_over == {"copy of a run that was read": 1}
    write_result(tmp_path / "c", said=values(result_completed_tokens_per_second=1.0))
    found = read_tree(tmp_path)
    assert (len(found.runs), codes(found)) == (1, ["subject-twice"])


def test_a_log_in_the_accuracy_folder_that_is_not_of_an_accuracy_run_is_a_problem(tmp_path):
    """Two real submissions have one; an accuracy log with zero seeds is another."""
    scenario = write_result(tmp_path)
    (scenario / "accuracy/mlperf_log_summary.txt").write_bytes(summary_log(values("Offline")))
    assert codes(read_tree(tmp_path)) == ["accuracy-log-in-wrong-place"]
    zero = {"effective_qsl_rng_seed": 0, "effective_sample_index_rng_seed": 0, "effective_schedule_rng_seed": 0}
    (scenario / "accuracy/mlperf_log_summary.txt").unlink()
    (scenario / "accuracy/mlperf_log_detail.txt").write_bytes(
        detail_log({"effective_test_mode": "AccuracyOnly", **zero})
    )
    assert codes(read_tree(tmp_path)) == ["accuracy-seeds-unknown"]


def test_hostile_names_and_texts_leave_only_harmless_words(tmp_path):
    """Escapes of folder names and of descriptions reach neither conditions nor problems."""
    evil = {**SYSTEM, "system_name": "\x1b]0;own\x07<script>", "framework": "=cmd()\x00"}
    write_result(tmp_path, submitter="Ev\x1b[2Jil", platform="b\x07ox", system=evil, accuracy=b"\x1b[31m")
    found = read_tree(tmp_path)
    (run,) = found.runs
    assert (run.conditions.get("submitter"), run.conditions.get("system")) == ("Evil", "<script>")
    assert run.conditions.get("engine") == "=cmd()"
    everything = dump(run).decode() + str(found.problems)
    assert not any(character in everything for character in "\x1b\x07\x00")
    assert "\\u001b" not in everything


@pytest.mark.parametrize("name", ["mlperf_log_detail.txt", "renamed.log"])
def test_a_stray_log_is_read_whatever_its_name(tmp_path, name):
    """Detail or summary is told by its content."""
    (tmp_path / name).write_bytes(detail_log(values()))
    (run,) = read_tree(tmp_path / name).runs
    assert run.subject.startswith("loadgen-log/")
    assert [source.kind for source in run.provenance.sources] == ["log-detail", "rules"]


def test_a_folder_with_two_stray_logs_is_one_run(tmp_path):
    """As somebody's own LoadGen run leaves them."""
    (tmp_path / "mlperf_log_detail.txt").write_bytes(detail_log(values()))
    (tmp_path / "mlperf_log_summary.txt").write_bytes(summary_log(values()))
    (run,) = read_tree(tmp_path).runs
    assert {"log-summary", "log-detail"} <= {source.kind for source in run.provenance.sources}


def test_nothing_found_is_said(tmp_path):
    """Neither a missing path nor an empty folder passes in silence."""
    assert codes(read_tree(tmp_path / "none")) == ["path-missing"]
    assert codes(read_tree(tmp_path)) == ["no-results"]


def test_progress_counts_up_to_all(tmp_path):
    """Once a folder."""
    write_result(tmp_path)
    write_result(tmp_path, folder="Offline")
    heard = []
    read_tree(tmp_path, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 2), (2, 2)]


def test_a_mapping_of_the_submission_names_the_benchmark(tmp_path):
    """In the open division only."""
    write_result(tmp_path, division="open", model="own-model")
    (tmp_path / "open/Acme/model_mapping.json").write_text('{"own-model": "llama2-70b-99"}')
    (run,) = read_tree(tmp_path).runs
    assert (run.conditions.get("benchmark"), run.conditions.get("model_submitted")) == ("llama2-70b-99", "own-model")


def test_schedule_claims_bear_the_subjects_of_their_runs(tmp_path):
    """Only open loops have one."""
    write_result(tmp_path)
    write_result(tmp_path, folder="Offline")
    found = {run.subject for run in read_tree(tmp_path).runs if run.conditions.get("scenario") == "server"}
    assert {claim.id for claim in schedule_claims(tmp_path)} == found


@real
@pytest.mark.parametrize(
    ("path", "primary", "value", "told"),
    [
        (
            "v6.1/closed/CoreWeave/results/GB300-NVL72_GB300-288GB_aarch64x72_TRT/llama2-70b-99.9/Server",
            "loadgen-completed-tokens-rate",
            944902.14,
            {"headroom_ttft": 0.32, "headroom_tpot": 0.35, "schedule": "not checkable", "accelerators": 72},
        ),
        (
            "v6.1/closed/CoreWeave/results/GB200-NVL72_GB200-186GB_aarch64x72_TRT/llama2-70b-99.9/Server",
            "loadgen-completed-tokens-rate",
            910621.36,
            {"headroom_ttft": 0.73, "headroom_tpot": 0.76, "multi_node": "Dynamo", "nodes": 18},
        ),
        (
            "v5.1/closed/RedHat/results/XE8640_4xH100_vLLM/llama3.1-8b/Server",
            "loadgen-completed-tokens-rate",
            None,
            {"target_qps": 39.5, "min_duration_s": 600.0, "queries": 26736},
        ),
        (
            "v5.1/closed/Intel/results/1-node-1x-BMG-Pro-B60-Dual/llama3.1-8b-edge/SingleStream",
            "loadgen-latency.p90",
            3.5459,
            {"loop": "closed", "concurrency": 1, "system_type": "edge"},
        ),
    ],
)
def test_real_folders_say_what_they_say(path, primary, value, told):
    """Single scenario folders of published trees."""
    (run,) = read_tree(SUBMISSIONS / path).runs
    assert run.primary == primary
    row = run.row(primary)
    assert row is not None
    assert value is None or row.value == pytest.approx(value, rel=1e-5)
    found = {key: run.conditions.get(key) for key in told}
    assert {key: round(v, 2) if isinstance(v, float) else v for key, v in found.items()} == told


@real
def test_the_system_of_87_and_88_accelerators_keeps_both():
    """The text says 87, nodes times accelerators are 88; its rate is printed as 1.04211e+06."""
    found = read_tree(SUBMISSIONS / "v6.0/closed/AMD/results/87xMI355X_22xEPYC_9575F/llama2-70b-99.9/Offline")
    (run,) = found.runs
    assert run.conditions.conflicts() == ("accelerators",)
    assert {claim.value for claim in run.conditions.claims["accelerators"]} == {87, 88}
    row = run.row("loadgen-offline-tokens-rate")
    assert row is not None
    assert row.value == 1042110.0


@pytest.mark.full
@real
def test_all_real_trees_import():
    """7,800 files: every log gives a run that passes its own checks, twins are found, lengths are what they must be."""
    found = read_tree(SUBMISSIONS)
    assert Counter(run.conditions.get("round") for run in found.runs) == {
        "v4.1": 332,
        "v5.1": 416,
        "v6.0": 401,
        "v6.1": 16,
    }
    assert Counter(codes(found)) == {
        "accuracy-missing": 26,
        "benchmark-unknown": 24,
        "measurement-missing": 16,
        "accuracy-log-in-wrong-place": 4,
    }
    assert all(run.primary is not None for run in found.runs)
    bad = {(c.aspect, c.outcome) for run in found.runs for c in run.validity if c.outcome != "pass"}
    assert bad == {("accuracy", "unknown")}
    assert _twins(found.runs) == {"v4.1": (66, 74), "v5.1": (91, 113), "v6.0": (65, 78)}
    lengths = [
        run.conditions.numbers("output_tokens")["mean"]
        for run in found.runs
        if run.conditions.get("benchmark") == "llama3.1-8b"
    ]
    assert len(lengths) == 131
    assert all(127.9 < mean < 129.1 for mean in lengths)


def _twins(runs):
    """(equal pairs, pairs) of the two tracks of llama2-70b, by round."""
    pairs: dict[str, dict[str, object]] = defaultdict(dict)
    for run in runs:
        benchmark = run.conditions.get("benchmark") or ""
        if benchmark in ("llama2-70b-99", "llama2-70b-99.9"):
            pairs[run.subject.replace(f"/{benchmark}/", "/-/")][benchmark] = run.conditions.get("fingerprint")
    both = [(key.split("/")[1], len(set(pair.values())) == 1) for key, pair in pairs.items() if len(pair) == 2]
    return {name: (sum(same for n, same in both if n == name), sum(n == name for n, _ in both)) for name, _ in both}
