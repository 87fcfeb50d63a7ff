"""dataset: what a file says, and where it is wrong."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.errors import InputError, UsageError
from caveat.loadgen.dataset import DatasetFile, DatasetPlan, Row, read_dataset
from caveat.workload import Burst, Fixed, Limits, SampleSet, Separate, Workload

LENGTHS = Separate(input=Fixed(value=1), output=Fixed(value=40))


def written(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_are_what_the_file_says(tmp_path):
    """In order; what is not said is None; empty lines are none."""
    path = tmp_path / "set.jsonl"
    path.write_bytes(b'{"prompt": "a \xc3\xa9"}\n\n{"prompt": "b", "reference": "B", "max_tokens": 3, "id": 7}')
    found = read_dataset(path)
    assert found.rows == (Row(prompt="a é"), Row(prompt="b", reference="B", max_tokens=3, id=7))
    assert (found.name, found.referenced, len(found.sha256)) == ("set.jsonl", 1, 64)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"prompt": ""}', "empty text"),
        (b'{"prompt": 5}', "Expected `str`"),
        (b'{"reference": "x"}', "missing required field `prompt`"),
        (b'{"prompt": "x", "max_token": 5}', "unknown field `max_token`"),
        (b'{"prompt": "x", "max_tokens": 0}', "found 0, expected 1"),
        (b'{"prompt": "x", "max_tokens": 1e99}', "max_tokens"),
        (b'["x"]', "Expected `object`"),
        (b"{oops", "malformed"),
        (b'{"prompt": "\xff"}', ""),
        (b"[" * 100_000, ""),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, said):
    """File, line, what was found; and the shape that was expected."""
    path = tmp_path / "set.jsonl"
    path.write_bytes(b'{"prompt": "good"}\n' + line + b"\n")
    with pytest.raises(InputError, match=r"set\.jsonl, line 2: ") as caught:
        read_dataset(path)
    assert said in caught.value.message
    assert '"prompt"' in caught.value.next


def test_a_file_of_nothing_and_none_are_refused(tmp_path):
    """Each in its words."""
    (tmp_path / "empty").write_bytes(b"\n\n")
    with pytest.raises(InputError, match="no sample"):
        read_dataset(tmp_path / "empty")
    with pytest.raises(InputError, match="No such file"):
        read_dataset(tmp_path / "none")


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5))
def test_any_text_goes_through(tmp_path_factory, prompts):
    """Quotes, line ends, controls and signs of every script."""
    path = written(tmp_path_factory.mktemp("set") / "x.jsonl", *({"prompt": prompt} for prompt in prompts))
    assert [row.prompt for row in read_dataset(path).rows] == prompts


def test_another_file_than_before_is_not_taken(tmp_path):
    """A run is repeated with the very file."""
    path = written(tmp_path / "set.jsonl", {"prompt": "a"})
    settled = DatasetFile(file=str(path)).settled()
    assert settled.read().rows == (Row(prompt="a"),)
    written(path, {"prompt": "b"})
    with pytest.raises(InputError, match="not the file"):
        settled.read()


def test_a_plan_cuts_each_answer_where_its_row_says(tmp_path):
    """Lengths of prompts are unknown, so 0; a row without a limit has the workload's; no wanted length is said."""
    path = written(tmp_path / "set.jsonl", {"prompt": "a", "max_tokens": 3}, {"prompt": "b"}, {"prompt": "c"})
    workload = Workload(arrivals=Burst(), lengths=LENGTHS, limits=Limits(requests=6), samples=SampleSet(3, seed=1))
    plan = DatasetPlan(workload.plan(), read_dataset(path))
    (block,) = plan.blocks()
    assert sorted(block.sample.tolist()) == [0, 0, 1, 1, 2, 2]
    assert (block.output_tokens == np.where(block.sample == 0, 3, 40)).all()
    assert not block.input_tokens.any()
    said = plan.describe()
    assert said["output_tokens_cap"] == 40
    assert said["dataset"].startswith("set.jsonl, 3 samples, sha256 ")
    assert "output_tokens_requested" not in said
    with pytest.raises(UsageError, match="expected the 3 of the file"):
        DatasetPlan(Workload(arrivals=Burst(), lengths=LENGTHS, limits=Limits(requests=6)).plan(), read_dataset(path))
