"""run: the document. What goes in comes out, the same facts have one id, and nothing broken is read."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caveat.errors import DocumentError
from caveat.figures import (
    FORMAT,
    METRICS,
    TABLE,
    Check,
    Claim,
    Condition,
    Conditions,
    Provenance,
    Row,
    Run,
    Source,
    Spread,
    canonical,
    conditions_of,
    dump,
    json_schema,
    load,
)
from caveat.figures import conditions as conditions_module
from tests.builders import published_run
from tests.strategies import hashes, runs

ROOT = Path(__file__).parent.parent.parent
VALIDATOR = jsonschema.Draft202012Validator(json_schema())
RATE, TTFT = "loadgen-completed-tokens-rate", "loadgen-ttft.p99"

RICH = Run(
    subject="mlperf-inference/v6.1/closed/AMD/box/llama2-70b-99.9/server/run_1",
    conditions=Conditions(
        known={"scenario": "server", "accelerators": 87, "output_tokens": {"mean": 267.0}, "power_run": False},
        not_applicable=("concurrency",),
        sources={"scenario": 1, "accelerators": 0},
        claims={"accelerators": (Claim(87, "description"), Claim(88, "nodes x 8"))},
    ),
    provenance=Provenance(
        origin="imported",
        sources=(
            Source(kind="log-detail", path="box/mlperf_log_detail.txt", sha256="ab" * 32, retrieved="2026-11-30"),
            Source(kind="rules", path="inference policies", place="v6.1 closed"),
        ),
        tool_version="0.1.0",
    ),
    rows=(
        Row(metric=RATE, value=103275, n=20_000, source_key="result_completed_tokens_per_second"),
        Row(
            metric=TTFT,
            value=0.64,
            spread=Spread(low=0.6, high=0.7, method="95 %, order statistics"),
            source=1,
            notes=("unit corrected",),
        ),
    ),
    validity=(Check(aspect="review", outcome="pass", sentence="reviewed"),),
    primary=RATE,
    notes=("a note",),
    samples="samples.parquet",
    replaces="0" * 40,
)

GOLDEN = """{
 "conditions": {
  "claims": {
   "accelerators": [
    {
     "source": "description",
     "value": 87
    },
    {
     "source": "nodes x 8",
     "value": 88
    }
   ]
  },
  "known": {
   "accelerators": 87,
   "output_tokens": {
    "mean": 267.0
   },
   "power_run": false,
   "scenario": "server"
  },
  "not_applicable": [
   "concurrency"
  ],
  "sources": {
   "accelerators": 0,
   "scenario": 1
  }
 },
 "format": "caveat-run/1",
 "notes": [
  "a note"
 ],
 "primary": "loadgen-completed-tokens-rate",
 "provenance": {
  "origin": "imported",
  "sources": [
   {
    "kind": "log-detail",
    "path": "box/mlperf_log_detail.txt",
    "retrieved": "2026-11-30",
    "sha256": "abababababababababababababababababababababababababababababababab"
   },
   {
    "kind": "rules",
    "path": "inference policies",
    "place": "v6.1 closed"
   }
  ],
  "tool_version": "0.1.0"
 },
 "replaces": "0000000000000000000000000000000000000000",
 "rows": [
  {
   "metric": "loadgen-completed-tokens-rate",
   "n": 20000,
   "source_key": "result_completed_tokens_per_second",
   "value": 103275.0
  },
  {
   "metric": "loadgen-ttft.p99",
   "notes": [
    "unit corrected"
   ],
   "source": 1,
   "spread": {
    "high": 0.7,
    "low": 0.6,
    "method": "95 %, order statistics"
   },
   "value": 0.64
  }
 ],
 "samples": "samples.parquet",
 "subject": "mlperf-inference/v6.1/closed/AMD/box/llama2-70b-99.9/server/run_1",
 "validity": [
  {
   "aspect": "review",
   "outcome": "pass",
   "sentence": "reviewed"
  }
 ]
}
"""


def content() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(GOLDEN)
    return document


def with_(change) -> bytes:
    """The golden document after a change to its content."""
    document = content()
    change(document)
    return json.dumps(document).encode()


# round trips


def test_a_document_looks_like_this():
    """The whole stored form of one run; whoever changes it changes the format."""
    assert dump(RICH).decode() == GOLDEN
    assert load(GOLDEN.encode()) == RICH


def test_the_id_of_a_stored_run_stays_what_it_is():
    """Ids are quoted outside of this code: the canonical content must not drift."""
    assert RICH.id == "cedd82200c905a747f7e1f113bdfb08c1faf06b9"


@given(runs())
def test_any_run_comes_back_from_its_document(run):
    """Equal in every field, with the same id, and byte for byte the same when it is written again."""
    document = dump(run)
    again = load(document)
    assert again == run
    assert again.id == run.id
    assert dump(again) == document


@given(runs())
def test_every_document_fits_the_published_schema(run):
    """The schema takes what caveat writes."""
    VALIDATOR.validate(json.loads(dump(run)))


@given(runs())
def test_a_run_that_crosses_a_process_is_the_same(run):
    """Pickled, it is equal and has the same id."""
    again = pickle.loads(pickle.dumps(run))
    assert again == run
    assert again.id == run.id


@given(runs())
def test_blanks_and_the_order_of_keys_in_a_file_do_not_matter(run):
    """A document that passed through another JSON tool is the same run."""
    through = json.dumps(json.loads(dump(run)), sort_keys=False, indent=7).encode()
    assert load(through) == run


def test_numbers_may_be_spelt_as_other_json_tools_spell_them():
    """103275 and 103275.0, 87 and 87.0 are the same numbers: one run, one id."""

    def respell(document):
        document["rows"][0]["value"] = 103275
        document["conditions"]["known"]["accelerators"] = 87.0
        document["conditions"]["known"]["output_tokens"]["mean"] = 267

    assert load(with_(respell)) == RICH
    assert load(with_(respell)).id == RICH.id


# identity


def changed(run: Run, **changes) -> Run:
    return msgspec.structs.replace(run, **changes)


@given(runs(), st.randoms(use_true_random=False))
def test_the_id_does_not_depend_on_any_order_or_repetition(run, random):
    """Keys, rows, sources, checks and claims may come in any order; a source may be named twice."""
    place = list(range(len(run.provenance.sources)))
    random.shuffle(place)
    sources = [run.provenance.sources[index] for index in place]
    c = run.conditions
    other = changed(
        run,
        rows=tuple(changed(row, source=place.index(row.source)) for row in reversed(run.rows)),
        validity=tuple(changed(check, metrics=check.metrics[::-1]) for check in reversed(run.validity)),
        provenance=changed(run.provenance, sources=(*sources, sources[0])),
        conditions=changed(
            c,
            known=dict(reversed(c.known.items())),
            sources={key: place.index(index) for key, index in c.sources.items()},
            claims={key: said[::-1] for key, said in reversed(c.claims.items())},
        ),
    )
    assert other.id == run.id


@given(runs(), hashes)
def test_the_id_does_not_depend_on_what_is_no_fact(run, other_id):
    """Paths, retrieval dates, the tool's version, sentences, not-applicable keys and what it replaces stay out."""
    other = changed(
        run,
        replaces=other_id,
        samples="elsewhere.parquet",
        notes=("another sentence",),
        rows=tuple(changed(row, notes=("corrected",), source_key="k", source=0) for row in run.rows),
        validity=tuple(changed(check, sentence="in other words") for check in run.validity),
        provenance=changed(
            run.provenance,
            tool="another",
            tool_version="9.9",
            sources=tuple(changed(s, path="/moved", retrieved="2030-01-01") for s in run.provenance.sources),
        ),
        conditions=changed(run.conditions, not_applicable=(), sources={}),
    )
    assert other.id == run.id


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(subject="another run"),
        lambda d: d.update(primary=TTFT),
        lambda d: d["conditions"]["known"].update(accelerators=88),
        lambda d: d["conditions"]["known"].pop("power_run"),
        lambda d: d["conditions"]["known"].update(engine="vLLM"),
        lambda d: d["conditions"]["known"]["output_tokens"].update(p99=1024.0),
        lambda d: d["conditions"].pop("claims"),
        lambda d: d["conditions"]["claims"]["accelerators"].pop(),
        lambda d: d["rows"][0].update(value=103275.01),
        lambda d: d["rows"][0].update(n=20_001),
        lambda d: d["rows"][0].update(metric="loadgen-offline-tokens-rate") or d.pop("primary"),
        lambda d: d["rows"][1]["spread"].update(low=0.5),
        lambda d: d["rows"].pop(),
        lambda d: d["validity"][0].update(outcome="fail"),
        lambda d: d["validity"][0].update(aspect="accuracy"),
        lambda d: d["validity"][0].update(metrics=[RATE]),
        lambda d: d["validity"].pop(),
        lambda d: d["provenance"].update(origin="simulated"),
        lambda d: d["provenance"]["sources"][0].update(sha256="cd" * 32),
        lambda d: d["provenance"]["sources"][1].update(place="v6.1 open"),
    ],
)
def test_the_id_changes_with_any_fact(change):
    """Values, counts, claims, validity, origin and sources are what the id stands for."""
    assert load(with_(change)).id != RICH.id


def test_a_claim_counts_by_its_value_not_by_the_order_of_its_parts():
    """Two spellings of one distribution are one claim, a richer distribution is another."""

    def one(value):
        return changed(RICH, conditions=Conditions(claims={"accuracy": (Claim(value, "log"),)})).id

    assert one({"rouge1": 1.0, "rouge2": 2.0}) == one({"rouge2": 2.0, "rouge1": 1.0})
    assert one({"rouge1": 1.0}) != one({"rouge1": 1.0, "rouge2": 2.0})


def test_a_condition_added_to_the_table_later_changes_no_old_id(monkeypatch):
    """Ids are made of what is known; a new key is undisclosed in every old document."""
    new = Condition("weather", "system", "text", "weather over the data centre")
    monkeypatch.setitem(conditions_module.BY_KEY, "weather", new)
    monkeypatch.setattr(conditions_module, "TABLE", (*TABLE, new))
    old = load(GOLDEN.encode())
    assert old.conditions.state("weather") == "undisclosed"
    assert old.id == RICH.id
    assert changed(old, conditions=conditions_of({"weather": "rain"})).id != RICH.id


def test_canonical_json_is_sorted_and_has_no_blanks():
    """One content, one spelling."""
    assert canonical({"b": 1.0, "a": [1, "é", None, True]}) == '{"a":[1,"é",null,true],"b":1.0}'.encode()


# broken documents


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="caveat-run/2"), "format: found 'caveat-run/2', expected 'caveat-run/1'"),
        (lambda d: d.update(format="caveat-run/2", new=1), "format: found 'caveat-run/2', expected 'caveat-run/1'"),
        (lambda d: d.pop("format"), "format: found nothing, expected 'caveat-run/1'"),
        (lambda d: d.pop("subject"), "missing required field `subject`"),
        (lambda d: d.update(subject=7), "Expected `str`, got `int` - at `$.subject`"),
        (lambda d: d.update(subject=" "), "subject: found ' ', expected what the run is"),
        (lambda d: d.update(colour="red"), "unknown field `colour`"),
        (lambda d: d["rows"][0].update(colour="red"), "unknown field `colour` - at `$.rows[0]`"),
        (lambda d: d["rows"][0].update(metric="tps"), "metric: found 'tps', expected the key of a defined metric"),
        (lambda d: d["rows"][0].update(value=None), "Expected `float`, got `null` - at `$.rows[0].value`"),
        (lambda d: d["rows"][0].update(value=True), "Expected `float`, got `bool` - at `$.rows[0].value`"),
        (lambda d: d["rows"][0].update(n=-1), f"{RATE}: n: found -1, expected a count of requests"),
        (lambda d: d["rows"][0].update(n=2**63), f"{RATE}: n: found 9223372036854775808, expected a count"),
        (lambda d: d["rows"][0].update(n=True), "Expected `int | null`, got `bool` - at `$.rows[0].n`"),
        (lambda d: d["rows"][0].update(source=2), f"rows: {RATE}: source: found 2, expected the index of a source"),
        (lambda d: d["rows"][0].update(source=-1), f"rows: {RATE}: source: found -1, expected the index of a source"),
        (lambda d: d["rows"].append(d["rows"][0]), f"rows: found metric {RATE} 2 times, expected once"),
        (lambda d: d["rows"][1]["spread"].update(low=0.8), "spread: found 0.8 to 0.7, expected low before high"),
        (lambda d: d["rows"][1]["spread"].update(method=""), "spread.method: found nothing"),
        (
            lambda d: d.update(primary="loadgen-tpot.p99"),
            "primary: found 'loadgen-tpot.p99', expected one of the run's",
        ),
        (lambda d: d["conditions"]["sources"].update(accelerators=9), "conditions.sources.accelerators: found 9"),
        (lambda d: d["conditions"]["known"].update(colour="red"), "found 'colour', expected a key of the table"),
        (lambda d: d["conditions"]["known"].update(accelerators=None), "got `null` - at `$.conditions.known"),
        (lambda d: d["conditions"]["known"].update(accelerators=True), "accelerators: found True, expected a whole"),
        (lambda d: d["validity"][0].update(aspect="vibes"), "validity: found aspect 'vibes', expected one of"),
        (lambda d: d["validity"][0].update(outcome="ok"), "Invalid enum value 'ok' - at `$.validity[0].outcome`"),
        (lambda d: d["provenance"].update(origin="guessed"), "Invalid enum value 'guessed' - at `$.provenance.origin`"),
        (lambda d: d["provenance"]["sources"].clear(), "found an imported run without sources, expected at least one"),
        (lambda d: d["provenance"]["sources"][0].update(kind="hearsay"), "source: found kind 'hearsay', expected one"),
    ],
)
def test_a_broken_document_is_refused_by_name(change, message):
    """File, field, what was found and what was expected."""
    with pytest.raises(DocumentError) as refusal:
        load(with_(change), path="ledger/a.json")
    assert refusal.value.message.startswith("ledger/a.json: ")
    assert message in refusal.value.message


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(format="caveat-run/2"),
        lambda d: d.pop("format"),
        lambda d: d.pop("subject"),
        lambda d: d.update(subject=""),
        lambda d: d.update(colour="red"),
        lambda d: d.update(primary="tps"),
        lambda d: d["rows"][0].update(metric="tps"),
        lambda d: d["rows"][0].update(colour="red"),
        lambda d: d["rows"][0].pop("value"),
        lambda d: d["rows"][0].update(value="103275"),
        lambda d: d["rows"][0].update(n=-1),
        lambda d: d["rows"][0].update(source=-1),
        lambda d: d["conditions"]["known"].update(colour="red"),
        lambda d: d["conditions"]["known"].update(accelerators=True),
        lambda d: d["conditions"]["known"].update(accelerators=8.5),
        lambda d: d["conditions"]["known"].update(duration_s=-1.0),
        lambda d: d["conditions"]["known"].update(engine=""),
        lambda d: d["conditions"]["known"].update(prefix_caching="undisclosed"),
        lambda d: d["conditions"]["known"].update(loop="ajar"),
        lambda d: d["conditions"]["known"].update(input_tokens={"p75": 1.0}),
        lambda d: d["conditions"]["claims"].update(accelerators=[{"value": "many", "source": "log"}]),
        lambda d: d["conditions"].update(not_applicable=["colour"]),
        lambda d: d["conditions"]["sources"].update(colour=0),
        lambda d: d["validity"][0].update(aspect="vibes"),
        lambda d: d["validity"][0].update(outcome="ok"),
        lambda d: d["validity"][0].update(metrics=["tps"]),
        lambda d: d["provenance"].update(origin="guessed"),
        lambda d: d["provenance"]["sources"].clear(),
        lambda d: d["provenance"].update(origin="derived"),
        lambda d: d["provenance"]["sources"][0].update(kind="hearsay"),
    ],
)
def test_schema_and_reader_refuse_the_same_documents(change):
    """Whoever checks with the published schema learns what the reader would say."""
    document = with_(change)
    assert not VALIDATOR.is_valid(json.loads(document))
    with pytest.raises(DocumentError):
        load(document)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"null",
        b"[]",
        b'"caveat-run/1"',
        b"{",
        b'{"format": "caveat-run/1"}',
        b"\x00\x01\x02\xff" * 100,
        b"\x7fELF" + bytes(1000),
        b"\xef\xbb\xbf" + GOLDEN.encode(),
        GOLDEN.encode("utf-16"),
        GOLDEN.encode()[:-40],
        GOLDEN.encode() + b"{}",
        GOLDEN.encode().replace(b"a note", b"\xff\xfe"),
        GOLDEN.encode().replace(b"a note", b"\\ud800"),
        GOLDEN.encode().replace(b"103275.0", b"NaN"),
        GOLDEN.encode().replace(b"103275.0", b"Infinity"),
        GOLDEN.encode().replace(b"103275.0", b"1e999"),
        GOLDEN.encode().replace(b"103275.0", b"9" * 5000),
        GOLDEN.encode().replace(b'"accelerators": 87', b'"accelerators": ' + b"9" * 5000),
        GOLDEN.encode().replace(b'"accelerators": 87', b'"accelerators": 18446744073709551616'),
        b"[" * 100_000,
        b'{"format": "caveat-run/1", "rows": ' + b"[" * 100_000,
        b'{"x": ' * 100_000,
        GOLDEN.encode().replace(b'"a note"', b"[" * 100_000 + b"]" * 100_000),
    ],
    ids=lambda document: repr(document[:24]),
)
def test_a_file_that_is_no_document_is_refused_as_one(document):
    """Binary, truncated, deeply nested, overflowing or in another encoding: a DocumentError, nothing else."""
    with pytest.raises(DocumentError):
        load(document)


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        ('"format": "caveat-run/1"', '"format": "caveat-run/1", "format": "caveat-run/1"'),
        ('"accelerators": 87,', '"accelerators": 87, "accelerators": 88,'),
        ('"accelerators": 87,', '"accelerators": 87, "acceler\\u0061tors": 88,'),
        ('"value": 0.64', '"value": 6.4e-1, "value": 0.64'),
    ],
)
def test_a_key_that_stands_twice_is_refused(once, twice):
    """Two readers would believe two values."""
    with pytest.raises(DocumentError, match="found 2 times in one object, expected once"):
        load(GOLDEN.replace(once, twice).encode())


def test_an_error_about_a_document_obeys_no_terminal():
    """Neither the name of the file nor what stands in it reaches a terminal as it is."""
    document = with_(lambda d: d.update({"\x1b[31m" + "x" * 5000: 1}))
    with pytest.raises(DocumentError) as refusal:
        load(document, path="\x1b]0;title\x07.json")
    assert refusal.value.message.isprintable()
    assert len(refusal.value.message) < 500


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(GOLDEN) - 1), st.integers(0, 255))
def test_one_wrong_byte_gives_a_run_or_a_document_error(place, byte):
    """No other exception leaves the reader, wherever the byte stands."""
    document = bytearray(GOLDEN.encode())
    document[place] = byte
    try:
        load(bytes(document))
    except DocumentError as error:
        assert error.next is not None


# construction in code


@pytest.mark.parametrize("value", [True, None, "103275", float("nan"), float("inf"), 10**400])
def test_a_row_holds_a_finite_number_and_nothing_else(value):
    """True is not one, a text is no number, and what overflows is not kept."""
    with pytest.raises(DocumentError, match=f"{RATE}: found .*, expected a finite number"):
        Row(metric=RATE, value=value)


def test_a_value_made_of_a_whole_number_is_the_same_run_as_its_document():
    """103275 in code and 103275.0 in the document have one id."""
    run = published_run(value=103275)
    assert load(dump(run)).id == run.id
    assert repr(run.rows[0].value) == "103275.0"
    assert repr(Row(metric=RATE, value=-0.0).value) == "0.0"


@pytest.mark.parametrize(("low", "high"), [(1.0, 0.5), (float("nan"), 1.0), (0.0, float("inf")), (True, 2.0)])
def test_a_spread_is_an_interval_of_finite_numbers(low, high):
    """Low before high."""
    with pytest.raises(DocumentError, match="spread"):
        Spread(low=low, high=high, method="range")


def test_a_text_that_utf8_cannot_write_is_refused_before_it_is_stored():
    """File names that are not UTF-8 reach Python as lone surrogates; a document cannot hold them."""
    with pytest.raises(DocumentError, match="subject: found "):
        changed(RICH, subject="a\udcff")
    with pytest.raises(DocumentError, match="expected what UTF-8 can write"):
        dump(changed(RICH, notes=("a\udcff",)))


def test_a_run_answers_for_its_rows_and_their_validity():
    """A row by its metric, None where there is none; the worst entry that concerns it."""
    assert RICH.row(TTFT) is RICH.rows[1]
    assert RICH.row("loadgen-tpot.p99") is None
    assert RICH.rows[1].definition is METRICS[TTFT]
    assert RICH.outcome(TTFT) == "pass"


def test_nothing_of_a_run_can_be_changed_after_its_id_was_read():
    """The cached id stays true: a change makes a new run."""
    run = published_run()
    before = run.id
    with pytest.raises(AttributeError):
        run.subject = "another"  # type: ignore[misc]
    with pytest.raises(TypeError):
        run.conditions.known["accelerators"] = 72
    assert changed(run, subject="another").id != before == run.id


# the published schema


def test_the_schema_is_itself_a_schema():
    """2020-12, with a name that stays."""
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert (json_schema()["title"], json_schema()["$id"]) == (FORMAT, "urn:caveat:run:1")


def test_the_schema_in_the_repository_is_the_one_of_the_code():
    """If this fails: python scripts/make_schema.py."""
    check = subprocess.run(
        [sys.executable, "scripts/make_schema.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (check.returncode, check.stderr) == (0, "")
