"""caveat show: one figure whole."""

import json

from caveat.errors import EXIT_INPUT, EXIT_YES
from caveat.figures import Figure
from caveat.ledger import Ledger
from caveat.publish import figure_json
from tests.builders import published_run
from tests.cli.acme import ACME, OFFLINE, SERVER
from tests.cli.golden import golden, settled


def test_the_card_at_a_hundred_columns(caveat, acme):
    """Head, validity, conditions, provenance; the lists that grow with their tables are tested where they are kept."""
    done = caveat("show", "bench/acme/monday")
    above, _, rest = settled(done.out).partition("\nundisclosed\n")
    _, _, below = rest.partition("\n\n")
    assert (done.code, done.err) == (EXIT_YES, "")
    below, _, said = below.partition("caveats\n")
    assert f"{above}\n\n{below}" == golden("show")
    assert said.startswith("self-reported: ")


def test_a_figure_has_many_names(caveat, acme):
    """Subject, end of a subject, id, prefix, prefix with metric."""
    id = acme["server"].id
    texts = {
        caveat("show", name).out
        for name in (acme["server"].subject, SERVER, id, id[:10], f"{id[:10]}.loadgen-completed-tokens-rate")
    }
    assert len(texts) == 1


def test_json_is_the_figure_with_partners_and_history(caveat, acme):
    """The documented shape, its partner by its side."""
    said = caveat("show", SERVER, "--json").json
    figure = Figure(acme["server"], "loadgen-completed-tokens-rate")
    assert {key: said[key] for key in said if key not in ("partners", "history")} == plain(figure_json(figure))
    assert [partner["subject"] for partner in said["partners"]] == [acme["offline"].subject]
    assert said["history"] == [{"id": acme["server"].id, "replaces": None}]


def plain(content):
    return json.loads(json.dumps(content))


def test_versions_are_shown_where_there_are_several(caveat, acme):
    """Old ids resolve, and the screen says which one it is."""
    log = published_run(
        110_000.0,
        scenario="offline",
        sha256="11",
        target_qps=400.0,
        **{**ACME, "ttft_limit_s": None},
        tpot_limit_s=None,
    )
    (new,) = Ledger().add([log]).added
    old = acme["offline"].id
    assert f"\nversions: {old[:10]} -> {new[:10]} (this)\n" in caveat("show", OFFLINE).out
    assert f"\nversions: {old[:10]} (this) -> {new[:10]}\n" in caveat("show", old).out
    assert caveat("show", OFFLINE, "--json").json["history"] == [
        {"id": old, "replaces": None},
        {"id": new, "replaces": old},
    ]


def test_what_is_not_there_is_not_found(caveat, acme):
    """And a name that several answer to says which."""
    done = caveat("show", "no/such/run", "--json")
    assert (done.code, done.json["error"]["code"]) == (EXIT_INPUT, "not-found")
    done = caveat("show", "server/run_1", "--json")
    assert (done.code, done.json["error"]["code"]) == (EXIT_INPUT, "ambiguous")
