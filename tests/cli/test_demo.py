"""caveat demo: everything that it shows stands with its conditions, in an empty folder and again."""

import pytest

from caveat.errors import EXIT_INPUT, EXIT_YES


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_demo_shows_table_verdicts_and_citation(caveat, empty_folder):
    """What `make demo` promises, with conditions at every value."""
    done = caveat("demo")
    assert (done.code, done.err) == (EXIT_YES, "")
    for part in (
        'You were handed "106,517 tokens/s, MI355X".',
        "106,517 tokens/s (loadgen-offline-tokens-rate; AMD, ",
        "benchmark             chips         offline   server   ratio  headroom",
        "v6.1 llama2-70b-99.9  72 x GB300  1,136,100  944,902  0.8317  0.32 0.35\n    CoreWeave ",
        "A private analysis of pairs",
        "NOT-COMPARABLE   no ratio is formed",
        "COMPARABLE-WITH-CAVEATS   left / right = 0.97",
        "AMD reached 106,517 tokens/s on MLPerf® Inference v6.1 Closed llama2-70b-99.9 Offline",
        "[1] MLPerf® Inference v6.1, Closed division",
        "caveat-output-tokens-rate-usage",
    ):
        assert part in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert [path.name for path in empty_folder.iterdir()] == ["caveat-demo"]


def test_a_second_demo_adds_nothing(caveat, empty_folder):
    """And shows the same."""
    first, second = caveat("demo"), caveat("demo")
    assert second.code == EXIT_YES
    assert "\n0 documents of round v6.1 added to caveat-demo/ledger, " in second.out
    tail = "106,517 tokens/s (loadgen"
    until = "And your own endpoint?"  # what is measured is another number each time
    same = [done.out[done.out.index(tail) : done.out.index(until)] for done in (first, second)]
    assert same[0] == same[1]


def test_json_holds_the_same(caveat, empty_folder):
    """Each part in its own shape."""
    said = caveat("demo", "--json").json
    assert said["format"] == "caveat-demo/1"
    assert said["figure"]["conditions"]["submitter"] == "AMD"
    assert said["discount"]["summary"]["n"] == 8
    assert [verdict["verdict"] for verdict in said["verdicts"]] == ["not-comparable", "comparable-with-caveats"]
    assert said["citation"]["text"].startswith("AMD reached 106,517 tokens/s")
    (own,) = said["measured"]["runs"]
    assert own["figures"][0]["conditions"]["review"] == "unverified"


def test_a_place_that_cannot_be_used_is_an_error(caveat, empty_folder):
    """A file where the folder should be."""
    (empty_folder / "taken").write_text("")
    done = caveat("demo", "taken")
    assert (done.code, done.out) == (EXIT_INPUT, "")
    assert done.err.startswith("caveat: ")
