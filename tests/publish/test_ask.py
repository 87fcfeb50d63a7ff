"""Questions: what is undisclosed is asked, what is known is answered, and a bare number is found again."""

import pytest

from caveat.figures import Figure, figures_of, primary_figure
from caveat.ledger import Ledger
from caveat.publish import Questions, ask_claim, ask_figure, partners_of
from caveat.publish.ask import REPLAY, TABLE
from tests.builders import PUBLISHED, published_run
from tests.cli.acme import acme_runs, own_run


def primary(run) -> Figure:
    figure = primary_figure(run)
    assert figure is not None
    return figure


def acme_figures() -> list[Figure]:
    return [primary(run) for run in acme_runs().values()]


def topics(questions: Questions) -> list[str]:
    return [question.topic for question in questions.ask]


def test_every_question_is_asked_or_answered():
    """Nothing falls between; the replay is always asked."""
    figure, *others = acme_figures()
    questions = ask_figure(figure, others)
    said = {question.topic for question in (*questions.ask, *questions.answered)}
    assert said == {row[0] for row in TABLE} | {REPLAY.topic}
    assert questions.ask[-1] == REPLAY
    assert all(question.answer is None for question in questions.ask)
    assert all(question.answer for question in questions.answered)


def test_what_is_known_is_answered_with_its_conditions():
    """Scenario, loop and arrivals together answer the first question."""
    figure, *others = acme_figures()
    (first,) = [question for question in ask_figure(figure, others).answered if question.topic == "scenario"]
    assert first.answer == "scenario server; loop open; arrivals poisson"


def test_what_is_half_known_is_asked_for_by_name():
    """The known half is given, so that nobody asks twice."""
    figure, *others = acme_figures()
    (asked,) = [question for question in ask_figure(figure, others).ask if question.topic == "software"]
    assert asked.why == "a rate belongs to one tuned stack. Undisclosed: software. Known: engine vLLM 0.20"


def test_the_partner_is_shown_where_it_is_known_and_asked_for_where_not():
    """Offline asks for Server, Server for Offline; a run outside the suite's scenarios for neither."""
    server, offline, rival, _, own = acme_figures()
    assert ask_figure(server, acme_figures()).partners == (str(offline),)
    assert "partner" not in topics(ask_figure(server, acme_figures()))
    for figure, other in ((rival, "Offline"), (offline, "Server")):
        (asked,) = [question for question in ask_figure(figure, [offline, rival]).ask if question.topic == "partner"]
        assert asked.question == f"What does the same system reach under {other}, in the same round?"
    assert "partner" not in topics(ask_figure(own, acme_figures()))


def test_partners_are_the_same_system_and_benchmark_in_another_scenario():
    """Not the figure itself, not another platform, not another metric of the same run."""
    server, offline, *_ = acme_figures()
    everything = [figure for run in acme_runs().values() for figure in figures_of(run)]
    assert partners_of(server, everything) == (offline,)
    assert partners_of(offline, everything) == (server,)


def test_a_claim_asks_everything():
    """Nothing is known of a number on a slide."""
    questions = ask_claim("5 tokens/s", acme_figures(), system="Chip-1")
    assert questions.about == "5 tokens/s Chip-1"
    assert topics(questions) == [*(row[0] for row in TABLE), REPLAY.topic]
    assert (questions.answered, questions.partners, questions.candidates) == ((), (), ())


@pytest.mark.parametrize(
    ("claim", "system", "model", "found"),
    [
        ("100,000 tokens/s", "", "", ["server"]),
        ("100k tok/s", "chip-1", "LLAMA2-70B", ["server"]),
        ("99.9k tok/s", "box-8", "llama2-70b-99.9", ["server"]),
        ("100,000 tokens/s", "MI355X", "", []),
        ("100,000 tokens/s", "", "mixtral", []),
        ("100,000 samples/s", "", "", []),
        ("0 tokens/s", "", "", []),
        ("190000", "Acme rack", "", ["rival"]),
    ],
)
def test_a_claim_finds_the_figures_that_it_may_come_from(claim, system, model, found):
    """By value within half a percent, unit, system and model."""
    names = {str(primary(run)): name for name, run in acme_runs().items()}
    candidates = ask_claim(claim, acme_figures(), system=system, model=model).candidates
    assert [names[candidate] for candidate in candidates] == found


def test_the_nearest_candidate_stands_first():
    """Two results may lie close together."""
    figures = [primary(published_run(value, platform=str(value))) for value in (100_400.0, 100_050.0, 99_900.0)]
    candidates = ask_claim("100,000 tokens/s", figures).candidates
    assert [text.split(" tokens")[0] for text in candidates] == ["100,050", "99,900", "100,400"]


def test_the_number_on_the_slide_is_found_in_the_shipped_set():
    """106,517 tokens/s on MI355X is one published figure."""
    questions = ask_claim("106517 tokens/s", Ledger().figures(), system="MI355X", model="llama2-70b")
    (candidate,) = questions.candidates
    assert candidate.startswith("106,517 tokens/s (loadgen-offline-tokens-rate; AMD, ")
    assert "8 x MI355X, llama2-70b-99.9, offline, v6.1, closed, reviewed" in candidate


def test_questions_ask_only_for_conditions_that_exist():
    """Each line of the table names keys of the conditions."""
    nothing = primary(own_run(**dict.fromkeys(PUBLISHED)))
    assert ask_figure(nothing, []).ask
