"""The models that ship: they read, simulate, say what they are, and rest on the facts that the package has."""

import msgspec
import pytest

from caveat.errors import InputError, NotFoundError
from caveat.simulator import Roofline, model_named, server_of, shipped_models
from tests.simulator.models import document


@pytest.mark.parametrize("name", shipped_models())
def test_a_shipped_model_can_be_simulated_and_claims_no_more_than_it_may(name):
    """Grade C, nothing validated, nothing left unknown, and a note on what was assumed."""
    model = model_named(name)
    assert (model.name, model.grade, model.not_known) == (name, "C", ())
    assert set(msgspec.structs.asdict(model.validated).values()) == {None}
    assert model.provenance.note
    assert server_of(model).replicas == model.fleet.replicas


def test_a_data_sheet_model_names_the_sources_of_its_facts():
    """Those of the tables, today."""
    steps = model_named("h100x8-llama3.1-70b").step_time
    facts = Roofline(
        accelerator="H100-SXM", model="llama3.1-70b", tensor_parallel=4, precision="fp8", kv_precision="fp8"
    )
    assert steps.replica == facts
    sources = model_named("h100x8-llama3.1-70b").provenance.sources
    assert sources == (facts.hardware.source, facts.shape.source)
    assert model_named("h100x8-llama3.1-70b").scheduler.kv_blocks == facts.kv_tokens() // 16


def test_a_file_goes_before_a_name(tmp_path, monkeypatch):
    """A file of that very name in the folder is what was meant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slots8-small").write_text(document())
    assert model_named("slots8-small").name == "small"


def test_a_name_that_nothing_has_lists_those_that_there_are(tmp_path):
    """And a broken file says what is wrong with it."""
    with pytest.raises(NotFoundError, match="no shipped model") as caught:
        model_named("h200")
    assert "slots8-small" in caught.value.next
    (tmp_path / "bad.toml").write_text("format = 1")
    with pytest.raises(InputError, match=r"bad\.toml"):
        model_named(str(tmp_path / "bad.toml"))
