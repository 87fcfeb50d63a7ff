from caveat.caveats.techniques_undisclosed import CAVEAT, TECHNIQUES
from tests.builders import published_run


def test_every_technique_is_counted_by_what_is_said_about_it():
    """Silence is its own column."""
    runs = (published_run(), published_run(platform="b", speculative_decoding="on"))
    evidence = CAVEAT.evidence(runs)
    rows = {row[0]: row[1:] for row in evidence.tables[0].rows}
    assert len(rows) == len(TECHNIQUES)
    assert rows["prefix caching"] == ("0", "2", "0", "0")
    assert rows["speculative decoding"] == ("1", "0", "1", "0")
    assert rows["chunked prefill"] == ("0", "0", "2", "0")
    assert evidence.numbers["complete"] == 0
