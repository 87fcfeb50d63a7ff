"""What a model discloses: one fleet in words, and nothing that is true of a part of it only."""

import pytest

from caveat.simulator import changed, model_named
from caveat.simulator.disclosed import fleet_words, hardware_of
from tests.simulator.models import small

ROOFLINE = "h100x8-llama3.1-70b"
OTHER = "{kind='pieces', pieces=[{step_s=0.1}]}"


def with_fleet(model, **fleet):
    return changed(model, {"fleet.replicas": "4", **{f"fleet.{name}": value for name, value in fleet.items()}})


def test_alike_replicas_are_counted():
    """A roofline knows its accelerators; a step time alone says nothing of them."""
    found = hardware_of(with_fleet(model_named(ROOFLINE)))
    assert (found["accelerators"], found["parallelism"]) == (16, "4 replicas of 4 accelerators")
    assert hardware_of(with_fleet(small())) == {"model": "small"}


def test_a_fleet_that_grows_has_no_one_number_of_accelerators():
    """Unless it cannot."""
    scaled = with_fleet(model_named(ROOFLINE), autoscaling="{target_outstanding=8}")
    assert hardware_of(scaled)["accelerators"] is None
    assert hardware_of(scaled)["parallelism"] == (
        "4 replicas of 4 accelerators behind round-robin; from 1 as requests come, one for 8 of them, ready after 120 s"
    )
    fixed = with_fleet(model_named(ROOFLINE), autoscaling="{target_outstanding=8, min_replicas=4}")
    assert hardware_of(fixed)["accelerators"] == 16


def test_of_several_models_nothing_is_said_that_is_true_of_one():
    """Neither precision nor size; the names where all have one."""
    two = with_fleet(model_named(ROOFLINE), several_models=f"{{others=[{OTHER}], shares=[0.7, 0.3], replicas=[3, 1]}}")
    assert hardware_of(two) == {
        "model": ROOFLINE,
        "parallelism": "4 replicas behind round-robin; 2 models with shares 0.7/0.3, on 3/1",
    }


@pytest.mark.parametrize(
    ("fleet", "words"),
    [
        (
            {"disaggregation": "{prefill_replicas=1, kv_bytes_per_token=1e5, link_bytes_per_s=2.5e10, links=2}"},
            "1 compute prompts, 3 answer; 2 x 25 GB/s between them",
        ),
        ({"several_models": f"{{others=[{OTHER}], shares=[0.5, 0.5], swap_s=20}}"}, "shares 0.5/0.5, 20 s to swap"),
        (
            {"failures": "{mean_between_s=86400, outages=[{replica=0, at_s=9}]}"},
            "each fails about every 86400 s and is back after about 600 s; planned outages: 1",
        ),
    ],
)
def test_every_switch_has_its_words(fleet, words):
    """Numbers as they were given."""
    assert fleet_words(with_fleet(small(), **fleet).fleet).endswith(words)
