"""ServeGen's parameters as a recording that says it was drawn."""

import pytest

from caveat.errors import InputError
from caveat.workload import is_servegen, read_trace, servegen_recording, servegen_workload
from tests.workload.test_servegen import write


@pytest.fixture
def folder(tmp_path):
    """Two clients, one of them without lengths."""
    write(tmp_path, 3)
    write(tmp_path, 4, dataset=None)
    return tmp_path


def test_a_folder_is_drawn(folder):
    """As its workload plans it; the source says that nothing was recorded, and who is left out."""
    assert is_servegen(folder)
    trace = servegen_recording(folder, duration_s=1000.0)
    plan = servegen_workload(folder, duration_s=1000.0).plan()
    assert trace.t_ns.tolist() == [int(at) for block in plan.blocks() for at in block.at_ns]
    assert 500 < len(trace) < 1600
    assert set(trace.input_tokens.tolist()) <= {10, 11, 12}
    assert trace.source.words() == (
        f"trace {folder.name} (servegen); drawn from the parameters of 1 clients, first 1000 s, seed 0: no request "
        "was recorded; 1 clients without lengths left out"
    )


def test_a_folder_of_something_else_is_none(tmp_path):
    """And a single client's file is no trace."""
    assert not is_servegen(tmp_path)
    write(tmp_path, 3)
    with pytest.raises(InputError, match="one client's parameters") as refused:
        read_trace(tmp_path / "chunk-3-trace.csv")
    assert "give its folder" in refused.value.next
    with pytest.raises(InputError, match="found a folder"):
        read_trace(tmp_path)
