"""caveat cite: on standard output the citation and nothing else."""

import pytest

from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from caveat.figures import primary_figure
from caveat.ledger import Ledger
from caveat.publish import CITATION_FORMS, cite, written
from tests.cli.acme import INVALID, SERVER, derived_run

DATE = "2026-11-02"


@pytest.mark.parametrize("form", CITATION_FORMS)
def test_every_form_is_what_publish_writes(caveat, acme, form):
    """So that it can be appended to a file."""
    figure = primary_figure(acme["server"])
    assert figure is not None
    expected = written(cite(figure, retrieved=DATE), form)
    assert caveat("cite", SERVER, "--retrieved", DATE, "--format", form) == (EXIT_YES, expected, "")


def test_json_is_a_form(caveat, acme):
    """Two ways to ask for it."""
    assert caveat("cite", SERVER, "--json") == caveat("cite", SERVER, "--format", "json")


def test_what_the_rules_also_want_is_said_beside_the_citation(caveat, acme):
    """On standard error, for whoever pastes it."""
    assert caveat("cite", SERVER).err == "caveat: the rules also want: retrieval date\n"


def test_an_invalid_run_is_refused(caveat, acme):
    """Exit 1, nothing to paste."""
    done = caveat("cite", INVALID)
    assert (done.code, done.out) == (EXIT_NO, "")
    assert "is not valid (LoadGen calls the run INVALID)" in done.err


def test_a_derived_pair_is_refused(caveat):
    """Exit 1 with the code `refused`."""
    Ledger().add([derived_run()])
    done = caveat("cite", "derived/acme/ratio", "--json")
    assert (done.code, done.json["error"]["code"]) == (EXIT_NO, "refused")


@pytest.mark.parametrize("argv", [("--retrieved", "yesterday"), ("--retrieved", "2026-13-01"), ("--format", "docx")])
def test_what_cannot_be_meant_is_usage(caveat, acme, argv):
    """A date is a date."""
    assert caveat("cite", SERVER, *argv).code == EXIT_USAGE


def test_a_figure_that_is_not_there_is_not_found(caveat, acme):
    """Exit 4."""
    assert caveat("cite", "no/such/run").code == EXIT_INPUT
