"""Places in submission trees."""

from pathlib import Path

import pytest

from caveat.importers.mlperf.place import Place, place_of, spot_of

PLACE = Place(division="closed", submitter="AMD", platform="box", model="llama2-70b-99", scenario="server")


@pytest.mark.parametrize(
    "path",
    [
        "closed/AMD/results/box/llama2-70b-99/Server",
        "https://host/tree/main/closed/AMD/results/box/llama2-70b-99/server/performance/run_1",
        "C:\\trees\\closed\\AMD\\results\\box\\llama2-70b-99\\Server",
        "/data/results/v6.0/closed/AMD/results/box/llama2-70b-99/Server",
    ],
)
def test_a_path_names_its_place_wherever_the_tree_lies(path):
    """From the last results folder of a submitter."""
    assert place_of(path) == PLACE
    assert PLACE.subject("v6.0") == "mlperf-inference/v6.0/closed/AMD/box/llama2-70b-99/server/run_1"
    assert PLACE.subject(None).startswith("mlperf-inference/unknown-round/")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "results",
        "closed/AMD/results/box/llama2-70b-99",
        "closed/AMD/results/box/llama2-70b-99/TEST06",
        "other/AMD/results/box/llama2-70b-99/Server",
        "closed/AMD/compliance/box/llama2-70b-99/Server",
    ],
)
def test_other_paths_name_none(path):
    """Too short, no division, no scenario."""
    assert place_of(path) is None


def test_a_spot_tells_the_folder_and_what_follows_below_it():
    """The published path keeps the spelling of the folders."""
    spot = spot_of(Path("/data/closed/AMD/results/box/llama2-70b-99/Server/performance/run_1/x.txt"))
    assert spot is not None
    assert spot.place == PLACE
    assert spot.folder == Path("/data/closed/AMD/results/box/llama2-70b-99/Server")
    assert spot.published == "closed/AMD/results/box/llama2-70b-99/Server"
    assert spot.inside == ("performance", "run_1", "x.txt")
    assert spot.submitter_folder == Path("/data/closed/AMD")
    assert spot.names == ("box", "llama2-70b-99", "Server")
    assert spot_of(Path("/data/closed/AMD/results/box")) is None


def test_hostile_folder_names_become_harmless_names():
    """The path to open keeps its bytes."""
    folder = Path("/data/closed/A\x1b[31mMD/results/b\udcffx/llama2-70b-99/Server")
    spot = spot_of(folder)
    assert spot is not None
    assert (spot.place.submitter, spot.place.platform) == ("AMD", "b\ufffdx")
    assert spot.folder == folder
    assert "\x1b" not in spot.published
