"""provenance: sources with ranks, and origins that say enough."""

import pytest

from caveat.errors import DocumentError
from caveat.figures import SOURCE_KINDS, Provenance, Source


def test_a_log_is_richer_than_the_summary_made_from_it():
    """Samples first, folder names last: where two disagree the earlier kind is believed."""
    assert Source(kind="samples", path="s.parquet").rank == 0
    assert [Source(kind=kind, path="").rank for kind in SOURCE_KINDS] == list(range(len(SOURCE_KINDS)))
    log, table = Source(kind="log-detail", path="log.txt"), Source(kind="published-summary", path="summary.csv")
    assert log.rank < table.rank


def test_a_kind_of_source_that_nobody_ranked_is_refused():
    """It could not be believed more or less than any other."""
    with pytest.raises(DocumentError, match="source: found kind 'hearsay', expected one of samples, log-summary"):
        Source(kind="hearsay", path="x")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"origin": "guessed"}, "origin: found 'guessed', expected one of measured, simulated, imported, derived"),
        ({"origin": "imported"}, "found an imported run without sources, expected at least one"),
        ({"origin": "derived"}, "found a derived run without formula or inputs, expected both"),
        ({"origin": "derived", "formula": "a / b"}, "found a derived run without formula or inputs"),
        ({"origin": "derived", "inputs": ("a", "b")}, "found a derived run without formula or inputs"),
    ],
)
def test_an_origin_brings_what_it_needs(fields, message):
    """Imported needs a source, derived its formula and inputs."""
    with pytest.raises(DocumentError, match=message):
        Provenance(**fields)


def test_measured_and_simulated_runs_may_stand_without_files():
    """Their source is the run itself."""
    assert Provenance(origin="measured").sources == ()
    assert Provenance(origin="simulated").tool == "caveat"
