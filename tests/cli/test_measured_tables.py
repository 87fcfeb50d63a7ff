"""The tables of a run: percentiles side by side, what is absent by name, checks by outcome."""

import msgspec

from caveat.cli.measured_tables import print_checks, print_main_tables
from caveat.figures import Check, Row, Spread, conditions_of
from tests.publish.drawn import HOSTILE, point

RUN = msgspec.structs.replace(
    point(8, 400, 0.0125),
    rows=(
        Row(metric="caveat-ttft.p50", value=0.2, n=98, spread=Spread(low=0.19, high=1.2, method="m")),
        Row(metric="caveat-ttft.p95", value=0.3, n=98),
        Row(metric="caveat-request-rate", value=4.0, n=98),
    ),
    notes=("absent: caveat-ttft.p99, caveat-ttft-sent.p99: found 98", "absent: caveat-ttft-all.p99: other", HOSTILE),
    primary="caveat-request-rate",
)


def test_what_is_absent_says_so_in_its_place_and_below(capsys):
    """Of the latencies that the table shows; a definition without any value has no row."""
    print_main_tables(RUN, scenario=False)
    out = capsys.readouterr().out
    first, below = (line.split() for line in out.splitlines()[3:5])
    assert first == ["TTFT", "200", "ms", "absent", "absent", "98"]
    assert below == ["caveat-ttft", "190", "ms", "to", "1.2", "s"]
    assert "TPOT" not in out
    assert out.endswith("caveat-request-rate  4 requests/s            98\nabsent: caveat-ttft p99: found 98\n")


def test_the_percentile_of_the_limits_has_a_column(capsys):
    """Between the usual ones; at a hundred columns there is room for four."""
    print_main_tables(
        msgspec.structs.replace(RUN, conditions=conditions_of({"limit_percentile": 0.95})), scenario=False
    )
    head, _, first, *_ = capsys.readouterr().out.splitlines()[1:]
    assert head.split() == ["latency", "p50", "p90", "p95", "p99", "n"]
    assert first.split() == ["TTFT", "200", "ms", "absent", "300", "ms", "absent", "98"]


def test_a_run_without_a_figure_has_no_table(capsys):
    """No head without a line below it."""
    print_main_tables(msgspec.structs.replace(RUN, rows=(), notes=(), primary=None), scenario=True)
    assert capsys.readouterr().out == ""


def test_what_passed_takes_one_line(capsys):
    """What failed stands first, then what is undecided; hostile text does nothing."""
    checks = (
        Check(aspect="client health", outcome="pass"),
        Check(aspect="arrivals", outcome="unknown", sentence=HOSTILE),
        Check(aspect="client health", outcome="pass"),
        Check(aspect="error rate", outcome="fail", sentence="9 failed."),
        Check(aspect="accuracy", outcome="not applicable"),
    )
    print_checks(msgspec.structs.replace(RUN, validity=checks))
    lines = capsys.readouterr().out.splitlines()
    assert [line[:14].rstrip() for line in lines if line[:2] in ("NO", "? ")] == ["NO  error rate", "?   arrivals"]
    assert lines[-2:] == ["ok  passed: client health (2)", "-   not applicable: accuracy"]
    assert all(line.isprintable() for line in lines)
