"""An accuracy run as a person asks for it: kept in the ledger, printed, answered by an exit code."""

import json
from pathlib import Path

import msgspec
import pytest

from caveat.cli.accuracy_run import AccuracyWords, accuracy, accuracy_run_named, exit_code
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES, InputError, RefusedError, UsageError
from caveat.figures import Figure
from caveat.ledger import Ledger
from caveat.loadgen import UNNAMED, Endpoint
from caveat.loopback import Loopback, behaviour_of
from caveat.measure import with_accuracy

GREEK = Path(__file__).parent.parent / "loadgen" / "data" / "greek.jsonl"


@pytest.fixture(scope="module")
def server():
    with Loopback(behaviour_of({"ttft_s": 0.001})).start() as running:
        yield running


def asked(server, *require, model=UNNAMED, as_json=False, **words):
    there = Endpoint(url=server.url, model=model)
    return accuracy(AccuracyWords(data=GREEK, require=require, **words), there, Ledger(), as_json=as_json)


def only_run():
    (run,) = Ledger(shipped=False).runs()
    return run


def test_a_run_is_printed_and_kept(server, capsys):
    """Scores with their intervals, what was demanded, and that nobody has verified it."""
    assert asked(server, "rouge1>=75") == EXIT_YES
    out = capsys.readouterr().out
    run = only_run()
    assert out.startswith(f"{run.id[:10]}  accuracy of loopback over greek.jsonl, 24 samples")
    assert "rouge1: 80 %, 75 % demanded (asked for by the user): reached" in " ".join(out.split())
    assert "unverified" in out
    assert "MLPerf" not in out
    assert (Ledger().path / run.subject / "answers.jsonl").is_file()
    assert Ledger().path.joinpath(run.samples).is_file()


def test_the_json_has_the_figures_with_their_conditions(server, capsys):
    """One object, in the shape of every measured run."""
    assert asked(server, as_json=True, scores=("exact_match",)) == EXIT_YES
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "caveat-measured/1"
    (run,) = found["runs"]
    assert {figure["metric"]["key"] for figure in run["figures"]} == {
        "caveat-exact-match.mean",
        "caveat-accuracy-output-tokens-usage.mean",
    }
    assert run["figures"][0]["conditions"]["review"] == "unverified"


@pytest.mark.parametrize(
    ("require", "words", "code"),
    [
        (("rouge1>=81",), {}, EXIT_NO),
        (("rouge1>=80", "exact_match>=50"), {}, EXIT_YES),
        ((), {"like": "qwen3-vl-235b-a22b@v6.0"}, EXIT_CANNOT_SAY),
        (("rouge1>=80",), {"tokens": "4-9"}, EXIT_NO),
        (("rouge1>=80",), {"tokens": "2-3.5"}, EXIT_YES),
        ((), {"like": "llama2-70b-99@v5.1"}, EXIT_NO),
    ],
)
def test_the_exit_code_answers_the_demand(server, capsys, require, words, code):
    """Reached, missed, or not to be judged here."""
    assert asked(server, *require, **words) == code


def test_own_thresholds_stand_before_those_of_a_benchmark():
    """One threshold a score; what only the suite can score stays."""
    words = AccuracyWords(data=GREEK, require=("rouge1>=10",), like="mixtral-8x7b@v5.0", tokens="1-2")
    demands = words.demands()
    assert [(one.score, round(one.at_least, 1)) for one in demands.thresholds] == [
        ("rouge1", 10.0),
        ("rouge2", 23.1),
        ("rougeL", 30.2),
        ("gsm8k of the suite", 72.9),
        ("mbxp of the suite", 59.6),
    ]
    assert demands.tokens_range == (1.0, 2.0)


@pytest.mark.parametrize(
    "words", [{"like": "llama2-70b-99"}, {"tokens": "many"}, {"tokens": "9-1"}, {"require": ("rouge1",)}]
)
def test_words_that_say_nothing_are_refused(words):
    """Before anything is sent."""
    with pytest.raises(UsageError, match="expected"):
        AccuracyWords(data=GREEK, **words).demands()


def test_a_data_set_that_is_not_there_is_missed(server, tmp_path):
    """By its name; nothing is left in the ledger."""
    words = AccuracyWords(data=tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=r"none\.jsonl"):
        accuracy(words, Endpoint(url=server.url, model="m"), Ledger())
    assert Ledger(shipped=False).runs() == ()


def test_a_timed_run_can_point_to_it(caveat, server, capsys):
    """Measured, scored, joined and kept: the ledger then shows the verdict and no longer the caveat."""
    timed = caveat("measure", server.url, "--rate", "50", "--requests", "10", "--input", "8", "--output", "3",
                   "--no-calibrate", "--no-probe", "--json")  # fmt: skip
    name = timed.json["runs"][0]["id"]
    assert asked(server, "rouge1>=80") == EXIT_YES
    book = Ledger()
    (scored,) = [run for run in Ledger(shipped=False).runs() if run.id != name]
    joined = with_accuracy(book.run(name), accuracy_run_named(scored.id[:12], book))
    assert [check.outcome for check in joined.validity if check.aspect == "accuracy"] == ["pass"]
    book.add([joined])
    (head,) = [run for run in Ledger(shipped=False).runs() if run.subject == joined.subject]
    assert [check.outcome for check in head.validity if check.aspect == "accuracy"] == ["pass"]
    assert f"accuracy run: {scored.id}" in head.notes
    capsys.readouterr()
    shown = caveat("show", head.id, "--json")
    assert "accuracy-unchecked" not in {one["id"] for one in shown.json["caveats"]}
    assert Figure(head, "caveat-request-rate").row.value > 0


def test_a_timed_run_of_another_model_cannot(caveat, server):
    """Refused with both names."""
    timed = caveat("measure", server.url, "--model", "other", "--rate", "50", "--requests", "5", "--input", "8",
                   "--output", "3", "--no-calibrate", "--no-probe", "--json")  # fmt: skip
    asked(server)
    (scored,) = [run for run in Ledger(shipped=False).runs() if run.id != timed.json["runs"][0]["id"]]
    with pytest.raises(RefusedError, match="model: found other in the run and loopback"):
        with_accuracy(Ledger().run(timed.json["runs"][0]["id"]), accuracy_run_named(scored.id, Ledger()))


def test_a_range_of_tokens_is_a_demand_like_any_other():
    """Beside thresholds; two ranges are one too many."""
    demands = AccuracyWords(data=GREEK, require=("rouge1>=10", "2-3.5")).demands()
    assert ([one.score for one in demands.thresholds], demands.tokens_range) == (["rouge1"], (2.0, 3.5))
    with pytest.raises(UsageError, match="more than one range"):
        AccuracyWords(data=GREEK, require=("2-3",), tokens="3-4").demands()


def test_what_is_wrong_with_the_order_is_said_before_anybody_is_asked(caveat, tmp_path):
    """At an address where nobody listens: data set and demands are looked at first."""
    twice = tmp_path / "twice.jsonl"
    twice.write_text('{"id": "a", "prompt": "x", "reference": "y"}\n' * 2)
    assert "found the id 'a' 2 times" in caveat("measure", "http://127.0.0.1:9", "--accuracy", twice).err
    demanded = caveat("measure", "http://127.0.0.1:9", "--accuracy", GREEK, "--require", "rouge9>=1")
    assert "found 'rouge9'" in demanded.err


def test_an_interrupted_run_answers_no(server, capsys):
    """Whatever its rows say: some were never asked."""
    asked(server)
    run = only_run()
    broken = tuple(
        msgspec.structs.replace(check, outcome="unknown") if check.aspect == "completion" else check
        for check in run.validity
    )
    assert exit_code(run) == EXIT_YES
    assert exit_code(msgspec.structs.replace(run, validity=broken)) == EXIT_NO


def test_a_run_that_is_no_accuracy_run_is_refused_before_the_measurement(caveat, server):
    """Nothing is measured, and nothing is added."""
    argv = ("measure", server.url, "--rate", "50", "--requests", "5", "--input", "8", "--output", "3")
    first = caveat(*argv, "--no-calibrate", "--no-probe", "--json").json["runs"][0]["id"]
    again = caveat(*argv, "--no-calibrate", "--no-probe", "--accuracy-run", first)
    assert (again.code, "is no accuracy run" in again.err) == (EXIT_NO, True)
    assert only_run().id == first


def test_a_run_that_its_accuracy_run_does_not_fit_is_kept_without_it(caveat, server):
    """A measurement is not thrown away; its id is said."""
    asked(server)
    scored = only_run()
    argv = ("measure", server.url, "--model", "other", "--rate", "50", "--requests", "5", "--input", "8")
    done = caveat(*argv, "--output", "3", "--no-calibrate", "--no-probe", "--accuracy-run", scored.id)
    (timed,) = [run for run in Ledger(shipped=False).runs() if run.id != scored.id]
    assert (done.code, f"the run is kept as {timed.id[:10]}" in done.err) == (EXIT_NO, True)
