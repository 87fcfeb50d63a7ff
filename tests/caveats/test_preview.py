from typing import Any

from caveat.caveats.preview import CAVEAT
from tests.builders import published_run

PREVIEW: dict[str, Any] = {"availability": "preview", "round": "v5.1"}


def test_a_preview_is_held_against_the_next_available_result():
    """The next round counts, not a later one; other hardware and other submitters do not."""
    runs = (
        published_run(100.0, platform="a", **PREVIEW),
        published_run(97.0, platform="a", round="v6.0"),
        published_run(150.0, platform="a", round="v6.1"),
        published_run(100.0, platform="b", submitter="other", **PREVIEW),
        published_run(100.0, platform="c", accelerators=16, **PREVIEW),
        published_run(100.0, platform="d", availability="rdi", round="v5.1", submitter="lab"),
    )
    evidence = CAVEAT.evidence(runs)
    assert evidence.numbers == {"n": 4, "of": 6, "followed": 1, "short": 1}
    assert evidence.tables[0].rows == (("v5.1", "preview", "3"), ("v5.1", "rdi", "1"))
    assert evidence.tables[1].rows == (("v5.1", "v6.0", "8 x MI355X", "llama2-70b-99.9", "server", "0.97"),)
