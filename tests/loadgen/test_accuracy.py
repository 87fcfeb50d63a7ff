"""An accuracy run on a real server: what is asked, kept and scored, and how it ends."""

import json
import shutil
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from caveat.errors import CannotSayError, InputError, RefusedError, UsageError
from caveat.figures import Run, dump, load
from caveat.loadgen import AccuracyOrder, DatasetFile, Decoding, Endpoint, Settings, accuracy_run, answer_dataset
from caveat.loadgen.accuracy import ANSWERS
from caveat.loadgen.accuracy_order import ORDER, read_order
from caveat.loadgen.answer_file import read_answers
from caveat.loadgen.folder import NOTES, SAMPLES
from caveat.loopback import Loopback, behaviour_of
from caveat.measure import Demands, Threshold, demands_of, parse_threshold
from tests.loadgen.folders import text_of
from tests.loadgen.server import HANG, Server, delta, finish, stream, usage, whole

GREEK = Path(__file__).parent / "data" / "greek.jsonl"
SUBJECT = f"measured/{'0b' * 16}"
QUICK = Settings(timeout_s=5.0, connect_timeout_s=2.0, idle_s=5.0, drain_s=0.2)
KEY = "sk-do-not-keep-me"


@pytest.fixture(scope="module")
def server():
    with Loopback(behaviour_of({"ttft_s": 0.001})).start() as running:
        yield running


def order_at(url, *require, data=GREEK, endpoint=None, **changes):
    there = {"url": url, "model": "m", **(endpoint or {})}
    fields = {"demands": Demands(thresholds=tuple(map(parse_threshold, require))), "settings": QUICK, **changes}
    return AccuracyOrder(endpoint=Endpoint(**there), dataset=DatasetFile(file=str(data)), **fields)


def made(order, folder, **more) -> Run:
    answer_dataset(order, folder, version="1", started="2026-01-01", subject=SUBJECT, environ={"K": KEY}, **more)
    return accuracy_run(folder)


def values(run):
    return {row.metric: row.value for row in run.rows}


def entry(run, aspect):
    (one,) = [check for check in run.validity if check.aspect == aspect]
    return one


def data_of(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_row_is_asked_once_and_scored(server, tmp_path):
    """24 rows: 12 right, 8 with two words of three, 3 wrong, one without a reference."""
    before = len(server.log())
    scores = ("rouge1", "rouge2", "rougeL", "exact_match")
    run = made(order_at(server.url, "rouge1>=80", scores=scores), tmp_path / "run")
    assert len(server.log()) - before == 24
    assert values(run) == pytest.approx(
        {
            "caveat-rouge1.mean": 80.0,
            "caveat-rouge2.mean": (12 * 100 + 8 * 200 / 3) / 23,
            "caveat-rouge-l.mean": 80.0,
            "caveat-exact-match.mean": 100 * 12 / 23,
            "caveat-accuracy-output-tokens-usage.mean": 3.0,
        }
    )
    assert (run.primary, [row.n for row in run.rows]) == ("caveat-rouge1.mean", [23, 23, 23, 23, 24])
    assert {check.aspect: check.outcome for check in run.validity} == {
        "accuracy": "pass",
        "error rate": "pass",
        "completion": "pass",
        "consistency": "unknown",
    }
    assert "23 rows were scored; 1 rows have no reference." in entry(run, "accuracy").sentence
    assert run.outcome("caveat-rouge1.mean") == "pass"


def test_the_prompts_are_those_of_the_rows_to_the_letter(tmp_path):
    """Quotation marks, line ends and Greek arrive as they stand in the file, each with its own limit."""
    answer = stream(delta(content="alpha beta"), finish(), usage(7, 2))
    rows = [{"prompt": 'say "α"\n\\', "max_tokens": 5, "reference": "x"}, {"prompt": "\x00\u2028", "reference": "x"}]
    with Server(lambda *_: [answer]) as listening:
        run = made(order_at(listening.url, data=data_of(tmp_path / "d", *rows), max_tokens=9), tmp_path / "run")
        bodies = [json.loads(r.partition(b"\r\n\r\n")[2]) for r in listening.requests if r.startswith(b"POST")]
    asked = {body["messages"][0]["content"]: body for body in bodies}
    assert {text: body["max_tokens"] for text, body in asked.items()} == {'say "α"\n\\': 5, "\x00\u2028": 9}
    assert all("min_tokens" not in body and "ignore_eos" not in body for body in bodies)
    assert run.conditions.get("output_tokens_cap") == 9


def test_a_run_carries_the_conditions_that_made_it(server, tmp_path):
    """The file and its hash, what was demanded and reached, how tokens were chosen; unverified, and nobody's suite."""
    run = made(order_at(server.url, "rouge1>=70", known={"accelerator": "H100"}), tmp_path / "run")
    expected = {
        "suite": "own measurement",
        "review": "unverified",
        "dataset_samples": 24,
        "queries": 24,
        "concurrency": 8,
        "loop": "closed",
        "decoding": "temperature 0",
        "output_tokens_cap": 3,
        "accuracy": {"rouge1": pytest.approx(80.0)},
        "accuracy_required": {"rouge1": 70.0},
        "accuracy_tokens_per_sample": 3.0,
        "accelerator": "H100",
        "salted": False,
        "token_source": "server usage record",
    }
    known = run.conditions.known
    assert {key: known[key] for key in expected} == expected
    assert {"benchmark", "round", "division", "scenario"}.isdisjoint(known)
    assert known["dataset"].startswith("greek.jsonl, 24 samples, sha256 ")
    assert "MLPerf" not in dump(run).decode()


def test_the_folder_gives_the_same_run_again_and_the_run_no_answer(server, tmp_path):
    """Scores are made of what lies there; texts stay there."""
    order = order_at(server.url)
    run = made(order, tmp_path / "run")
    assert accuracy_run(tmp_path / "run") == run == load(dump(run))
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".going", ORDER, ANSWERS, NOTES, SAMPLES]
    assert read_order(tmp_path / "run") == order.settled()
    assert "alpha" not in dump(run).decode()
    kept = read_answers(tmp_path / "run" / ANSWERS, 24)
    assert {(one.text, one.first) for one in kept.values()} == {("alpha beta gamma", 5)}


def test_a_changed_data_set_is_not_the_one_that_was_asked(server, tmp_path):
    """A score against other references would be another score."""
    data = tmp_path / "d.jsonl"
    shutil.copy(GREEK, data)
    made(order_at(server.url, data=data), tmp_path / "run")
    data.write_text(data.read_text().replace("zeta", "alpha"))
    with pytest.raises(InputError, match="not the file that the earlier run used"):
        accuracy_run(tmp_path / "run")


def test_requests_that_fail_count_0_and_are_said(tmp_path):
    """Every third answer is an error: the mean falls, and the verdict is unknown because of it."""

    def answer(number, request):
        good = stream(delta(content="alpha beta"), finish(), usage(7, 2))
        return [whole(b'{"error": "busy"}', "503 Busy") if b"(1)" in request else good]

    rows = [{"prompt": f"({n % 3})", "reference": "alpha beta"} for n in range(9)]
    with Server(answer) as listening:
        run = made(order_at(listening.url, "rouge1>=90", data=data_of(tmp_path / "d", *rows)), tmp_path / "run")
    assert values(run)["caveat-rouge1.mean"] == pytest.approx(100 * 6 / 9)
    assert entry(run, "accuracy").outcome == "unknown"
    assert "9 rows were scored, 3 of them without an answer count 0." in entry(run, "accuracy").sentence
    assert entry(run, "error rate").outcome == "fail"
    assert "3 http-503" in entry(run, "error rate").sentence
    assert entry(run, "completion").outcome == "pass"


class AtOnce:
    """Asks to stop from the beginning."""

    def requested(self):
        return True


def test_a_run_that_is_stopped_says_how_much_was_asked(tmp_path):
    """What hangs is cut off; rows that were never asked count 0 as well."""
    with Server(lambda n, r: [HANG] if r.startswith(b"POST") else [whole(b"{}")]) as listening:
        run = made(order_at(listening.url, "rouge1>=1", concurrency=2), tmp_path / "run", cancel=AtOnce())
    assert entry(run, "completion").outcome == "unknown"
    assert "of 24 rows were asked" in entry(run, "completion").sentence
    assert entry(run, "accuracy").outcome == "unknown"


def test_no_key_is_kept_though_the_server_says_it_back(tmp_path):
    """Neither in an answer nor anywhere else in the folder, nor in the Run."""
    answer = stream(delta(content=f"alpha {KEY}"), finish(), usage(7, 2))
    with Server(lambda *_: [answer]) as listening:
        run = made(
            order_at(listening.url, endpoint={"key_env": "K", "headers": {"X-T": "tenant-4711-x"}}), tmp_path / "r"
        )
        sent = b"".join(listening.requests)
    assert KEY.encode() in sent  # the search below looks for the right thing
    kept = text_of(tmp_path / "r") + dump(run)
    assert b"alpha [hidden]" in kept
    assert KEY.encode() not in kept
    assert b"tenant-4711-x" not in kept


@pytest.mark.parametrize(
    ("rows", "changes", "error", "words"),
    [
        ([{"prompt": "a", "reference": "x", "id": 1}, {"prompt": "b", "id": "1"}], {}, InputError, "'1' 2 times"),
        ([{"prompt": "a", "reference": " "}], {}, InputError, "reference without a word"),
        ([{"prompt": "a"}], {}, CannotSayError, "no row of the data set has a reference"),
        ([{"prompt": "a", "reference": "δ"}], {}, InputError, "ROUGE sees no word"),
        ([{"prompt": "a", "reference": "x"}], {"scores": ("exact_match",), "pattern": "("}, UsageError, "pattern"),
    ],
)
def test_what_could_not_be_scored_is_not_asked(server, tmp_path, rows, changes, error, words):
    """Refused before anything is sent, and nothing is left on disk."""
    before = len(server.log())
    data = data_of(tmp_path / "d", *rows)
    with pytest.raises(error, match=words):
        made(order_at(server.url, data=data, **changes), tmp_path / "run")
    assert (len(server.log()), (tmp_path / "run").exists()) == (before, False)


def test_a_folder_with_a_run_is_not_written_to_again(server, tmp_path):
    """Append, never overwrite."""
    made(order_at(server.url), tmp_path / "run")
    before = text_of(tmp_path / "run")
    with pytest.raises(RefusedError, match="already"):
        made(order_at(server.url), tmp_path / "run")
    assert text_of(tmp_path / "run") == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"concurrency": 0}, "concurrency: found 0"),
        ({"max_tokens": 0}, "max_tokens: found 0"),
        ({"decoding": Decoding()}, "expected answers that end by themselves"),
        ({"decoding": Decoding(exact_length=False, limit_field=None)}, "no limit sent"),
        ({"scores": ("bleu",)}, "'bleu'"),
        ({"known": {"queries": 7}}, "known.queries"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(changes, words):
    """Field, found, expected."""
    with pytest.raises(UsageError, match=words):
        order_at("http://127.0.0.1:9", **changes)


def test_the_usual_scores_are_taken_where_none_is_asked_for():
    """Those that are demanded are taken; what only the suite can score is not."""
    plain = order_at("http://127.0.0.1:9")
    assert plain.asked_scores == ("rouge1", "rouge2", "rougeL")
    demands = Demands(thresholds=(Threshold("rougeL", 21.0), Threshold("exact_match of the suite", 80.0)))
    assert msgspec.structs.replace(plain, demands=demands, scores=("ROUGE1",)).asked_scores == ("rouge1", "rougeL")


@pytest.mark.parametrize("there", [True, False])
def test_a_demand_that_cannot_be_scored_on_this_machine_stays_unknown(monkeypatch, there):
    """The thresholds of a benchmark do not keep a machine without the splitter's data from scoring the others."""
    monkeypatch.setattr("caveat.loadgen.accuracy_order.can_split_sentences", lambda: there)
    demands = demands_of("llama3.1-8b", "v6.0")
    scores = order_at("http://127.0.0.1:9", demands=demands).asked_scores
    assert scores == ("rouge1", "rouge2", "rougeL", *(["rougeLsum-punkt"] if there else []))


@pytest.mark.parametrize("document", [b"", b"[]", b'{"format": "caveat-accuracy/2"}', b"[" * 100_000])
def test_another_document_is_no_order(tmp_path, document):
    """Also one of the future."""
    (tmp_path / ORDER).write_bytes(document)
    with pytest.raises(InputError, match="no accuracy run here"):
        read_order(tmp_path)


def tokenizer_file(path):
    """Words are tokens, as they are for the endpoint."""
    model = {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "alpha": 1, "beta": 2}}
    path.write_text(json.dumps({"version": "1.0", "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}))
    return str(path)


def test_counts_are_tested_with_a_tokenizer_of_the_client(server, tmp_path):
    """Counts are those of the texts, and the first delta is a whole word; samples carry the client's count."""
    pytest.importorskip("tokenizers")
    order = order_at(server.url, tokenizer_file=tokenizer_file(tmp_path / "tokenizer.json"))
    run = made(order, tmp_path / "run")
    found = [check for check in run.validity if check.aspect == "consistency"]
    assert [check.outcome for check in found] == ["pass", "pass"]
    assert found[0].sentence.startswith("Of 24 answers, the server counts as many tokens as their text has in 24,")
    assert set(pq.read_table(tmp_path / "run" / SAMPLES).column("output_tokens_client").to_pylist()) == {3}


def test_a_server_that_counts_what_it_did_not_say_is_found(tmp_path):
    """Nine tokens for two words, and half a word sent ahead."""
    pytest.importorskip("tokenizers")
    answer = stream(delta(content="al"), delta(content="pha beta"), finish(), usage(7, 9))
    with Server(lambda *_: [answer]) as listening:
        run = made(order_at(listening.url, tokenizer_file=tokenizer_file(tmp_path / "t.json")), tmp_path / "run")
    found = [check for check in run.validity if check.aspect == "consistency"]
    assert [check.outcome for check in found] == ["fail", "fail"]
    assert run.outcome("caveat-accuracy-output-tokens-usage.mean") == "fail"


def test_an_endpoint_that_counts_nothing_has_no_output_length(tmp_path):
    """Unknown, not zero; and the range that was demanded cannot be judged."""
    with Loopback(behaviour_of({"usage": "never"})).start() as silent:
        demands = Demands(thresholds=(Threshold("rouge1", 80.0),), tokens_range=(2.0, 4.0))
        run = made(order_at(silent.url, demands=demands), tmp_path / "run")
    assert "caveat-accuracy-output-tokens-usage.mean" not in values(run)
    assert (entry(run, "accuracy").outcome, entry(run, "output length").outcome) == ("pass", "unknown")
