"""Citations obey the rules for MLPerf results (C1 to C8, D1), and never make a claim of what is none."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings

from caveat.errors import RefusedError, UsageError
from caveat.facts import TRADEMARK_LEGEND, UNVERIFIED_SENTENCE, VERIFIED_SENTENCE
from caveat.figures import (
    METRICS,
    Check,
    Claim,
    Conditions,
    Figure,
    Provenance,
    Row,
    Run,
    Source,
    figures_of,
    primary_figure,
)
from caveat.publish import CITATION_FORMS, Citation, cite, written
from tests.builders import published_run
from tests.cli.acme import HOSTILE_NAMES, derived_run, hostile_run, own_run
from tests.strategies import runs

DATE = "2026-11-02"
LOCATION = "closed/AMD/results/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/Server"


def primary(run: Run) -> Figure:
    figure = primary_figure(run)
    assert figure is not None
    return figure


def published(**changes) -> Figure:
    said = {"result_id": "6.1-0001", "location": LOCATION, **changes}
    return primary(published_run(**said))


def secondary(metric: str) -> Figure:
    return Figure(published_run(rows=(Row(metric=metric, value=0.64),), result_id="6.1-0001"), metric)


def test_a_reviewed_result_is_cited_whole():
    """Everything that C1 and C2 ask, in a line and a footnote."""
    assert cite(published(), retrieved=DATE) == Citation(
        figure=published().id,
        text=(
            "AMD reached 103,275 tokens/s on MLPerf® Inference v6.1 Closed llama2-70b-99.9 Server "
            "with Box of eight (8 x MI355X; available).[1]"
        ),
        footnote=(
            "[1] MLPerf® Inference v6.1, Closed division; benchmark llama2-70b-99.9, scenario Server; "
            "submitted by AMD. Result ID 6.1-0001. Retrieved from "
            f"https://github.com/mlcommons/inference_results_v6.1 ({LOCATION}) on {DATE}. "
            f"{VERIFIED_SENTENCE} {TRADEMARK_LEGEND}"
        ),
    )


def test_c1_names_organisation_benchmark_version_and_system_in_the_text():
    """What a source leaves out is named as missing, not invented."""
    text = cite(published(), retrieved=DATE).text
    assert all(word in text for word in ("AMD", "MLPerf® Inference v6.1", "llama2-70b-99.9", "Box of eight"))
    assert cite(published(system=None, submitter=None), retrieved=DATE).missing == ("submitter", "system")


def test_c2_names_what_the_footnote_lacks():
    """A result id and a date of retrieval are asked for by name, never made up."""
    citation = cite(published(result_id=None))
    assert citation.missing == ("result ID", "retrieval date")
    assert "Result ID" not in citation.footnote
    assert "on [date on which you looked it up]." in citation.footnote


def test_c2_takes_the_date_from_the_source_where_it_is_recorded():
    """The one who imported the table looked it up."""
    run = published_run(result_id="6.1-0001")
    source = Source(kind="published-summary", path="summary.csv", retrieved="2026-09-30")
    dated = Run(
        subject=run.subject,
        conditions=run.conditions,
        provenance=Provenance(origin="imported", sources=(source,)),
        rows=run.rows,
        primary=run.primary,
    )
    assert "on 2026-09-30." in cite(primary(dated)).footnote
    assert cite(primary(dated)).missing == ()


@pytest.mark.parametrize("review", ["unverified", "self-reported"])
def test_c3_what_nobody_reviewed_is_unverified_beside_its_score(review):
    """The word beside the value, the fixed sentence in the footnote, and no place of the suite as its source."""
    citation = cite(published(review=review), retrieved=DATE)
    assert "103,275 tokens/s (unverified)" in citation.text
    assert UNVERIFIED_SENTENCE in citation.footnote
    assert "Source: summary.csv, row 2" in citation.footnote
    assert "mlcommons/inference_results" not in citation.footnote


def test_c3_a_run_of_ones_own_never_bears_the_name():
    """Not even where it used the suite's workload."""
    for run in (own_run(), own_run(suite="MLPerf Inference", round="v6.1"), own_run(suite="Other Suite")):
        citation = cite(primary(run), retrieved=DATE)
        said = (citation.text + citation.footnote).replace(TRADEMARK_LEGEND, "")
        assert "MLPerf" not in said
        assert "verified by" not in said.replace(UNVERIFIED_SENTENCE, "")
    assert "Not a result of any benchmark suite." in cite(primary(own_run())).footnote
    assert "Reported under Other Suite, not reviewed." in cite(primary(own_run(suite="Other Suite"))).footnote


def scenario_run(decided: str = "pass", **changes) -> Figure:
    """A run of one's own that kept to the rules of a profile, eased."""
    known = {
        "suite": "own measurement",
        "review": "unverified",
        "scenario": "server",
        "profile": "llama3.1-8b of v6.1",
        "profile_changes": "percentile 0.9 in place of 0.99",
        "limit_percentile": 0.9,
        "ttft_limit_s": 2.0,
        **changes,
    }
    return Figure(
        Run(
            subject="measured/1",
            conditions=Conditions(known=known),
            provenance=Provenance(origin="measured"),
            rows=(Row(metric="loadgen-completed-tokens-rate", value=12.0),),
            primary="loadgen-completed-tokens-rate",
            validity=(Check(aspect="minimum duration", outcome=decided, sentence="."),),
        ),
        "loadgen-completed-tokens-rate",
    )


def test_c3_a_run_by_the_rules_of_a_benchmark_says_what_was_changed_and_is_no_result_of_it():
    """Percentile, changes, and where it could not be decided, that; never the benchmark as its own."""
    found = cite(scenario_run())
    assert "(unverified)" in found.text
    assert "MLPerf" not in found.text + found.footnote
    assert "TTFT limit 2 s at p90." in found.footnote
    assert "derived from those of llama3.1-8b of v6.1, changed (percentile 0.9 in place of 0.99)." in found.footnote
    assert "could not be decided" not in found.footnote
    assert "could not be decided" in cite(scenario_run("unknown")).footnote
    official = cite(scenario_run(suite="own measurement, with the official LoadGen")).footnote
    assert "Run by whoever measured it; not a result of any benchmark suite." in official


def test_c3_a_simulation_says_that_it_is_one():
    """Nobody measured it."""
    run = own_run(review="simulated")
    simulated = Run(
        subject=run.subject,
        conditions=run.conditions,
        provenance=Provenance(origin="simulated"),
        rows=run.rows,
        primary=run.primary,
    )
    text = cite(primary(simulated)).text
    assert "Acme simulated 4,321 tokens/s (unverified)" in text
    assert "our own record" in cite(primary(simulated)).footnote


def test_c4_only_a_reviewed_primary_metric_is_called_verified():
    """And nothing is called official."""
    for figure in (secondary("loadgen-ttft.p99"), published(review="unverified"), primary(own_run())):
        assert VERIFIED_SENTENCE not in cite(figure).footnote
    assert VERIFIED_SENTENCE in cite(published()).footnote


@pytest.mark.parametrize("form", CITATION_FORMS)
def test_c5_footnotes_are_text(form):
    """Each form holds every word of them."""
    citation = cite(published(), retrieved=DATE)
    shown = written(citation, form).replace("\\", "")
    assert citation.footnote.removeprefix("[1] ") in shown


def test_c6_the_name_bears_its_sign_and_is_followed_by_the_benchmark():
    """Outside the prescribed legend the name never stands alone."""
    citation = cite(published(), retrieved=DATE)
    said = (citation.text + citation.footnote).replace(TRADEMARK_LEGEND, "")
    assert set(re.findall(r"MLPerf\S* \S+", said)) == {"MLPerf® Inference"}
    assert TRADEMARK_LEGEND in citation.footnote


@pytest.mark.parametrize("aspect", ["harness verdict", "latency limits", "accuracy", "errors"])
def test_c7_an_invalid_run_is_no_claim(aspect):
    """It does not keep the rules of its benchmark."""
    run = published_run(validity=(Check(aspect=aspect, outcome="fail", sentence="it failed"),))
    with pytest.raises(RefusedError, match=r"not valid \(it failed\)"):
        cite(primary(run))


def test_c8_a_round_that_the_tables_lack_may_not_be_out_yet():
    """Nobody publishes before its date."""
    assert cite(published(round="v9.9"), retrieved=DATE).missing == ("publication of round v9.9",)


@pytest.mark.parametrize("metric", ["loadgen-ttft.p99", "loadgen-completed-samples-rate", "tokens-per-sample.mean"])
def test_d1_a_secondary_value_states_its_basis_and_is_unverified(metric):
    """In the text and in the footnote."""
    citation = cite(secondary(metric), retrieved=DATE)
    name = METRICS[metric].name.replace("_", " ")
    assert f"{name} ({METRICS[metric].statistic}) (unverified)" in citation.text
    assert f"{name.capitalize()} ({METRICS[metric].statistic}) is not the primary metric" in citation.footnote
    assert citation.footnote.count(UNVERIFIED_SENTENCE) == 1
    assert "neither official nor verified" in citation.footnote


def test_d1_a_derived_value_gives_its_formula():
    """How it came from the real metrics."""
    footnote = cite(secondary("tokens-per-sample.mean")).footnote
    assert f"It was derived as {METRICS['tokens-per-sample.mean'].meaning}" in footnote


def test_a_pair_of_unlike_figures_is_no_claim():
    """Its inputs may be cited, each by itself."""
    with pytest.raises(RefusedError, match="derived") as refusal:
        cite(primary(derived_run()))
    assert refusal.value.next == "cite each of them: aa.x, bb.y"


def test_the_open_division_is_named():
    """Its model may be another than the benchmark's."""
    citation = cite(published(division="open"), retrieved=DATE)
    assert "v6.1 Open llama2-70b-99.9" in citation.text
    assert "Open division" in citation.footnote


def test_a_count_that_sources_dispute_is_cited_with_the_dispute():
    """87 in the name, 11 nodes of 8 in the fields."""
    run = published_run(accelerators=88)
    conditions = Conditions(
        known=run.conditions.known, claims={"accelerators": (Claim(88, "nodes x per node"), Claim(87, "name"))}
    )
    disputed = Run(
        subject=run.subject, conditions=conditions, provenance=run.provenance, rows=run.rows, primary=run.primary
    )
    assert "(87 or 88 x MI355X, sources disagree on the count; available)" in cite(primary(disputed)).text


def test_markdown_and_bibtex_are_whole_documents():
    """A footnote that belongs to its mark; an entry that a parser takes."""
    citation = cite(published(), retrieved=DATE)
    text, _, note = written(citation, "markdown").partition("\n\n")
    assert text.endswith(r"(8 x MI355X; available).[^1]")
    assert note.startswith("[^1]: MLPerf® Inference v6.1, Closed division")
    assert r"inference\_results\_v6.1" in note
    entry = written(citation, "bibtex")
    assert entry.startswith(f"@misc{{caveat-{citation.figure[:10]},\n  title = {{AMD reached 103,275 tokens/s")
    assert entry.endswith("}\n}\n")
    assert json.loads(written(citation, "json"))["format"] == "caveat-citation/1"


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def test_hostile_names_break_no_form(name):
    """Lines as before, braces in balance, nothing that a terminal or LaTeX obeys."""
    citation = cite(primary(hostile_run(name)), retrieved=DATE)
    for form in CITATION_FORMS:
        assert all(line.isprintable() for line in written(citation, form).split("\n"))
    assert written(citation, "text").count("\n") == 3
    assert written(citation, "markdown").count("\n") == 3
    assert_bibtex(written(citation, "bibtex"))
    assert not re.search(r"(?<!\\)[<`]", written(citation, "markdown"))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_any_figure_is_cited_or_refused(run):
    """With a reason, and in well-formed BibTeX."""
    for figure in figures_of(run):
        try:
            citation = cite(figure)
        except RefusedError as refusal:
            assert refusal.next
            continue
        assert_bibtex(written(citation, "bibtex"))


def assert_bibtex(entry: str) -> None:
    """One entry of two fields, as BibTeX counts braces: backslashes do not hide them."""
    assert entry.count("\n") == 4
    depth = 0
    for at, character in enumerate(entry):
        depth += (character == "{") - (character == "}")
        assert depth > 0 or at < entry.index("{") or entry[at:] in ("}\n", "\n")
    assert depth == 0
    assert not re.search(r"\\(?![&%$#_]|text[a-z]+\{\})", entry)


def test_an_unknown_form_is_refused_with_those_there_are():
    """Usage, not a traceback."""
    with pytest.raises(UsageError) as refusal:
        written(cite(published()), "docx")
    assert refusal.value.next == "one of text, markdown, bibtex, json"
