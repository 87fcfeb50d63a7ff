"""One run from all that a folder holds."""

import pytest

from caveat.facts import round_named
from caveat.figures import Conditions
from caveat.importers.mlperf.accuracy_report import AccuracyReport
from caveat.importers.mlperf.descriptions import Description
from caveat.importers.mlperf.evidence import Evidence, schedule_claim
from caveat.importers.mlperf.loadgen_log import LoadgenLog
from caveat.importers.mlperf.log_run import run_of
from caveat.importers.mlperf.place import Place
from tests.importers.loadgen_files import values

LLAMA = Place(division="closed", submitter="Acme", platform="box", model="llama2-70b-99", scenario="server")


def evidence(place=LLAMA, *, said=None, summary=None, **changes):
    said = values() if said is None else said
    scores = {"rouge1": 44.5, "rouge2": 22.1, "rougeL": 28.9}
    return Evidence(
        folder="closed/Acme/results/box/llama2-70b-99/Server/performance/run_1",
        place=place,
        detail=LoadgenLog(kind="log-detail", path="d.txt", sha256="ab", values=said, lines=dict.fromkeys(said, 7)),
        summary=summary,
        accuracy=AccuracyReport(path="accuracy.txt", sha256="ac", line=3, scores=scores, tokens_per_sample=283.0),
        system=Description(path="systems/box.json", sha256="ad", values={"system": "Acme box", "nodes": 1}),
        measurement=Description(path="measurements.json", sha256="ae", values={"weight_precision": "fp8"}),
        power_run=False,
        **changes,
    )


def imported(found):
    run, problems = run_of(found)
    assert run is not None
    return run, [problem.code for problem in problems]


def where(place, **changes):
    return Place(**{**{field: getattr(place, field) for field in place.__struct_fields__}, **changes})


def test_every_condition_knows_which_source_said_it():
    """Log, accuracy report, descriptions, rules and folder names each have their part."""
    run, codes = imported(evidence())
    assert codes == []
    assert run.subject == "mlperf-inference/v6.0/closed/Acme/box/llama2-70b-99/server/run_1"
    kinds = [source.kind for source in run.provenance.sources]
    said = {key: kinds[index] for key, index in run.conditions.sources.items()}
    assert {said[key] for key in ("ttft_limit_s", "target_qps", "headroom_ttft", "round")} == {"log-detail"}
    assert said["accuracy"] == "accuracy-report"
    assert said["nodes"] == "system-description"
    assert said["weight_precision"] == "measurement-description"
    assert {said[key] for key in ("dataset", "output_tokens_cap", "prefix_caching")} == {"rules"}
    assert {said[key] for key in ("submitter", "platform", "location")} == {"folder-names"}


def test_the_published_value_says_on_which_line_it_stands():
    """The place of a log's source is the line of its result."""
    run, _ = imported(evidence())
    assert run.primary == "loadgen-completed-tokens-rate"
    assert run.provenance.sources[0].place == "line 7"


def test_load_and_headroom_come_from_the_log():
    """Limits in effect, how close p99 came, and what was asked for."""
    conditions: Conditions = imported(evidence())[0].conditions
    told = {
        "scenario": "server",
        "loop": "open",
        "arrivals": "poisson",
        "latency_clock": "scheduled arrival",
        "target_qps": 100.0,
        "scheduled_qps": 100.02,
        "completed_qps": 99.5,
        "min_duration_s": 600.0,
        "queries": 73728,
        "ttft_limit_s": 2.0,
        "tpot_limit_s": 0.2,
        "headroom_ttft": 0.35,
        "coalesced": False,
        "schedule": "not checked",
        "harness": "LoadGen",
        "harness_version": "6.0.10 @ 52235a451d",
        "run_date": "2026-02-11T13:08:44Z",
        "fingerprint": "ab",
        "power_run": False,
    }
    assert {key: conditions.get(key) for key in told} == told
    assert conditions.number("headroom_tpot") == pytest.approx(0.35)
    assert conditions.number("duration_s") == pytest.approx(73727 / 99.5)
    assert conditions.state("headroom_latency") == "not applicable"
    assert conditions.state("concurrency") == "not applicable"


def test_a_log_of_unknown_seeds_has_no_round_and_says_so():
    """It is imported all the same."""
    run, codes = imported(evidence(said=values(effective_schedule_rng_seed=7)))
    assert codes == ["seeds-unknown"]
    assert run.conditions.state("round") == "undisclosed"
    assert run.subject.startswith("mlperf-inference/unknown-round/")


def test_an_interactive_folder_holds_a_server_log_with_tighter_limits():
    """The folder decides, and limits that do not agree are a problem."""
    tight = values(requested_server_ttft_latency=450_000_000, requested_server_tpot_latency=40_000_000)
    run, codes = imported(evidence(where(LLAMA, scenario="interactive"), said=tight))
    assert (run.conditions.get("scenario"), codes) == ("interactive", [])
    run, codes = imported(evidence(where(LLAMA, scenario="interactive")))
    assert (run.conditions.get("ttft_limit_s"), codes) == (2.0, ["limits-differ"])


def test_a_benchmark_of_v5_0_has_its_scenario_in_its_name():
    """Interactive results were filed as benchmarks of their own."""
    tight = values(
        round_name="v5.0", requested_server_ttft_latency=450_000_000, requested_server_tpot_latency=40_000_000
    )
    run, codes = imported(evidence(where(LLAMA, model="llama2-70b-interactive-99"), said=tight))
    assert (run.conditions.get("scenario"), run.conditions.get("benchmark"), codes) == (
        "interactive",
        "llama2-70b-99",
        [],
    )


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"said": values("Offline")}, "scenario-differs"),
        ({"said": values(effective_test_mode="AccuracyOnly")}, "log-not-performance"),
        ({"said": values(effective_test_mode="FindPeakPerformance")}, "log-not-performance"),
        ({"said": values(result_validity=None)}, "log-truncated"),
    ],
)
def test_logs_that_are_no_result_of_their_folder_are_refused(changes, code):
    """With the reason."""
    run, problems = run_of(evidence(**changes))
    assert run is None
    assert [problem.code for problem in problems] == [code]


def test_a_log_without_its_published_value_has_no_primary_figure():
    """Its other values are kept."""
    run, codes = imported(evidence(said=values(result_completed_tokens_per_second=None)))
    assert (run.primary, codes) == (None, ["result-missing"])
    assert run.row("loadgen-completed-samples-rate") is not None


def test_an_open_models_own_name_is_kept():
    """The benchmark stays undisclosed unless the submission's mapping tells it."""
    place = where(LLAMA, division="open", model="own-70b-fp8")
    run, codes = imported(evidence(place))
    assert codes == ["benchmark-unknown"]
    assert (run.conditions.state("benchmark"), run.conditions.get("model_submitted")) == ("undisclosed", "own-70b-fp8")
    assert run.primary == "loadgen-completed-tokens-rate"
    assert run.conditions.state("prefix_caching") == "undisclosed"
    run, codes = imported(evidence(place, model="llama2-70b-99"))
    assert codes == []
    assert (run.conditions.get("benchmark"), run.conditions.get("model_submitted")) == ("llama2-70b-99", "own-70b-fp8")


def test_errors_of_the_log_are_a_problem_and_fail_their_metrics():
    """VALID is not enough."""
    run, codes = imported(evidence(said=values(num_errors=5)))
    assert codes == ["errors-logged"]
    assert run.outcome("loadgen-completed-tokens-rate") == "fail"


def test_a_broken_log_beside_a_whole_one_is_told():
    """The whole one is used."""
    said = values(result_validity=None)
    broken = LoadgenLog(kind="log-summary", path="s.txt", values=said)
    run, codes = imported(evidence(summary=broken))
    assert codes == ["log-truncated"]
    assert [source.kind for source in run.provenance.sources if source.kind.startswith("log")] == ["log-detail"]


def test_a_stray_log_keeps_to_what_it_says():
    """No submitter, no benchmark, no suite; its subject is its hash."""
    run, codes = imported(Evidence(folder="x.txt", detail=evidence().detail))
    assert codes == []
    assert run.subject == "loadgen-log/ab"
    for key in ("submitter", "benchmark", "suite", "division", "review", "dataset", "accuracy", "model"):
        assert run.conditions.state(key) == "undisclosed", key
    assert (run.conditions.get("scenario"), run.conditions.get("round")) == ("server", "v6.0")
    assert run.outcome("loadgen-completed-tokens-rate") == "unknown"


def test_a_stray_log_with_interactive_limits_is_interactive():
    """LoadGen itself has no such scenario."""
    said = values(requested_server_ttft_latency=450_000_000, requested_server_tpot_latency=40_000_000)
    run, _ = imported(Evidence(folder="x.txt", detail=evidence(said=said).detail))
    assert run.conditions.get("scenario") == "interactive"


def test_the_schedule_claim_holds_what_the_check_asks():
    """From the detail log only, and only in open loops."""
    claim = schedule_claim(evidence())
    seeds = round_named("v6.0")
    assert claim is not None
    assert seeds is not None
    assert (claim.id, claim.seed) == (imported(evidence())[0].subject, seeds.seeds.schedule)
    assert (claim.target_qps, claim.min_duration_ns, claim.min_queries) == (100.0, 600 * 10**9, 100)
    assert (claim.equal_issue, claim.set_size) == (True, 24576)
    assert (claim.generated_count, claim.generated_duration_ns) == (73728, 737_280_000_000)
    assert schedule_claim(evidence(where(LLAMA, scenario="offline"), said=values("Offline"))) is None
    assert schedule_claim(Evidence(folder="x")) is None
