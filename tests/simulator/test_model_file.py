"""Model files: TOML in, TOML out, and errors that name the field."""

from pathlib import Path

import jsonschema
import msgspec
import numpy as np
import pytest

from caveat.errors import CannotSayError, InputError
from caveat.simulator.calibration import from_data_sheets
from caveat.simulator.grades import CLAIMS
from caveat.simulator.model_file import (
    FORMAT,
    MAX_BYTES,
    Overheads,
    Range,
    SchedulerTable,
    Validated,
    decode_model,
    encode_model,
    model_schema,
    read_model,
)
from caveat.simulator.published import Layout
from caveat.simulator.roofline import Roofline
from caveat.simulator.scheduler import Scheduler

SMALL = """
format = "caveat-model/1"
name = "a small engine"
grade = "A"
prefix_hit = {low = 0.0, high = 0.3}

[step_time]
kind = "pieces"
pieces = [{step_s = 0.01, sequence_s = 1e-4, prompt_token_s = 5e-5}]

[overheads]
intake_s = 0.012

[scheduler]
max_num_seqs = 128
token_budget = 2048
static_slots = 8

[provenance]
origin = "measured"
date = "2026-11-30"
sources = ["aaaa.caveat-tpot.mean"]

[validated]
rate_per_s = {low = 1.0, high = 4.0}
"""


def test_a_document_is_read_whole():
    """Every table."""
    model = decode_model(SMALL)
    assert model.step_time.step_time().pieces[0].sequence_s == 1e-4
    assert model.prefix_hit == Range(low=0.0, high=0.3)
    assert model.scheduler.scheduler(model.overheads) == Scheduler(
        max_num_seqs=128, token_budget=2048, static_slots=8, intake_s=0.012
    )
    assert model.fleet.replicas == 1
    assert model.not_known == ()


@pytest.mark.parametrize("draws", [3, 200])
def test_what_is_written_reads_as_the_same_model(draws, tmp_path):
    """A calibrated model with its draws, through a file."""
    replica = Roofline(accelerator="B200", model="mixtral-8x7b", tensor_parallel=1, precision="fp8")
    model = from_data_sheets("m", Layout(roofline=replica, replicas=8), np.random.default_rng(draws), date="2026-11-30")
    path = tmp_path / "model.toml"
    path.write_bytes(encode_model(model))
    assert read_model(path) == model
    assert encode_model(read_model(path)) == path.read_bytes()
    assert model.not_known == ("scheduler.max_num_seqs", "prefix_hit")


def test_the_document_fits_its_schema():
    """And the schema finds a field too many."""
    model = msgspec.json.decode(msgspec.json.encode(decode_model(SMALL)))
    checker = jsonschema.Draft202012Validator(model_schema())
    checker.validate(model)
    assert not checker.is_valid({**model, "more": 1})
    assert not checker.is_valid({**model, "format": "caveat-model/2"})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"caveat-model/1"', '"caveat-model/2"', f"found 'caveat-model/2', expected '{FORMAT}'"),
        ('grade = "A"', 'grade = "D"', "grade: Invalid enum value 'D'"),
        ("max_num_seqs = 128", "", "scheduler: Object missing required field `max_num_seqs`"),
        ("max_num_seqs = 128", "max_num_seqs = 0", "max_num_seqs: found 0"),
        ("max_num_seqs = 128", 'max_num_seqs = "lots"', "scheduler.max_num_seqs: Invalid enum value"),
        ("token_budget = 2048", "token_budget = 0", "token_budget: found 0"),
        ("token_budget = 2048", "tokens = 2048", "unknown field `tokens`"),
        ("static_slots = 8", "static_slots = 8\nkv_blocks = 5", "static_slots with kv_blocks"),
        ("prefix_hit = {low = 0.0, high = 0.3}", "", "missing required field `prefix_hit`"),
        ("high = 0.3", "high = 1.3", "prefix_hit: found 1.3"),
        ("low = 0.0, high = 0.3", "low = 0.4, high = 0.3", "range: found 0.4 to 0.3"),
        ("sequence_s = 1e-4", "sequence_s = -1.0", "sequence_s: found -1"),
        ("sequence_s = 1e-4", "sequence_s = nan", "sequence_s: found nan"),
        ("sequence_s = 1e-4", "sequence_ms = 1e-4", "unknown field `sequence_ms`"),
        ('kind = "pieces"', 'kind = "magic"', "step_time.kind: Invalid value 'magic'"),
        ("intake_s = 0.012", "intake_s = inf", "overheads.intake_s: found inf"),
        ("[overheads]", "[overheads", "not TOML"),
        ('date = "2026-11-30"', 'date = "2026-11-30"\ndate = "x"', "not TOML"),
        ('origin = "measured"', 'origin = "guessed"', "provenance.origin"),
        ("[validated]", '[fleet]\nrouter = "luck"\n[validated]', "fleet.router"),
    ],
)
def test_what_is_wrong_is_named(old, new, said):
    """The field, what was found, and the way on."""
    assert old in SMALL
    with pytest.raises(InputError) as caught:
        decode_model(SMALL.replace(old, new, 1), name="my.toml")
    assert said in caught.value.message
    assert caught.value.message.startswith("my.toml: ")
    assert caught.value.next


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a = " + b"[" * 10_000, b"x = 1" + b"0" * 5000, b""])
def test_hostile_bytes_are_refused(data):
    """As an error of ours."""
    with pytest.raises(InputError):
        decode_model(data)


def test_files_that_are_not_there_or_too_large_are_refused(tmp_path):
    """Before they are read."""
    with pytest.raises(InputError, match=r"none\.toml: No such file"):
        read_model(tmp_path / "none.toml")
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="expected at most"):
        read_model(large)


def test_a_range_or_an_unknown_limit_is_no_number_to_simulate_with():
    """One must be given, from inside the range."""
    overheads = Overheads(intake_s=0.0)
    for table in (SchedulerTable(max_num_seqs="unknown"), SchedulerTable(max_num_seqs=Range(low=8, high=64))):
        with pytest.raises(CannotSayError, match="max_num_seqs is not one number"):
            table.scheduler(overheads)
        assert table.scheduler(overheads, max_num_seqs=16).max_num_seqs == 16
    with pytest.raises(InputError, match="found 128, expected from 8 to 64"):
        SchedulerTable(max_num_seqs=Range(low=8, high=64)).scheduler(overheads, max_num_seqs=128)


def test_outside_the_validated_range_nothing_is_answered():
    """Each value that lies outside, and each of which nothing was validated; exit 3 and the way out."""
    validated = Validated(rate_per_s=Range(low=1, high=4))
    validated.refuse_outside({"rate_per_s": 4.0})
    assert validated.outside({"rate_per_s": 5.0, "load_fraction": 0.5}) == (
        "rate_per_s 5, validated from 1 to 4",
        "load_fraction 0.5, of which nothing was validated",
    )
    with pytest.raises(CannotSayError) as caught:
        validated.refuse_outside({"rate_per_s": 5.0})
    assert (caught.value.exit_code, caught.value.code) == (3, "outside-validated-range")
    assert "--extrapolate" in caught.value.next
    with pytest.raises(InputError, match="validated: found 'speed'"):
        validated.outside({"speed": 1.0})


def test_the_document_of_the_docs_is_one():
    """Word for word, as the errors say that it is; and the page has the table of grades that the code has."""
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    model = decode_model(text.partition("```toml\n")[2].partition("```")[0])
    assert decode_model(encode_model(model)) == model
    for grade, claim in CLAIMS.items():
        assert f"| {grade} | " in text
        assert f" | {claim} |" in text
