"""The JSON that vendors write by hand."""

import json

import pytest

from caveat.figures import Claim
from caveat.importers.mlperf.descriptions import read_measurement, read_model_mapping, read_system
from tests.importers.loadgen_files import MEASUREMENT, SYSTEM


@pytest.fixture
def system(tmp_path):
    def reading(content, platform="H200-SXM-141GBx8"):
        path = tmp_path / "box.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return read_system(path, "closed/Acme/systems/box.json", platform)

    return reading


def test_a_description_becomes_conditions(system):
    """Placeholders and empty fields say nothing; numbers may be digits in quotes."""
    assert system(SYSTEM).values == {
        "system": "Acme box (8x H200-SXM-141GB)",
        "accelerator_stated": "NVIDIA H200-SXM-141GB",
        "accelerator_memory": "141 GB",
        "host_processor": "Some CPU",
        "engine": "vLLM 0.10.0",
        "software": "cuda_version 12.9",
        "operating_system": "Ubuntu 24.04",
        "accelerator": "H200",
        "availability": "available",
        "system_type": "datacenter",
        "nodes": 1,
        "accelerators_per_node": 8,
        "accelerators": 8,
        "host_processors_per_node": 2,
    }


def test_a_count_that_sources_dispute_keeps_every_claim(system):
    """11 nodes of 8 and a text of 87 are both kept."""
    fields = {
        **SYSTEM,
        "number_of_nodes": "11",
        "accelerator_model_name": "AMD Instinct MI355X 288GB HBM3e (x87)",
        "system_name": "Custom Cluster",
    }
    found = system(fields, "87xMI355X_22xEPYC_9575F")
    assert found.values["accelerators"] == 88
    assert found.claims["accelerators"] == (
        Claim(88, "nodes x accelerators per node"),
        Claim(87, "accelerator text"),
        Claim(87, "platform name"),
    )


def test_a_system_of_processors_only_has_no_accelerators_that_could_be_counted(system):
    """Zero is not a count here: the keys do not apply."""
    found = system({**SYSTEM, "accelerators_per_node": "0", "accelerator_model_name": "N/A"}, "1-node-2S-EMR")
    assert {"accelerator", "accelerators", "accelerator_stated"} <= set(found.not_applicable)
    assert "accelerators" not in found.values


def test_missing_counts_stay_undisclosed(system):
    """One real file has no number of nodes at all."""
    found = system({**SYSTEM, "number_of_nodes": None})
    assert {"nodes", "accelerators"}.isdisjoint(found.values)


def test_the_means_of_several_nodes_are_asked_only_of_several_nodes(system):
    """A single box with Dynamo in its stack is no cluster."""
    fields = {**SYSTEM, "framework": "NVIDIA Dynamo 0.8"}
    assert "multi_node" not in system(fields).values
    assert system({**fields, "number_of_nodes": 18}).values["multi_node"] == "Dynamo"


def test_numbers_that_are_none_and_repeated_keys(system):
    """NaN is not stated, and of two values the first holds."""
    found = system(
        b'{"framework": "first", "framework": "second", "number_of_nodes": NaN, "accelerators_per_node": 1e999}'
    )
    assert found.values == {"engine": "first"}
    assert found.problems == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b'"text"', b"\xff\xfe{", b"[" * 100_000, b'{"a":' * 50_000, b'{"n": ' + b"9" * 9999 + b"}"],
)
def test_what_is_no_object_is_a_problem(system, content):
    """Truncated, binary or too deep: no conditions, one problem."""
    found = system(content)
    assert found.values == {}
    assert [problem.code for problem in found.problems] == ["system-bad-json"]


def test_hostile_text_is_cleaned(system):
    """Escapes do not survive; HTML is only text."""
    assert system({"system_name": "\x1b[31m<b>Box</b>"}).values == {"system": "<b>Box</b>"}


def test_a_missing_description_is_a_problem(tmp_path):
    """Its conditions stay undisclosed."""
    found = read_system(tmp_path / "none.json", "systems/none.json", "none")
    assert (found.values, [problem.code for problem in found.problems]) == ({}, ["system-missing"])


def test_the_measurement_is_the_first_file_that_is_one(tmp_path):
    """Other JSON lies beside it, and some of it is broken."""
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text('{"pip": 1}')
    (tmp_path / "c.json").write_text(json.dumps(MEASUREMENT))
    found = read_measurement([(tmp_path / name, name) for name in ("a.json", "b.json", "c.json")], "folder")
    assert (found.path, found.values, found.problems) == ("c.json", {"weight_precision": "fp8"}, ())


@pytest.mark.parametrize("word", ["UNSET", "TODO", "", None])
def test_a_precision_that_nobody_filled_in_is_undisclosed(tmp_path, word):
    """As in twenty files of one round."""
    (tmp_path / "m.json").write_text(json.dumps({"weight_data_types": word}))
    assert read_measurement([(tmp_path / "m.json", "m.json")], "folder").values == {}


def test_no_measurement_is_a_problem(tmp_path):
    """It names the folder, and the file that could not be read."""
    (tmp_path / "a.json").write_text("{")
    found = read_measurement([(tmp_path / "a.json", "a.json")], "folder")
    assert [problem.code for problem in found.problems] == ["measurement-bad-json", "measurement-missing"]


def test_a_mapping_gives_official_names(tmp_path):
    """None is no problem, a broken one is."""
    path = tmp_path / "model_mapping.json"
    assert read_model_mapping(path, "shown") == ({}, ())
    path.write_text('{"own": "llama2-70b-99", "odd": 3}')
    assert read_model_mapping(path, "shown") == ({"own": "llama2-70b-99"}, ())
    path.write_text("nothing")
    mapping, problems = read_model_mapping(path, "shown")
    assert (mapping, [problem.code for problem in problems]) == ({}, ["mapping-bad-json"])
