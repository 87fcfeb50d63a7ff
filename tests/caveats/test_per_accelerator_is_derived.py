import pytest

from caveat.caveats.per_accelerator_is_derived import CAVEAT
from tests.builders import published_run
from tests.caveats.cases import contested


def test_two_sizes_of_one_kind_show_what_scale_does():
    """Eight make 800, sixty-four make 4,800: three quarters are kept. Contested, mixed and unknown counts stay out."""
    runs = (
        published_run(800.0, platform="a", accelerators=8),
        published_run(3000.0, platform="b", accelerators=32),
        published_run(4800.0, platform="c", accelerators=64),
        published_run(platform="d", accelerators=None),
        published_run(platform="e", accelerators=16, accelerator="MI355X+MI325X"),
        contested(),
    )
    evidence = CAVEAT.evidence(runs)
    assert evidence.numbers == {"n": 1, "lowest": pytest.approx(0.75), "median": pytest.approx(0.75), "highest": 0.75}
    assert evidence.tables[0].rows == (("v6.1", "AMD", "MI355X", "llama2-70b-99.9", "server", "8 and 64", "0.75"),)


def test_a_ratio_per_accelerator_never_stands_without_its_basis():
    """The sentence that the publisher's rules ask for is in the words around the evidence."""
    assert "{basis}" in CAVEAT.shown
    assert "not the primary metric" in CAVEAT.given["basis"]


def test_many_systems_show_both_ends_of_the_range():
    """Five from either end, not all of them."""
    runs = [
        published_run(float(size * 100 + at), platform=f"{at}-{size}", submitter=f"S{at:02}", accelerators=size)
        for at in range(12)
        for size in (8, 16)
    ]
    evidence = CAVEAT.evidence(runs)
    assert evidence.numbers["n"] == 12
    assert len(evidence.tables[0].rows) == 10


def test_two_forms_of_one_family_are_not_two_sizes_of_one_kind():
    """Four NVL and eight SXM parts of one family say nothing about scale."""
    runs = (
        published_run(400.0, platform="a", accelerators=4, accelerator="H100", accelerator_stated="H100-NVL-94GB"),
        published_run(1600.0, platform="b", accelerators=8, accelerator="H100", accelerator_stated="H100-SXM-80GB"),
    )
    assert CAVEAT.evidence(runs).numbers["n"] == 0
