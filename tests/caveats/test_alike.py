from caveat.caveats.alike import of_like_hardware, partner_key, published_once, spread
from tests.builders import published_run
from tests.caveats.cases import INVALID, LENGTH, offline


def test_partners_share_system_model_and_round():
    """The scenario is what differs."""
    assert partner_key(offline()) == partner_key(published_run())
    assert partner_key(offline()) != partner_key(published_run(platform="other"))
    assert partner_key(offline()) != partner_key(published_run(benchmark="llama3.1-8b"))


def test_only_published_rates_that_nothing_speaks_against_count():
    """An invalid run, a run without a primary metric and a primary that is no rate are left out."""
    good = published_run(rows=(LENGTH,))
    bad = published_run(validity=INVALID, platform="bad")
    length = published_run(280.0, metric="tokens-per-sample.mean", platform="length")
    assert [f.run for f in published_once((good, bad, length))] == [good]


def test_like_hardware_is_the_same_kind_and_number_in_one_contest():
    """Four rivals: one has more accelerators, one is open, so two remain; an unknown count belongs nowhere."""
    runs = (
        published_run(100.0, platform="a"),
        published_run(120.0, platform="b"),
        published_run(platform="c", accelerators=16),
        published_run(platform="d", division="open"),
        published_run(platform="e", accelerators=None),
        published_run(platform="f", accelerators=None),
    )
    (group,) = of_like_hardware(runs)
    assert [f.conditions.text("platform") for f in group] == ["a", "b"]
    assert spread(group) == 1.2


def test_two_forms_of_one_family_are_two_kinds_of_hardware():
    """An SXM part beside a PCIe and an NVL part of the same name: only the two SXM results are alike."""
    stated = ("NVIDIA H100-SXM-80GB", "NVIDIA H100 SXM5 80GB", "NVIDIA H100-PCIe-80GB", "NVIDIA H100-NVL-94GB")
    runs = [published_run(platform=text, accelerator="H100", accelerator_stated=text) for text in stated]
    (group,) = of_like_hardware(runs)
    assert {f.conditions.text("platform") for f in group} == set(stated[:2])


def test_a_run_tuned_for_power_is_no_yardstick_of_speed():
    """Two performance runs are alike; the power run of the same box stands apart."""
    runs = [published_run(platform=name, power_run=name == "MaxQ") for name in ("a", "b", "MaxQ")]
    (group,) = of_like_hardware(runs)
    assert [f.conditions.text("platform") for f in group] == ["a", "b"]
