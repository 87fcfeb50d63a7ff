"""The Run of a folder: the same document each time, with its conditions, and honest about how the run ended."""

import json
import shutil

import msgspec
import pytest

from caveat.errors import CannotSayError, InputError
from caveat.figures import dump, load
from caveat.loadgen import Endpoint, record
from caveat.loadgen.engine import EngineFacts, Fact
from caveat.loadgen.folder import NOTES, SAMPLES
from caveat.loadgen.tokens import TokenCalibration
from caveat.workload import Concurrency, Fixed, Limits, Separate, Workload, plan_digest
from tests.loadgen.folders import HEALTH, SUBJECT, made_folder, poisson_spec


def aspects(run, outcome):
    return {check.aspect for check in run.validity if check.outcome == outcome}


def said(run, aspect):
    return " ".join(check.sentence for check in run.validity if check.aspect == aspect)


def closed_spec(**changes):
    workload = Workload(
        arrivals=Concurrency(requests=4),
        lengths=Separate(input=Fixed(value=100), output=Fixed(value=10)),
        limits=Limits(requests=400),
    )
    return poisson_spec(workload=workload, **changes)


def facts(**values):
    return EngineFacts(facts={name: Fact(value, "GET /metrics") for name, value in values.items()}, silent={})


def test_a_run_carries_the_conditions_that_made_it(tmp_path):
    """What was planned, what was seen, how it was asked, by whom, and that nobody has reviewed it."""
    spec = poisson_spec(endpoint=Endpoint(url="http://h:1", model="m", stream=False), processes=2)
    run = record(made_folder(tmp_path / "a", spec=spec))
    known = run.conditions.known
    expected = {
        "suite": "own measurement",
        "review": "unverified",
        "harness": "caveat",
        "api": "openai-chat, whole answers",
        "client": "a box, generator processes: 2",
        "plan": plan_digest(spec.workload.plan()),
        "salted": True,
        "model": "m",
        "target_qps": 20.0,
        "arrivals": "poisson",
        "loop": "open",
        "token_source": "server usage record",
        "run_date": "2026-01-01T00:00:00+00:00",
    }
    assert {key: known[key] for key in expected} == expected
    assert {"fingerprint", "round", "division", "benchmark"}.isdisjoint(known)
    assert known["scheduled_qps"] == pytest.approx(20.0, rel=0.2)
    assert known["completed_qps"] == pytest.approx(20.0, rel=0.2)
    assert (known["input_tokens"]["mean"], known["output_tokens"]["mean"]) == (100.0, 10.0)
    assert any("http://h:1" in note for note in run.notes)
    assert "salt of the prompts: 5" in run.notes
    assert aspects(run, "fail") == set()


def test_the_document_names_no_path_of_this_machine(tmp_path):
    """Samples stand at the same place of every ledger."""
    run = record(made_folder(tmp_path / "a"))
    assert run.samples == f"{SUBJECT}/samples.parquet"
    assert [source.path for source in run.provenance.sources] == [run.samples]
    assert str(tmp_path).encode() not in dump(run)
    assert b"MLPerf" not in dump(run)


def test_a_folder_gives_one_document_wherever_it_stands(tmp_path):
    """Byte for byte, twice and after a move; a document that is read again is the same."""
    first = record(made_folder(tmp_path / "a"))
    shutil.copytree(tmp_path / "a", tmp_path / "elsewhere" / "b")
    again = record(tmp_path / "elsewhere" / "b")
    assert dump(again) == dump(first)
    assert load(dump(first)) == first


def test_a_run_that_was_killed_says_so(tmp_path):
    """Only parts and the first notes are there: the figures are of what came, and nobody vouches for the client."""
    folder = made_folder(tmp_path / "a", health=None)
    parts = folder / f"{SAMPLES}.parts"
    parts.mkdir()
    (folder / SAMPLES).rename(parts / "00000000-00000000.parquet")
    run = record(folder)
    assert "interrupted" in said(run, "completion")
    assert {"completion", "client health"} <= aspects(run, "unknown")
    assert run.outcome(run.primary) == "unknown"
    assert run.row("caveat-request-rate").n == 400
    assert record(folder).id == run.id


def test_a_run_that_was_interrupted_says_so(tmp_path):
    """It is not held against it that the plan was not sent to its end, and it is no whole run either."""
    run = record(made_folder(tmp_path / "a", interrupted=True))
    assert "interrupted" in said(run, "completion")
    assert aspects(run, "unknown") >= {"completion"}
    assert "fed" not in said(run, "arrivals")


def test_a_closed_loop_that_its_clock_ended_is_a_whole_run(tmp_path):
    """Asked for beforehand; a plan that ran out earlier is told from it."""
    run = record(made_folder(tmp_path / "a", spec=closed_spec(stop_after_s=20.0), by_clock=True))
    assert "after 20 s, as asked" in said(run, "completion")
    assert "completion" in aspects(run, "pass")
    early = record(made_folder(tmp_path / "b", spec=closed_spec(stop_after_s=60.0)))
    assert "before the 60 s" in said(early, "completion")


@pytest.mark.parametrize(
    ("late_s", "changes", "failed"),
    [
        (0.0, {"health": msgspec.structs.replace(HEALTH, cpu_share_p95=0.99)}, {"client health"}),
        (0.0, {"health": msgspec.structs.replace(HEALTH, client_limit_errors=3)}, {"client health"}),
        (0.2, {}, {"client health", "arrivals"}),
    ],
)
def test_a_run_in_which_the_client_was_the_limit_is_not_valid(tmp_path, late_s, changes, failed):
    """Even where every request succeeded."""
    run = record(made_folder(tmp_path / "a", late_s=late_s, **changes))
    assert aspects(run, "fail") == failed
    assert run.outcome(run.primary) == "fail"


def test_what_a_person_knows_stands_above_what_the_server_says(tmp_path):
    """And who answers for the number is theirs to say, short of a review."""
    known = {"engine": "vLLM 0.33", "accelerator": "H100", "review": "self-reported", "model": "Llama 2 70B"}
    run = record(made_folder(tmp_path / "a", spec=poisson_spec(known=known), before=facts(engine_family="sglang")))
    assert {key: run.conditions.get(key) for key in known} == known


@pytest.mark.parametrize(
    ("said_by_server", "engine"),
    [
        ({"engine_family": "vllm", "version": "0.33"}, "vllm 0.33"),
        ({"owned_by": "sglang"}, "sglang"),
        ({"version": "0.33"}, None),
        ({"owned_by": "somebody", "version": "2"}, None),
        ({}, None),
    ],
)
def test_an_engine_is_named_only_where_the_server_names_it(tmp_path, said_by_server, engine):
    """A version of nobody knows what is none."""
    run = record(made_folder(tmp_path / "a", before=facts(**said_by_server)))
    assert run.conditions.get("engine") == engine


@pytest.mark.parametrize(
    ("hits", "salted", "outcome", "caching"),
    [
        (50.0, True, "fail", "on"),
        (0.0, False, "pass", None),
        (None, True, "pass", None),
        (None, False, "unknown", None),
    ],
)
def test_a_warm_cache_shows_in_the_servers_own_counters(tmp_path, hits, salted, outcome, caching):
    """Where it counts; else salted prompts cannot have met one, and others may have."""
    before = facts(prefix_cache_hits=0.0, prefix_cache_queries=0.0) if hits is not None else facts()
    after = facts(prefix_cache_hits=hits, prefix_cache_queries=100.0) if hits is not None else facts()
    run = record(made_folder(tmp_path / "a", spec=poisson_spec(salted=salted), before=before, after=after))
    assert [check.outcome for check in run.validity if check.aspect == "cache state"] == [outcome]
    assert run.conditions.get("prefix_caching") == caching


def told(cached, prompt=40):
    """Changes of a folder: the server's usage record says so of every answer."""
    return {"input_tokens_usage": [prompt] * 400, "cached_tokens_usage": [cached] * 400}


@pytest.mark.parametrize(("cached", "outcome", "caching"), [(8, "fail", "on"), (0, "pass", None)])
def test_what_each_answer_says_of_the_cache_stands_before_the_salt(tmp_path, cached, outcome, caching):
    """8 of 40 prompt tokens came from a cache, salted or not: a figure, a condition and a sentence."""
    run = record(made_folder(tmp_path / "a", columns=told(cached)))
    (check,) = [one for one in run.validity if one.aspect == "cache state"]
    assert check.outcome == outcome
    assert check.sentence.startswith(f"The server's usage records say that {cached / 40:.1%} of prompt tokens")
    assert run.row("caveat-cached-input-share-usage").value == cached / 40
    assert run.conditions.get("cached_share") == cached / 40
    assert run.conditions.get("prefix_caching") == caching


@pytest.mark.parametrize(("cached", "outcome"), [(27, "pass"), (40, "fail")])
def test_a_template_and_the_salt_may_come_from_the_cache(tmp_path, cached, outcome):
    """27 tokens of a template and 4 words of salt stand before each prompt of 100; one in a hundred more may be."""
    found = TokenCalibration(
        tokens_per_word=1.0, overhead_tokens=27.0, residual_tokens=0.0, residual_share=0.0, probes=()
    )
    run = record(made_folder(tmp_path / "a", columns=told(cached, prompt=100), prompts=found))
    (check,) = [one for one in run.validity if one.aspect == "cache state"]
    assert check.outcome == outcome
    assert "32.0% may: all prompts begin with 31 of 100 tokens, the server's template and our salt" in check.sentence


def test_answers_that_say_nothing_of_a_cache_make_no_figure_of_it(tmp_path):
    """Absent, not zero."""
    run = record(made_folder(tmp_path / "a"))
    assert run.row("caveat-cached-input-share-usage") is None
    assert run.conditions.state("cached_share") == "undisclosed"


def test_a_server_that_counts_hits_alone_is_held_against_its_prompt_tokens(tmp_path):
    """SGLang counts cached tokens and prompt tokens."""
    before = facts(prefix_cache_hits=10.0, prompt_tokens=100.0)
    after = facts(prefix_cache_hits=60.0, prompt_tokens=300.0)
    run = record(made_folder(tmp_path / "a", before=before, after=after))
    assert said(run, "cache state").startswith("The server's counters say that 25.0% of prompt tokens")
    assert "cache state" in aspects(run, "fail")
    assert run.conditions.get("cached_share") == 0.25


def test_the_tokenizer_is_a_condition(tmp_path):
    """Name and hash, and how words were chosen with it; without one the condition does not apply."""
    identity = f"bpe.json, sha256 {'3f' * 32}"
    spec = poisson_spec(tokenizer_file="/somewhere/bpe.json")
    run = record(made_folder(tmp_path / "a", spec=spec, tokenizer=identity))
    assert run.conditions.get("tokenizer") == identity
    assert f"prompt words: one token each by {identity}" in run.notes
    assert "/somewhere" not in dump(run).decode()
    assert record(made_folder(tmp_path / "b")).conditions.state("tokenizer") == "not applicable"


def test_what_only_a_published_result_can_have_does_not_count_as_undisclosed(tmp_path):
    """The share of disclosed conditions is of those that a run of one's own can have."""
    conditions = record(made_folder(tmp_path / "a")).conditions
    for key in ("coalesced", "whole_sets", "round", "division", "fingerprint", "modelled_server", "min_queries"):
        assert conditions.state(key) == "not applicable", key
    assert conditions.state("accelerator") == "undisclosed"


@pytest.mark.parametrize(
    "broken",
    [
        lambda folder: (folder / NOTES).unlink(),
        lambda folder: (folder / NOTES).write_bytes(b"{"),
        lambda folder: (folder / NOTES).write_bytes(b"[" * 100_000),
        lambda folder: (folder / "spec.json").write_bytes(b'{"endpoint": 3}'),
        lambda folder: (folder / SAMPLES).write_bytes(b"no parquet"),
        lambda folder: shutil.rmtree(folder),
    ],
)
def test_a_folder_that_holds_no_experiment_is_an_input_error(tmp_path, broken):
    """Whatever lies in it."""
    broken(made_folder(tmp_path / "a"))
    with pytest.raises(InputError):
        record(tmp_path / "a")


@pytest.mark.parametrize("subject", ["measured/../../../etc", "/etc/passwd", "measured/x", "v6.1/closed/Acme"])
def test_a_folder_cannot_name_itself_into_other_places(tmp_path, subject):
    """Its name becomes a path of the ledger."""
    folder = made_folder(tmp_path / "a")
    notes = json.loads((folder / NOTES).read_bytes())
    (folder / NOTES).write_bytes(json.dumps({**notes, "subject": subject}).encode())
    with pytest.raises(InputError, match="subject"):
        record(folder)


def test_a_run_without_a_name_needs_one(tmp_path):
    """A subject that is handed in names the samples as well."""
    folder = made_folder(tmp_path / "a", subject="")
    with pytest.raises(InputError, match="no name"):
        record(folder)
    assert record(folder, subject="bench/x").samples == "bench/x/samples.parquet"


def test_a_run_of_which_nothing_is_left_has_no_figures(tmp_path):
    """It says why."""
    spec = poisson_spec(warmup=None)
    folder = made_folder(tmp_path / "a", spec=spec)
    text = json.loads((folder / "spec.json").read_bytes())
    (folder / "spec.json").write_bytes(json.dumps({**text, "warmup": {"first_requests": 400}}).encode())
    with pytest.raises(CannotSayError, match="warm-up"):
        record(folder)


def test_notes_say_what_the_client_used_and_what_the_server_says(tmp_path):
    """Reuse of connections among it; a number reads as one."""
    run = record(made_folder(tmp_path / "a", before=facts(max_model_len=131072.0, version="1.2")))
    assert "max_model_len: 131,072 (GET /metrics)" in run.notes
    assert "version: 1.2 (GET /metrics)" in run.notes
    assert HEALTH.sentence() in run.notes
