"""caveat explain: the catalogue, one page, or what applies to a figure."""

from caveat.caveats import CATALOGUE, sentences
from caveat.errors import EXIT_INPUT, EXIT_YES
from caveat.figures import Figure
from tests.cli.acme import SERVER


def test_the_catalogue_lists_every_caveat(caveat):
    """A line each."""
    done = caveat("explain")
    assert done.code == EXIT_YES
    assert [caveat.id for caveat in CATALOGUE if f"\n{caveat.id} " not in done.out] == []
    said = caveat("explain", "--json").json
    assert said == {
        "format": "caveat-catalogue/1",
        "caveats": [{"id": caveat.id, "title": caveat.title} for caveat in CATALOGUE],
    }


def test_a_page_has_its_evidence(caveat, acme):
    """Computed from the ledger that is there."""
    done = caveat("explain", "offline-is-not-serving")
    assert done.code == EXIT_YES
    for part in ("What is often concluded", "What to do instead", "Evidence from this ledger", "Computed from"):
        assert part in done.out
    said = caveat("explain", "offline-is-not-serving", "--json").json
    assert (said["format"], said["id"]) == ("caveat-explain/1", "offline-is-not-serving")
    assert sum(said["evidence"]["counted"].values()) > 0


def test_a_figure_has_all_that_apply(caveat, acme):
    """With their sentences."""
    figure = Figure(acme["server"], "loadgen-completed-tokens-rate")
    said = caveat("explain", SERVER, "--json").json
    assert said["caveats"] == [{"id": name, "sentence": sentence} for name, sentence in sentences(figure)]
    text = caveat("explain", acme["server"].id[:10]).out
    assert all(f"\n  {name}: " in text for name, _ in sentences(figure))


def test_a_caveat_that_is_misspelt_is_not_found(caveat):
    """With the nearest."""
    done = caveat("explain", "offline-is-serving", "--json")
    assert done.code == EXIT_INPUT
    assert done.json["error"]["code"] == "not-found"
    assert "offline-is-not-serving" in done.json["error"]["next"]
