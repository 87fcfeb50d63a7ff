"""Settings by key: what may be changed, how values are read, and what a change does to the validated range."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CaveatError, InputError, UsageError
from caveat.simulator import Range, Validated, changed, fleet_of, prefix_hit_of, scheduler_of, server_of
from tests.simulator.models import small


def test_a_change_is_made_and_said():
    """Two settings, each in the notes; what was validated was another model."""
    made = changed(small(), {"fleet.replicas": "8", "fleet.router": "prefix-aware", "scheduler.kv_blocks": "100"})
    assert (made.fleet.replicas, made.fleet.router, made.scheduler.kv_blocks) == (8, "prefix-aware", 100)
    assert made.provenance.note[-3:] == (
        "changed: fleet.replicas 1 -> 8",
        "changed: fleet.router round-robin -> prefix-aware",
        "changed: scheduler.kv_blocks none -> 100",
    )
    assert made.validated == Validated()
    limited = changed(made, {"fleet.limit": "5", "fleet.stale_s": "1.5"})
    assert (server_of(limited).limit, server_of(limited).routing.stale_s) == (5, 1.5)
    assert changed(made, {"scheduler.kv_blocks": "none"}).scheduler.kv_blocks is None


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (small(seats='"unknown"'), {"scheduler.max_num_seqs": "32"}),
        (small(hit="{low = 0.0, high = 0.5}"), {"prefix_hit": "0.25"}),
        (small(hit="{low = 0.0, high = 0.5}"), {"prefix_hit": "{low=0.1, high=0.2}"}),
        (small(), {"scheduler.token_budget": "2048"}),
    ],
)
def test_saying_what_a_file_leaves_open_keeps_its_range(model, settings):
    """An unknown, a value or a narrower range within a range, and the value that was there."""
    assert changed(model, settings).validated == model.validated


def test_a_value_outside_an_open_range_is_a_change():
    """0.6 was never part of 0 to 0.5."""
    assert changed(small(hit="{low = 0.0, high = 0.5}"), {"prefix_hit": "0.6"}).validated == Validated()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("name", "expected a key of scheduler"),
        ("validated.rate_per_s", "expected a key of scheduler"),
        ("fleet.replica", "one of: replicas, router, stale_s"),
        ("scheduler.token_budget.x", "no further keys"),
    ],
)
def test_a_key_that_there_is_not_is_refused_with_those_that_there_are(key, said):
    """Exit 2."""
    with pytest.raises(UsageError, match=said):
        changed(small(), {key: "1"})


@pytest.mark.parametrize(
    ("key", "value"),
    [("fleet.replicas", "0"), ("fleet.replicas", "many"), ("prefix_hit", "1.5"), ("fleet.router", "x")],
)
def test_a_value_that_the_model_refuses_is_refused(key, value):
    """With the key."""
    with pytest.raises(InputError, match=key.split(".")[-1]):
        changed(small(), {key: value})


@given(key=st.text(max_size=30), value=st.text(min_size=1, max_size=60))
def test_hostile_settings_change_nothing_or_are_refused(key, value):
    """Never another exception."""
    with pytest.raises(CaveatError):
        changed(small(), {f"scheduler.{key}.{key}": value})


def test_a_scheduler_from_settings_knows_what_was_said_and_nothing_else():
    """Slots are seats; without either seats are unknown."""
    assert scheduler_of({}).max_num_seqs == "unknown"
    slots = scheduler_of({"static_slots": "8", "context_tokens": "8192"})
    assert (slots.max_num_seqs, slots.static_slots, slots.context_tokens) == (8, 8, 8192)
    with pytest.raises(UsageError, match="expected one of max_num_seqs"):
        scheduler_of({"slots": "8"})
    with pytest.raises(InputError, match="scheduler"):
        scheduler_of({"token_budget": '"x"'})


def test_a_prefix_hit_is_a_share_a_range_or_unknown():
    """Anything else is refused."""
    assert prefix_hit_of("0.3") == 0.3
    assert prefix_hit_of("{low=0.1, high=0.2}") == Range(low=0.1, high=0.2)
    assert prefix_hit_of("unknown") == "unknown"
    with pytest.raises(InputError, match="prefix_hit=maybe"):
        prefix_hit_of("maybe")


def test_a_key_of_a_switch_switches_it_on():
    """One key or several, in any order; what else it needs is asked for; none switches it off again."""
    keys = ("prefill_replicas", "link_bytes_per_s", "kv_bytes_per_token")
    split = {f"fleet.disaggregation.{key}": value for key, value in zip(keys, ("1", "5e10", "1e5"), strict=True)}
    made = changed(
        small(), {**split, "fleet.replicas": "3", "scheduler.speculation": "{draft_tokens=2, acceptance=0.5}"}
    )
    assert made.fleet.disaggregation.link_bytes_per_s == 5e10
    assert "changed: fleet.disaggregation.prefill_replicas none -> 1" in made.provenance.note
    assert changed(made, {"scheduler.speculation.draft_tokens": "3"}).scheduler.speculation.acceptance == 0.5
    off = changed(made, {"fleet.disaggregation": "none"})
    assert (off.fleet.disaggregation, off.fleet.replicas) == (None, 3)
    with pytest.raises(InputError, match="missing required field `link_bytes_per_s`"):
        changed(small(), {"fleet.replicas": "3", "fleet.disaggregation.prefill_replicas": "1"})


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("fleet.disaggregation.prefill", "one of: prefill_replicas, link_bytes_per_s, kv_bytes_per_token"),
        ("fleet.autoscaling.least", "one of: target_outstanding, min_replicas"),
        ("fleet.failures.outages.replica", "no further keys"),
        ("scheduler.speculation.tokens", "one of: draft_tokens, acceptance"),
        ("scheduler.kv_blocks.x", "no further keys"),
    ],
)
def test_the_keys_of_a_switch_that_is_off_are_known(key, said):
    """As those of any table; a number that is left out has none."""
    with pytest.raises(UsageError, match=said):
        changed(small(), {key: "1"})


def test_switches_are_not_calibrated_on():
    """What a run showed is laid to alike replicas."""
    assert fleet_of({"replicas": "4", "router": "random"}).replicas == 4
    with pytest.raises(UsageError, match=r"found fleet\.autoscaling, expected alike replicas") as refused:
        fleet_of({"replicas": "4", "autoscaling": "{target_outstanding=8}"})
    assert "set it when simulating" in refused.value.next
