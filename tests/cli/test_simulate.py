"""caveat simulate: the words of measure, answered by a model; what is said first, what is kept, what is refused."""

import json
import shlex
from pathlib import Path

import pytest

from caveat.cli.simulation import DOCUMENT, read_simulation
from caveat.errors import EXIT_CANNOT_SAY, EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES, InputError
from caveat.ledger import Ledger
from caveat.measure import columns_of
from caveat.workload import Constant, Fixed, Limits, Separate, Workload, encode_workload
from tests.simulator.models import document

SMALL = ("--rate", "10", "--requests", "120", "--input", "100", "--output", "20", "--draws", "4")


@pytest.fixture
def model(tmp_path):
    """A model file with draws and a validated range."""
    path = tmp_path / "small.toml"
    path.write_text(document())
    return path


def one_run(done, code=EXIT_YES):
    assert done.code == code, done
    (run,) = done.json["runs"]
    return run


def test_a_run_is_one_object_marked_simulated_and_kept(caveat, model):
    """Load first, figures with their conditions, samples and the whole document in the ledger."""
    run = one_run(caveat("simulate", model, *SMALL, "--slo", "ttft=2s,tpot=1s,p90", "--json"))
    assert next(iter(run)) == "load_fraction"
    assert 0 < run["load_fraction"]["low"] <= run["load_fraction"]["median"] <= run["load_fraction"]["high"] < 0.9
    figure = run["figures"][0]
    assert figure["provenance"]["origin"] == "simulated"
    assert figure["conditions"]["review"] == "simulated"
    assert "simulated" in [one["id"] for one in figure["caveats"]]
    kept = Ledger().run(run["id"])
    folder = Ledger().path / kept.subject
    assert columns_of(Ledger().path / kept.samples).rows == 120
    found = read_simulation(folder)
    assert (found.model.name, found.draws, found.workload.limits.requests) == ("small", 4, 120)
    assert Ledger().verify() == ()


def test_the_load_stands_before_any_figure(caveat, model):
    """And the word simulated before the load; a closed loop says why it has none."""
    shown = caveat("simulate", model, *SMALL).out
    first, load, *_ = shown.splitlines()
    assert "SIMULATED: small, poisson (open loop)" in first
    assert load.startswith("load fraction 0.")
    assert shown.index("load fraction") < shown.index("caveat-ttft")
    assert "80 % of 4 draws of the model" in shown
    closed = ("--concurrency", "4", "--requests", "80", "--input", "100", "--output", "20", "--draws", "2")
    assert (
        caveat("simulate", model, *closed).out.splitlines()[1]
        == "load fraction: none, a closed loop takes what it gets"
    )


def test_the_same_words_give_the_same_plan_and_samples(caveat, model):
    """Twice, and step by step."""
    runs = [one_run(caveat("simulate", model, *SMALL, *more, "--json")) for more in ((), (), ("--stepping",))]
    plans = {run["figures"][0]["conditions"]["plan"] for run in runs}
    assert len(plans) == 1
    tables = [columns_of(Ledger().path / run["subject"] / "samples.parquet").numbers("end_ns") for run in runs]
    assert all((table == tables[0]).all() for table in tables)


def test_outside_the_validated_range_it_is_refused_and_nothing_is_kept(caveat, model):
    """Exit 3; asked for all the same it is answered, and marked."""
    far = ("--rate", "60", *SMALL[2:])
    refused = caveat("simulate", model, *far)
    assert (refused.code, "outside the range" in refused.err) == (EXIT_CANNOT_SAY, True)
    assert not (Ledger().path / "simulated").exists()
    run = one_run(caveat("simulate", model, *far, "--extrapolate", "--json"))
    assert run["figures"][0]["conditions"]["extrapolated"] is True
    assert run["figures"][0]["validity"]["outcome"] == "unknown"


def test_a_changed_model_was_not_validated(caveat, model):
    """--set is another model; saying an open value is not."""
    assert caveat("simulate", model, *SMALL, "--set", "fleet.replicas=2").code == EXIT_CANNOT_SAY
    changed = ("--set", "fleet.replicas=2", "--extrapolate", "--json")
    run = one_run(caveat("simulate", model, *SMALL, *changed))
    assert any("changed: fleet.replicas 1 -> 2" in note for note in run["notes"])
    model.write_text(document(seats='"unknown"'))
    assert caveat("simulate", model, *SMALL).code == EXIT_CANNOT_SAY
    one_run(caveat("simulate", model, *SMALL, "--set", "scheduler.max_num_seqs=64", "--json"))


def test_switches_of_the_fleet_are_options_and_conditions(caveat, model):
    """Pools by key, told with the load; what goes wrong with them is a usage error that names the keys."""
    bytes_ = (
        "--set",
        "fleet.disaggregation.kv_bytes_per_token=1e5",
        "--set",
        "fleet.disaggregation.link_bytes_per_s=1e10",
    )
    pools = ("--set", "fleet.replicas=3", "--set", "fleet.disaggregation.prefill_replicas=1", *bytes_, "--extrapolate")
    run = one_run(caveat("simulate", model, *SMALL, *pools, "--json"))
    assert run["load_fraction"]["median"] == run["load_fraction"]["decode pool"] > run["load_fraction"]["links"] > 0
    conditions = run["figures"][0]["conditions"]
    assert (conditions["disaggregation"], conditions["multi_model_routing"]) == ("on", "off")
    shown = caveat("simulate", model, *SMALL, *pools, "--set", "fleet.failures.mean_between_s=3600").out
    load = " ".join(shown.split())
    assert "prefill pool 0.0" in load and "while one is down nobody is left to serve" in load
    wrong = caveat("simulate", model, *SMALL, "--set", "fleet.disaggregation.prefill=1")
    assert (wrong.code, "prefill_replicas" in wrong.err) == (EXIT_USAGE, True)
    scales = caveat("simulate", "explain", model, *pools)
    assert (scales.code, "--set fleet.disaggregation=none" in scales.err) == (EXIT_USAGE, True)


def test_the_commands_of_the_page_of_model_files_run(caveat, tmp_path, monkeypatch):
    """On the whole document that stands there."""
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    (tmp_path / "engine.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    lines = page.partition("```sh\n")[2].partition("```")[0].replace("\\\n", " ").splitlines()
    shown = [caveat(*shlex.split(line)[1:], "--draws", "2") for line in lines]
    assert [done.code for done in shown] == [EXIT_YES, EXIT_YES]
    assert "prefill pool" in shown[0].out and "they carry it alone" in " ".join(shown[1].out.split())


def test_a_missed_limit_is_exit_one(caveat, model):
    """No token comes within a millisecond."""
    assert caveat("simulate", model, *SMALL, "--slo", "tpot=1ms,p50").code == EXIT_NO


def test_a_sweep_is_a_run_a_point_with_its_load(caveat, model):
    """In the order asked; the curve says that it is simulated."""
    shown = caveat("simulate", model, "--sweep", "rate=5,20", *SMALL[2:])
    assert shown.code == EXIT_YES
    assert shown.out.startswith("SIMULATED, all of these")
    assert shown.out.count("load fraction 0.") == 2
    found = caveat("simulate", model, "--sweep", "rate=5,20", *SMALL[2:], "--json").json
    assert [run["figures"][0]["conditions"]["target_qps"] for run in found["runs"]] == [5.0, 20.0]


def test_a_document_and_a_trace_take_the_place_of_words(caveat, model, tmp_path):
    """Either, and never beside words; a sweep changes a document's arrivals."""
    path = tmp_path / "workload.json"
    lengths = Separate(input=Fixed(value=100), output=Fixed(value=20))
    offered = Workload(arrivals=Constant(rate_qps=10), lengths=lengths, limits=Limits(requests=60))
    path.write_bytes(encode_workload(offered))
    run = one_run(caveat("simulate", model, "--workload", path, "--draws", "2", "--json"))
    assert run["figures"][0]["conditions"]["arrivals"] == "constant"
    trace = tmp_path / "trace.jsonl"
    lines = [{"timestamp": n * 100, "input_length": 100, "output_length": 20, "hash_ids": []} for n in range(60)]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    replayed = one_run(caveat("simulate", model, "--replay", trace, "--speed", "2", "--draws", "2", "--json"))
    assert replayed["figures"][0]["conditions"]["loop"] == "open"
    for words in (("--rate", "4"), ("--workload", path), ("--scenario", "server")):
        assert caveat("simulate", model, "--replay", trace, *words).code == EXIT_USAGE


def test_a_scenario_says_what_it_is_not(caveat, model):
    """Simulated, and never a result of the suite."""
    rules = ("--scenario", "server", "--short", "--rate", "10", "--slo", "ttft=2s,tpot=100ms")
    shown = caveat("simulate", model, *rules, "--input", "100", "--output", "20", "--draws", "2")
    said = " ".join(shown.out.split())
    assert (
        "under caveat's reading of the rules (server, with limits of your own); simulated, not an MLPerf result" in said
    )


def test_near_saturation_it_says_that_it_cannot_tell(caveat, model):
    """With the reason, and no first-token time in sight."""
    model.write_text(document(seats="4"))
    shown = caveat("simulate", model, "--rate", "17.5", "--requests", "300", *SMALL[4:]).out
    assert "TTFT is not predictable" in shown
    assert [line for line in shown.splitlines() if line.startswith(("TTFT  ", "caveat-ttft "))] == []
    assert [line for line in shown.splitlines() if line.startswith("caveat-tpot-usage ")]


def test_near_saturation_no_waiting_is_drawn_either(caveat, model):
    """The chart says why above; time per token is drawn, and far from it everything is."""
    model.write_text(document(seats="4"))
    words = ("--requests", "150", *SMALL[4:], "--json")
    id = one_run(caveat("simulate", model, "--rate", "25", *words), EXIT_NO)["id"]
    shown = " ".join(caveat("show", id, "--plot").out.split())
    assert "waiting is not drawn: TTFT is not predictable: the load fraction is " in shown
    assert shown.count("no request has the times") == 2
    usual = one_run(caveat("simulate", model, "--rate", "3", *words))["id"]
    shown = caveat("show", usual, "--plot").out
    assert "not drawn" not in shown and "no request has the times" not in shown


def test_a_prefix_hit_beside_a_trace_that_says_its_own_is_refused(caveat, model, tmp_path):
    """It would not be used; that nothing is cached may be said."""
    trace = tmp_path / "trace.jsonl"
    lines = [
        {"timestamp": n * 300, "input_length": 1024, "output_length": 20, "hash_ids": [1, n + 5]} for n in range(40)
    ]
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    argv = ("simulate", model, "--replay", trace, "--draws", "2", "--extrapolate", "--json", "--set")
    refused = caveat(*argv, "prefix_hit=0.9")
    assert (refused.code, "would not be used" in refused.err + refused.out) == (EXIT_USAGE, True)
    run = one_run(caveat(*argv, "prefix_hit=0"))
    assert any(note.startswith("prefix hit: none, prompts of the plan share") for note in run["notes"])
    assert run["figures"][0]["conditions"]["prefix_caching"] == "off"


def test_an_ablation_refuses_what_a_simulation_refuses(caveat, model):
    """Outside the range with exit 3; asked for all the same, load and extrapolation stand before the table."""
    argv = ("simulate", model, "--rate", "60", *SMALL[2:], "--ablate")
    refused = caveat(*argv)
    assert (refused.code, "outside the range" in refused.err) == (EXIT_CANNOT_SAY, True)
    shown = caveat(*argv, "--extrapolate").out
    assert shown.index("load fraction, without it and with it: ") < shown.index("extrapolated: rate_per_s")
    assert shown.index("extrapolated: rate_per_s") < shown.index("TTFT p95")


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("nothing.toml", "--rate", "1"), EXIT_INPUT, "one of h100-llama3.1-8b"),
        (("slots8-small",), EXIT_USAGE, "either --rate or --concurrency"),
        (("slots8-small", "--rate", "1", "--set", "fleet.replicas"), EXIT_USAGE, "expected KEY=VALUE"),
        (("slots8-small", "--rate", "1", "--set", "name=x"), EXIT_USAGE, "expected a key of scheduler"),
        (("slots8-small", "--rate", "1", "--set", "fleet.autoscaling.least=2"), EXIT_USAGE, "target_outstanding"),
        (("slots8-small", "--rate", "1", "--known", "review=reviewed"), EXIT_USAGE, "the simulation itself says it"),
        (("slots8-small", "--rate", "1", "--sweep", "rate=1,2"), EXIT_USAGE, "--sweep beside --rate"),
        (("--rate", "1"), EXIT_USAGE, "MODEL"),
    ],
)
def test_what_cannot_be_meant_is_refused(caveat, argv, code, said):
    """With the next step."""
    done = caveat("simulate", *argv)
    assert (done.code, said in done.err) == (code, True), done.err


def test_the_shipped_models_are_listed(caveat):
    """With their grade, and as JSON."""
    assert "slots8-small  grade C, step times stated" in caveat("simulate", "models").out
    assert [one["name"] for one in caveat("simulate", "models", "--json").json["models"]] == [
        "h100-llama3.1-8b",
        "h100x8-llama3.1-70b",
        "slots8-small",
    ]


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"format": "caveat-simulation/9"}'])
def test_a_broken_document_is_refused_with_its_folder(tmp_path, content):
    """Whatever stands in it."""
    (tmp_path / DOCUMENT).write_bytes(content)
    with pytest.raises(InputError, match="no simulated run here"):
        read_simulation(tmp_path)


def test_a_simulated_run_is_marked_wherever_it_is_shown(caveat, model):
    """List, figure, chart, citation, export; a citation says that nobody measured it."""
    id = one_run(caveat("simulate", model, *SMALL, "--json"))["id"]
    assert "SIMULATED" in caveat("figures", "--where", "origin=simulated").out
    assert "simulated" in caveat("show", id).out
    assert "[SIMULATED]" in caveat("show", id, "--plot").out
    cited = " ".join(caveat("cite", id).out.split())
    assert "simulated" in cited
    assert "measured by nobody; not a result of any benchmark suite" in cited
    assert '"origin": "simulated"' in caveat("export", "--format", "json", "--where", "origin=simulated").out
    assert "MLPerf" not in caveat("show", id).out


def test_an_ablation_says_what_each_technique_is_worth_here(caveat, model):
    """Paired ratios with ranges; what cannot be said has a reason; nothing is kept."""
    argv = ("simulate", model, *SMALL, "--slo", "ttft=2s,tpot=1s", "--ablate")
    found = caveat(*argv, "--json").json
    assert (found["format"], found["simulated"], found["requests"]) == ("caveat-ablated/1", True, 120)
    worth = {one["technique"]: one for one in found["worth"]}
    assert "nothing is known of what prompts share" in worth["prefix reuse"]["reason"]
    assert worth["speculative decoding"]["ratios"]["tpot_p50"] < 1
    assert not [run for run in Ledger().runs() if run.subject.startswith("simulated/")]
    shown = caveat(*argv, "--extrapolate").out
    assert shown.startswith("SIMULATED: small (grade ")
    assert max(map(len, shown.splitlines())) <= 100
    swept = caveat("simulate", model, "--sweep", "rate=1,2", "--requests", "50", "--ablate")
    assert (swept.code, "leave out --sweep" in swept.err) == (EXIT_USAGE, True)


def test_an_explanation_says_where_server_and_offline_part(caveat):
    """A starved offline at a large scale, with its losses; marked simulated."""
    argv = ("simulate", "explain", "h100-llama3.1-8b", "--scales", "1,8", "--samples", "600", "--output", "16")
    refused = caveat(*argv)
    assert (refused.code, "--extrapolate" in refused.err) == (EXIT_CANNOT_SAY, True)
    found = caveat(*argv, "--extrapolate", "--json").json
    assert (found["format"], found["simulated"]) == ("caveat-explained/1", True)
    small, large = found["points"]
    assert large["offline"]["samples_per_seat"] < small["offline"]["samples_per_seat"]
    assert large["server"]["ratio"] > small["server"]["ratio"]
    shown = caveat(*argv, "--extrapolate").out
    assert shown.startswith("SIMULATED: h100-llama3.1-8b (grade C)")
    assert max(map(len, shown.splitlines())) <= 100
    wrong = caveat("simulate", "explain", "h100-llama3.1-8b", "--scales", "one", "--extrapolate")
    assert (wrong.code, "expected whole numbers" in wrong.err) == (EXIT_USAGE, True)
