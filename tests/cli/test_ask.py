"""caveat ask: the questions about a figure or a claim."""

import pytest

from caveat.errors import EXIT_INPUT, EXIT_USAGE, EXIT_YES
from tests.cli.acme import SERVER
from tests.cli.golden import golden


def test_questions_at_a_hundred_columns(caveat, acme):
    """Partners, what to ask and why, what is answered."""
    assert caveat("ask", SERVER) == (EXIT_YES, golden("ask"), "")


def test_the_number_on_the_slide_is_found_first(caveat):
    """Acceptance: one figure of AMD, before any question."""
    done = caveat("ask", "--value", "106517 tokens/s", "--system", "MI355X", "--model", "llama2-70b")
    assert done.code == EXIT_YES
    assert done.out.splitlines()[:4] == [
        "about: 106517 tokens/s MI355X llama2-70b",
        "",
        "it may be one of these published figures (caveat show ID)",
        "  106,517 tokens/s (loadgen-offline-tokens-rate; AMD, smci355-ccs-aus-m13-13 (AS -4126GS-NMR-LCC), 8",
    ]
    said = caveat("ask", "--value", "106517 tokens/s", "--system", "MI355X", "--model", "llama2-70b", "--json").json
    assert len(said["candidates"]) == 1


@pytest.mark.parametrize("argv", [(), (SERVER, "--value", "1 tokens/s"), ("--value", "fast")])
def test_a_figure_or_a_claim_and_not_both(caveat, acme, argv):
    """Usage."""
    assert caveat("ask", *argv).code == EXIT_USAGE


def test_a_figure_that_is_not_there_is_not_found(caveat, acme):
    """Exit 4."""
    assert caveat("ask", "no/such/run").code == EXIT_INPUT
