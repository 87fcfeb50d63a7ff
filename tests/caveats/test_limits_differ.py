from caveat.caveats.limits_differ import CAVEAT
from caveat.facts import limits
from caveat.figures import Check
from tests.builders import published_run
from tests.caveats.cases import figure, offline


def test_the_limits_of_the_rules_stand_there_without_any_figure():
    """Every limit that the facts know has its line, with the rounds that have it."""
    (table,) = CAVEAT.evidence(()).rules
    lines = {(row[0], row[1]): row for row in table.rows}
    assert lines["llama2-70b", "server"][3:5] == ("2 s", "200 ms")
    assert lines["gptj", "server"][3:6] == ("", "", "20 s")
    found = limits("gpt-oss-120b", "v6.1", "interactive")
    assert found is not None
    assert lines["gpt-oss-120b", "interactive"][6] == found.note
    assert all(row[2] for row in table.rows)


def test_figures_are_counted_by_the_limits_that_they_state():
    """Two sets of limits, one figure without; Offline has none and does not count."""
    runs = (
        published_run(limit_percentile=0.99),
        published_run(scenario="interactive", limit_percentile=0.99, ttft_limit_s=0.45, tpot_limit_s=0.04),
        published_run(platform="open", ttft_limit_s=None, tpot_limit_s=None),
        offline(),
    )
    evidence = CAVEAT.evidence(runs)
    assert evidence.numbers == {"n": 2, "sets": 2, "without": 1}
    assert evidence.tables[0].rows == (
        ("interactive", "p99 TTFT 450 ms, TPOT 40 ms", "llama2-70b-99.9", "1"),
        ("server", "p99 TTFT 2 s, TPOT 200 ms", "llama2-70b-99.9", "1"),
    )


def test_a_run_that_is_invalid_for_another_reason_did_not_miss_its_limits():
    """The sentence says which of the two it is."""
    late = Check(aspect="client health", outcome="fail", sentence="late")
    over = Check(aspect="latency limits", outcome="fail", sentence="over")
    starts = [CAVEAT.sentence(figure(validity=checks)).partition(" (")[0] for checks in ((), (late,), (late, over))]
    assert starts == [
        "Judged under its own limits",
        "Not valid, and judged under its own limits",
        "Missed its own limits",
    ]
