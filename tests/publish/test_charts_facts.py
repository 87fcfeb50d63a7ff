"""publish.charts_facts: what is said of a distribution beside its curve."""

import msgspec
import pytest

from caveat.figures import Figure, Row, Spread
from caveat.publish.charts_facts import facts, limit_of, percentiles, why_absent
from tests.publish.drawn import run


def told(rows, notes=()):
    """The words beside TTFT of the drawn run with these rows and notes."""
    figure, series = run()
    others = tuple(row for row in figure.run.rows if not row.metric.startswith("caveat-ttft."))
    changed = msgspec.structs.replace(figure.run, rows=(*others, *rows), notes=tuple(notes))
    return facts(Figure(changed, figure.metric.key), series.cdf("caveat-ttft"))


def row(name, value, *, spread=True):
    """A percentile of TTFT."""
    between = Spread(low=value * 0.9, high=value * 1.1, method="m") if spread else None
    return Row(metric=f"caveat-ttft.{name}", value=value, n=30, spread=between)


def test_percentiles_with_an_interval_are_listed():
    """In the unit that suits each."""
    assert told([row("p50", 0.05), row("p90", 0.9), row("p99", 2.0)]) == "p50 50 ms, p90 900 ms, p99 2 s"


def test_what_has_no_interval_is_called_observed():
    """As a row, or as a note of the run where it is no figure."""
    rest = [row("p90", 0.9), row("p99", 2.0)]
    said = "p90 900 ms, p99 2 s; p50 50 ms observed, no interval"
    assert told([row("p50", 0.05, spread=False), *rest]) == said
    assert told(rest, ["observed, no interval: caveat-ttft p50 50 ms"]) == said


def test_what_is_absent_says_how_many_requests_there_were_of_how_many():
    """Independent ones, where their answers were alike."""
    notes = [
        "absent: caveat-ttft.p50, caveat-latency.p50: found 336 requests tell as much as 3 independent ones, "
        "expected 6 for an interval at 95 %",
        "absent: caveat-ttft.p99: found 336 requests, expected 3,688 for an interval at 95 %",
    ]
    assert (
        told([row("p90", 0.9)], notes)
        == "p90 900 ms; too few independent requests for p50 (3 of 6), p99 (336 of 3,688)"
    )


def test_the_reasons_are_those_that_the_statistics_write():
    """Twenty-eight requests have no p99: the words are read, not guessed."""
    figure, series = run()
    assert why_absent(figure.run, "caveat-ttft.p99").startswith("found 28 requests")
    assert "p99 (28 of 368)" in facts(figure, series.cdf("caveat-ttft"))


def test_another_reason_stands_as_it_is():
    """And without one nothing is made up."""
    rest = [row("p50", 0.05), row("p90", 0.9)]
    assert told(rest, ["absent: caveat-ttft.p99: no first token was seen"]).endswith(
        "p99 absent: no first token was seen"
    )
    assert told(rest).endswith("; p99 absent")


def test_a_percentile_stands_where_the_curve_has_it():
    """Two of thirty never had a first token, so that the median of the others is at 28 / 60."""
    figure, series = run()
    (median,) = [one for one in percentiles(figure, series.cdf("caveat-ttft")) if one.name == "p50"]
    assert median.share == pytest.approx(0.5 * 28 / 30)


def test_a_limit_says_its_percentile():
    """And there is none where the conditions have none."""
    figure, _ = run()
    assert limit_of(figure, "ttft") == (0.08, "limit 80 ms at p90")
    assert (limit_of(figure, "tpot"), limit_of(figure, "")) == (None, None)
