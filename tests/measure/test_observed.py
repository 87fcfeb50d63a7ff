"""observed: a percentile without an interval is shown as words, and is no figure."""

import msgspec
import numpy as np

from caveat.figures import Provenance
from caveat.measure import observed_words, run_of, summarize
from tests.measure.samples import samples


def run_with(latency_s):
    found = summarize(samples(np.arange(len(latency_s)), latency_s), workload={})
    return run_of(found, subject="x", provenance=Provenance(origin="measured"), conditions={})


RUN = run_with(0.2 + 0.0125 * np.arange(320))


def test_a_percentile_without_an_interval_is_observed_and_no_row():
    """A queue that grows: 320 requests tell as much as a few, and their median is 2.19 s."""
    words = observed_words(RUN)
    assert (words["caveat-latency.p50"], words["caveat-latency.p90"]) == ("2.19 s", "3.79 s")
    assert RUN.row("caveat-latency.p50") is None
    assert any(note.startswith("observed, no interval: caveat-latency p50 2.19 s; p90 3.79 s") for note in RUN.notes)


def test_a_percentile_that_is_only_the_greatest_value_is_not_observed():
    """p99.9 of 320 requests is their maximum, which has a row of its own."""
    assert "caveat-latency.p99.9" not in observed_words(RUN)
    assert "caveat-latency.p99" in observed_words(RUN)


def test_what_was_observed_does_not_make_the_run_another():
    """Notes are not part of the id."""
    assert msgspec.structs.replace(RUN, notes=()).id == RUN.id


def test_a_figure_needs_no_observation():
    """A thousand independent requests have their p99."""
    run = run_with(np.random.default_rng(1).gamma(4, 0.1, 1000))
    assert run.row("caveat-latency.p99") is not None
    assert "caveat-latency.p99" not in observed_words(run)


def test_a_note_of_somebody_else_is_no_observation():
    """Unknown keys, no words, a metric that has a figure: nothing is made of them."""
    head = "observed, no interval: "
    notes = (f"{head}caveat-nothing p50 3 s", f"{head}caveat-latency p50", head, f"{head}caveat-error-rate x y; ; p50")
    assert observed_words(msgspec.structs.replace(RUN, notes=notes)) == {}
