"""Switches of a fleet in a model file: read, written, refused where they make no sense, off in their limit cases."""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import CaveatError, InputError, UsageError
from caveat.simulator import (
    Disaggregation,
    FleetTable,
    changed,
    decode_model,
    encode_model,
    model_named,
    predict,
    server_of,
)
from caveat.simulator.assembly import FleetShape
from caveat.simulator.fleet_table import ModelsTable
from caveat.simulator.step_models import MeasuredSteps, Pieces
from caveat.workload import Fixed, Limits, Poisson, Separate, Workload
from tests.simulator.models import document, small
from tests.simulator.plans import serve
from tests.simulator.strategies import autoscalings, failure_settings, model_sets, split_pools

FLEET = """
[fleet]
replicas = 6
router = "least-outstanding"

[fleet.disaggregation]
prefill_replicas = 2
kv_bytes_per_token = 131072.0
link_bytes_per_s = 50e9

[fleet.autoscaling]
target_outstanding = 20.0
min_replicas = 2

[fleet.failures]
mean_between_s = 86400.0
outages = [{replica = 5, at_s = 60.0, for_s = 30.0}]
"""
MODELS = """
[fleet]
replicas = 3

[fleet.several_models]
shares = [0.8, 0.2]
replicas = [2, 1]

[[fleet.several_models.others]]
kind = "measured"
piece = {step_s = 0.02, sequence_s = 1e-4}

[fleet.several_models.others.draws]
step_s = "0.019 0.021"
sequence_s = "1e-4 1e-4"
context_token_s = "1e-9 1e-9"
prompt_token_s = "1e-6 1e-6"
overhead_s = "0.1 0.1"
"""


def with_fleet(text):
    return decode_model(document() + text)


@st.composite
def tables(draw):
    """Every switch that a file can hold."""
    replicas = draw(st.integers(2, 5))
    what = draw(st.sampled_from(["neither", "split", "models"]))
    several = draw(model_sets(replicas)) if what == "models" else None
    table = None
    if several is not None:
        same = {name: getattr(several, name) for name in several.__struct_fields__ if name != "others"}
        table = ModelsTable(others=tuple(Pieces(pieces=one.pieces) for one in several.others), **same)
    return FleetTable(
        replicas=replicas,
        disaggregation=draw(split_pools(replicas)) if what == "split" else None,
        several_models=table,
        autoscaling=draw(st.none() | autoscalings),
        failures=draw(st.none() | failure_settings(replicas)),
    )


def test_a_fleet_with_pools_is_read_and_served():
    """Each switch reaches the server as it stands in the file."""
    model = with_fleet(FLEET)
    assert model.fleet.switches == ("disaggregation", "autoscaling", "failures")
    shape = server_of(model).shape
    assert shape == model.shape() == model.fleet.shape()
    assert (shape.disaggregation.prefill_replicas, shape.autoscaling.every_s) == (2, 15.0)
    assert (shape.failures.mean_repair_s, shape.failures.outages[0].for_s) == (600.0, 30.0)
    assert (model.fleet.pools, model.fleet.scales) == (2, True)


def test_other_models_have_steps_of_their_own_with_draws():
    """Draw k of one goes with draw k of the rest; the best guess is the piece itself."""
    model = with_fleet(MODELS)
    assert isinstance(model.fleet.several_models.others[0], MeasuredSteps)
    steps = [server_of(model, draw=draw).shape.several_models.others[0].pieces[0].step_s for draw in (None, 0, 1, 2)]
    assert steps == [0.02, 0.019, 0.021, 0.019]
    assert (model.fleet.pools, model.fleet.scales) == (2, False)


@given(tables())
def test_what_is_written_is_read_again(fleet):
    """Any fleet, through TOML; without its switches it is the plain one."""
    model = msgspec.structs.replace(small(), fleet=fleet)
    assert decode_model(encode_model(model)) == model
    off = {f"fleet.{name}": "none" for name in fleet.switches}
    assert server_of(changed(model, off)).shape == FleetShape()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("min_replicas = 2", "min_replicas = 7", "found 7 of 6 replicas"),
        ("replica = 5", "replica = 6", "found replica 6, expected one from 0 to 5"),
        ("prefill_replicas = 2", "prefill_replicas = 6", "at least one is left to decode"),
        ("kv_bytes_per_token = 131072.0\n", "", "kv_bytes_per_token: found none"),
        ("link_bytes_per_s = 50e9\n", "", "link_bytes_per_s"),
        ("target_outstanding = 20.0", "target_outstanding = 0.0", "expected more than 0"),
        ("mean_between_s = 86400.0", "mean_between_s = 0.0", "expected seconds from"),
        ("min_replicas = 2", "max_replicas = 2", "unknown field `max_replicas`"),
        (
            "[fleet.autoscaling]\n",
            '[fleet.several_models]\nshares = [0.5, 0.5]\nothers = [{kind = "pieces", pieces = [{step_s = 0.1}]}]\n'
            "[fleet.autoscaling]\n",
            "disaggregation with several models",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(old, new, said):
    """Numbers that do not fit the fleet, what is missing, what does not go together."""
    assert FLEET.count(old) == 1
    with pytest.raises(CaveatError, match=said) as refused:
        with_fleet(FLEET.replace(old, new))
    assert refused.value.next


def test_shares_and_replicas_of_models_fit_each_other():
    """As many of each, in sum the whole."""
    for old, new, said in (
        ("[0.8, 0.2]", "[0.8, 0.3]", "that sum to 1"),
        ("replicas = [2, 1]", "replicas = [2, 2]", "expected the fleet's 3"),
    ):
        with pytest.raises(InputError, match=said):
            with_fleet(MODELS.replace(old, new))


def test_a_shape_knows_the_keys_and_values_of_its_tokens():
    """A roofline needs no bytes in the file; a step time alone does."""
    split = {"fleet.replicas": "4", "fleet.disaggregation": "{prefill_replicas=1, link_bytes_per_s=50e9}"}
    model = changed(model_named("h100x8-llama3.1-70b"), split)
    assert model.shape().disaggregation.kv_bytes_per_token == model.step_time.replica.kv_bytes_per_token
    assert model.fleet.disaggregation.kv_bytes_per_token is None
    with pytest.raises(InputError, match="kv_bytes_per_token: found none"):
        changed(small(), split)
    with pytest.raises(InputError, match="kv_bytes_per_token: found none"):
        FleetShape(disaggregation=Disaggregation(prefill_replicas=1, link_bytes_per_s=1e9)).check(2)


PLAN = Workload(
    arrivals=Poisson(rate_qps=20.0),
    lengths=Separate(input=Fixed(100), output=Fixed(30)),
    seed=3,
    limits=Limits(requests=300),
).plan()


def predicted(**fleet):
    model = changed(small(), {"fleet.replicas": "3", **{f"fleet.{name}": value for name, value in fleet.items()}})
    return predict(model, PLAN, np.random.default_rng(0), subject="x", draws=3, extrapolate=True)


@pytest.mark.parametrize(
    "switch",
    [
        {"autoscaling": "{target_outstanding=1.0, min_replicas=3, every_s=0.1}"},
        {"failures": "{retries=3}"},
        {"several_models": "{others=[{kind='pieces', pieces=[{step_s=9}]}], shares=[1.0, 0.0], swap_s=60}"},
    ],
    ids=["as many at least as at most", "a rate of no failures", "one model asked for everything"],
)
def test_in_its_limit_case_a_switch_changes_no_figure(switch):
    """Row by row, to the last bit, with all draws."""
    assert predicted(**switch).run.rows == predicted().run.rows


def test_an_autoscaled_fleet_is_loaded_at_its_least_and_at_its_most():
    """Alike where both are one; else the least replicas are said beside, and nobody counts on those that come late."""
    fixed = predicted()
    same = predicted(autoscaling="{target_outstanding=1.0, min_replicas=3}")
    assert same.load.fraction == same.load.at_least == fixed.load.fraction
    few = predicted(autoscaling="{target_outstanding=5.0, min_replicas=1, every_s=0.5, provisioning_s=1}")
    assert few.load.fraction == fixed.load.fraction
    assert few.load.at_least.median == pytest.approx(3 * fixed.load.fraction.median)
    assert few.unpredictable is None
    assert few.run.conditions.numbers("load_fraction")["fewest replicas"] == few.load.at_least.median


def test_switches_are_conditions_of_the_run():
    """Techniques on or off, and the fleet in words."""
    c = predicted(disaggregation="{prefill_replicas=1, kv_bytes_per_token=1e5, link_bytes_per_s=1e10}").run.conditions
    assert (c.text("disaggregation"), c.text("multi_model_routing")) == ("on", "off")
    assert (
        c.text("parallelism") == "3 replicas behind round-robin; 1 compute prompts, 2 answer; 1 x 10 GB/s between them"
    )
    load = c.numbers("load_fraction")
    assert {"prefill pool", "decode pool", "links"} < load.keys()
    assert load["median"] == max(load[name] for name in ("prefill pool", "decode pool", "links"))


def test_conflicts_are_usage_errors_from_the_command_line():
    """Exit 2: disaggregation beside several models."""
    with pytest.raises(UsageError, match="expected one of them"):
        predicted(
            disaggregation="{prefill_replicas=1, kv_bytes_per_token=1e5, link_bytes_per_s=1e10}",
            several_models="{others=[{kind='pieces', pieces=[{step_s=9}]}], shares=[0.5, 0.5]}",
        )


def test_the_fleets_of_the_page_are_ones():
    """Each in the place of the fleet of the page's whole document, and served."""
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    whole, *fleets = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^\[fleet\]\n(?:\w.*\n)+", "", whole, flags=re.MULTILINE)
    models = [decode_model(rest + fleet) for fleet in fleets]
    assert [one.fleet.switches for one in models] == [
        ("disaggregation", "autoscaling", "failures"),
        ("several_models",),
    ]  # fmt: skip
    for model in models:
        server = server_of(model)
        assert len(serve(server, PLAN).table) == 300 and not server.shape.plain


HUGE = "{others=[{kind='pieces', pieces=[{step_s=1e308}]}], shares=[0.5, 0.5]}"
NOTHING = "{others=[{kind='pieces', pieces=[{step_s=0}]}], shares=[0.5, 0.5], swap_s=1e6}"


@pytest.mark.parametrize(
    ("fleet", "refused"),
    [
        ({"disaggregation": "{prefill_replicas=1, kv_bytes_per_token=1e308, link_bytes_per_s=1}"}, True),
        ({"disaggregation": "{prefill_replicas=1, kv_bytes_per_token=1, link_bytes_per_s=1, latency_s=1e308}"}, True),
        ({"autoscaling": "{target_outstanding=1, provisioning_s=1e308}"}, True),
        ({"autoscaling": "{target_outstanding=nan}"}, True),
        ({"several_models": HUGE}, True),
        ({"autoscaling": "{target_outstanding=5e-324, every_s=0.5}"}, False),
        ({"several_models": NOTHING}, False),
        ({"failures": "{outages=[{replica=0, at_s=1e9, for_s=1e9}]}"}, False),
    ],
)
def test_numbers_beyond_sense_are_refused_or_served(fleet, refused):
    """Never an overflow, nor a division by nothing."""
    if refused:
        with pytest.raises(InputError):
            predicted(**fleet)
    else:
        assert predicted(**fleet).load.capacity.rate_per_s.median > 0
