"""A scenario from spec to Run: what a document may say, what is kept, and what the run says of itself."""

import json
import random

import msgspec
import pytest

from caveat.errors import InputError, UsageError
from caveat.loadgen import DatasetFile, Decoding, Endpoint, Settings, Spec, decode_spec, encode_spec, experiment, record
from caveat.loopback import Loopback, behaviour_of
from caveat.measure import Slo, WarmUp, scenario_of_profile, scenario_with, verdict, workload_of_scenario
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload, plan_digest

LENGTHS = Separate(input=Fixed(8), output=Fixed(4))
SERVER = scenario_with("server", ttft_s=5.0, percentile=0.5, min_duration_s=0.2, min_queries=20, set_size=20)


@pytest.fixture(scope="module")
def server():
    with Loopback(behaviour_of({"ttft_s": 0.004, "itl_s": 0.001})).start() as running:
        yield running


def spec_of(url, scenario, *, target_qps=None, **changes):
    workload = workload_of_scenario(scenario, LENGTHS, target_qps=target_qps)
    there = Endpoint(url=url, model="m")
    values = {"endpoint": there, "workload": workload, "scenario": scenario, "calibrated": False}
    return Spec(**{**values, **changes})


def recorded(spec, folder):
    experiment(spec, folder, version="1", started="2026-01-01T00:00:00+00:00", rng=random.Random(4))
    return record(folder, subject="measured/" + "1" * 32)


def made(spec):
    """Queries of the plan."""
    return sum(map(len, spec.plan().blocks()))


def deciding(run):
    """What does not pass of all that is not the machine's."""
    mine = ("client health", "arrivals")
    return [check for check in run.validity if check.outcome == "fail" and check.aspect not in mine]


def test_a_server_run_is_in_the_words_of_the_rules(server, tmp_path):
    """Conditions, checks and LoadGen's figures; the spec comes back as it was, and so does the schedule."""
    spec = spec_of(server.url, SERVER, target_qps=100.0)
    run = recorded(spec, tmp_path / "run")
    assert decode_spec(encode_spec(spec), "json") == spec
    c = run.conditions
    assert (c.text("scenario"), c.number("target_qps"), c.number("queries")) == ("server", 100.0, made(spec))
    assert (c.number("min_duration_s"), c.number("min_queries"), c.get("whole_sets")) == (0.2, 20, True)
    assert (c.number("limit_percentile"), c.text("review"), c.state("benchmark")) == (0.5, "unverified", "undisclosed")
    assert run.row("loadgen-completed-tokens-rate") is not None
    assert [check.aspect for check in deciding(run)] == []
    aspects = {check.aspect for check in run.validity}
    assert {"errors", "early stopping (TTFT)", "minimum duration", "minimum queries"} <= aspects
    assert c.text("plan") == plan_digest(spec.plan())


def test_a_multi_stream_ends_when_its_queries_are_enough(server, tmp_path):
    """Of a plan of thousands twelve queries of eight are made, and the run is whole."""
    scenario = scenario_with("multi-stream", percentile=0.5, min_queries=12, min_duration_s=0.05)
    run = recorded(spec_of(server.url, scenario), tmp_path / "run")
    assert run.conditions.number("queries") >= 12
    assert run.conditions.text("scenario") == "multi-stream"
    assert [check.aspect for check in deciding(run)] == []
    said = [check.sentence for check in run.validity if check.aspect in ("completion", "arrivals")]
    assert any("until there were enough" in sentence for sentence in said)
    assert any("0 began before they should" in sentence for sentence in said)


def test_a_run_that_is_too_short_says_by_how_much(server, tmp_path):
    """p99 needs 459 queries."""
    scenario = msgspec.structs.replace(SERVER, percentile=0.99)
    spec = spec_of(server.url, scenario, target_qps=100.0)
    run = recorded(spec, tmp_path / "run")
    assert verdict(run.validity) == "INVALID"
    more = f"Would need at least {459 - made(spec)} more queries."
    assert any(more in check.sentence for check in run.validity)


def test_prompts_of_a_data_set_are_neither_salted_nor_counted_before(server, tmp_path):
    """The run names the file and its hash, and says of no length that it was asked for."""
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"what is {n}?", "max_tokens": 3}) + "\n" for n in range(10)))
    scenario = scenario_with("offline", min_duration_s=0.001, min_queries=20, set_size=10)
    spec = spec_of(
        server.url,
        scenario,
        target_qps=10.0,
        dataset=DatasetFile(file=str(path)).settled(),
        decoding=Decoding(exact_length=False),
    )
    run = recorded(spec, tmp_path / "run")
    c = run.conditions
    assert c.text("dataset").startswith("set.jsonl, 10 samples, sha256 ")
    assert (c.get("salted"), c.number("dataset_samples"), c.number("output_tokens_cap")) == (False, 10, 3)
    assert c.state("output_tokens_requested") == c.state("input_tokens_requested") == "undisclosed"
    assert c.numbers("output_tokens")["max"] == 3
    assert [check.aspect for check in deciding(run)] == []
    path.write_text('{"prompt": "another"}\n')
    with pytest.raises(InputError, match="not the file"):
        spec.plan()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"slo": Slo(ttft_s=1.0)}, "found slo beside a scenario"),
        ({"warmup": WarmUp(first_s=1.0)}, "found warmup beside"),
        ({"settings": Settings(warmup_s=1.0)}, "found settings.warmup_s beside"),
        (
            {"workload": Workload(arrivals=Poisson(4.0), lengths=LENGTHS, limits=Limits(requests=5))},
            "expected those of the scenario",
        ),
    ],
)
def test_a_spec_has_one_demand_and_the_arrivals_of_its_scenario(changes, said):
    """Everything else is refused."""
    with pytest.raises(UsageError, match=said):
        spec_of("http://127.0.0.1:9", SERVER, target_qps=4.0, **changes)


def test_a_stream_is_made_by_one_process():
    """A query begins in one place, and the conditions would say otherwise."""
    with pytest.raises(UsageError, match="begins in one place"):
        spec_of("http://127.0.0.1:9", scenario_with("single-stream"), processes=2)


def test_a_data_set_needs_a_set():
    """Which sample a request asks is the workload's to say."""
    workload = Workload(arrivals=Poisson(4.0), lengths=LENGTHS, limits=Limits(requests=5))
    with pytest.raises(UsageError, match="no set of samples"):
        Spec(endpoint=Endpoint(url="http://127.0.0.1:9", model="m"), workload=workload, dataset=DatasetFile(file="x"))


def test_a_scenario_may_be_written_by_hand():
    """In TOML, whole seconds without a point; a wrong field is named."""
    text = """
    [endpoint]
    url = "http://127.0.0.1:9"
    model = "m"
    [scenario]
    name = "server"
    ttft_s = 2
    min_duration_s = 60
    [workload]
    arrivals = {kind = "loadgen", seed = 16159082839903944936, target_qps = 4.0, min_duration_ns = 60000000000}
    lengths = {kind = "separate", input = {kind = "fixed", value = 16}, output = {kind = "fixed", value = 4}}
    """
    spec = decode_spec(text.encode(), "toml")
    assert spec.scenario == scenario_with("server", ttft_s=2.0, min_duration_s=60.0)
    for wrong, said in (("ttft_s", "ttft"), ("server", "servers")):
        with pytest.raises(InputError, match="scenario"):
            decode_spec(text.replace(wrong, said).encode(), "toml")


def test_a_profile_goes_through_a_document():
    """With seeds of 64 bits."""
    scenario = scenario_of_profile("llama2-70b-99.9", "v6.1", "server")
    spec = spec_of("http://127.0.0.1:9", scenario, target_qps=4.0)
    assert decode_spec(encode_spec(spec), "json") == spec
    assert spec.workload.arrivals.seed == scenario.schedule_seed
