"""Documents: TOML and JSON in, JSON out, and errors that a person can act on."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import CaveatError, InputError
from caveat.workload import (
    Diurnal,
    Fixed,
    GammaGaps,
    Geometric,
    Limits,
    LognormalGaps,
    Mixture,
    Pareto,
    Part,
    Points,
    Poisson,
    Prefixes,
    Separate,
    Sessions,
    Think,
    Uniform,
    Workload,
    decode_workload,
    encode_workload,
    read_workload,
)
from caveat.workload.spec import MAX_BYTES
from tests.workload.cases import workloads

TOML = """
format = "caveat-workload/1"
name = "a day of chat"
seed = 12

[arrivals]
kind = "diurnal"
curve = {kind = "points", points = [[0, 1], [43200, 5], [86400, 1]]}
gaps = {kind = "gamma", cv = 2}

[lengths]
kind = "separate"
correlation = 0.3
output_cap = 1024
input.kind = "mixture"
input.parts = [
  {weight = 9, shape = {kind = "uniform", low = 10, high = 500}},
  {weight = 1, shape = {kind = "pareto", minimum = 500, alpha = 1.5}},
]
output = {kind = "fixed", value = 128}

[sessions]
turns = {kind = "geometric", mean = 3}
think = {mean_s = 20, gaps = {kind = "lognormal", cv = 1.5}}
context_max = 32768

[prefixes]
prompts = 5
tokens = {kind = "fixed", value = 800}

[limits]
duration_s = 86400
"""

SAME = Workload(
    name="a day of chat",
    seed=12,
    arrivals=Diurnal(Points(((0.0, 1.0), (43200.0, 5.0), (86400.0, 1.0))), gaps=GammaGaps(2.0)),
    lengths=Separate(
        input=Mixture((Part(9.0, Uniform(10, 500)), Part(1.0, Pareto(500.0, 1.5)))),
        output=Fixed(128),
        correlation=0.3,
        output_cap=1024,
    ),
    sessions=Sessions(Geometric(3.0), think=Think(20.0, LognormalGaps(1.5)), context_max=32768),
    prefixes=Prefixes(prompts=5, tokens=Fixed(800)),
    limits=Limits(duration_s=86400.0),
)


def test_a_toml_document_is_a_workload():
    """Every part."""
    assert decode_workload(TOML, "toml") == SAME


@pytest.mark.parametrize("name", workloads())
def test_a_workload_survives_its_document(name: str):
    """JSON out and in again; the same workload gives the same bytes."""
    workload = workloads()[name]
    encoded = encode_workload(workload)
    assert decode_workload(encoded, "json") == workload
    assert encode_workload(decode_workload(encoded, "json")) == encoded


def test_numbers_without_a_point_are_the_same_document():
    """2 for 2.0."""
    lengths = Separate(input=Fixed(1), output=Fixed(1))
    whole, pointed = (Workload(arrivals=Poisson(rate), lengths=lengths, limits=Limits(requests=1)) for rate in (2, 2.0))
    assert encode_workload(whole) == encode_workload(pointed)


def test_files_are_read_by_their_ending(tmp_path: Path):
    """Both forms."""
    (tmp_path / "day.toml").write_text(TOML)
    (tmp_path / "day.json").write_bytes(encode_workload(SAME))
    assert read_workload(tmp_path / "day.toml") == read_workload(tmp_path / "day.json") == SAME


LENGTHS = (
    '[lengths]\nkind="separate"\ninput={kind="fixed",value=1}\noutput={kind="fixed",value=1}\n[limits]\nrequests=9\n'
)


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        ('kind="poisson"\nrate_qps="4"', "arrivals.rate_qps: Expected `float`, got `str`"),
        ('kind="poisson"\nrate_qps=-4', "poisson.rate_qps: found -4.0, expected a number from 1e-06"),
        ('kind="poisson"\nrate_qps=nan', "poisson.rate_qps: found nan"),
        ('kind="poisson"\nrate_qps=1e300', r"poisson.rate_qps: found 1e\+300"),
        (
            'kind="poison"\nrate_qps=4',
            r"kind: found 'poison', expected one of constant, .*; poisson is near \(line 2\)",
        ),
        ('kind="poisson"\nrate_qps=4\nburst=2', r"found the field 'burst'; poisson takes rate_qps \(line 4\)"),
        ('kind="poisson"', "arrivals: found no rate_qps; poisson takes rate_qps"),
        ("rate_qps=4", "arrivals: found no kind, expected one of constant, poisson, "),
        ('kind="trace"\ntimes_ns=[0, -1]', r"trace.times_ns: last: found -1"),
        ('kind="trace"\ntimes_ns=[0, 1e400]', "Expected `int`, got `float`"),
        ('kind="mmpp"\nstates=[{rate_qps=1, mean_s=0}, {rate_qps=1, mean_s=1}]', "mmpp.states: mean_s: found 0.0"),
        ('kind="poisson"\nrate_qps=4\nrate_qps=5', "not TOML: Cannot overwrite a value"),
    ],
)
def test_a_wrong_field_is_named(arrivals: str, expected: str):
    """Field, found, expected; and a next step."""
    with pytest.raises(InputError, match=expected) as refusal:
        decode_workload(f"[arrivals]\n{arrivals}\n{LENGTHS}", "toml")
    assert refusal.value.next


def test_another_format_is_refused():
    """A later version is not read as this one."""
    with pytest.raises(InputError, match="format: found 'caveat-workload/2', expected one of caveat-workload/1"):
        decode_workload(TOML.replace("workload/1", "workload/2"), "toml")


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00", b"{", b"[" * 100_000, b'{"arrivals": ' * 50_000, b"\x1b[31mred", b"null", b"[1e999999]"],
    ids=["empty", "not UTF-8", "truncated", "deep lists", "deep objects", "escapes", "null", "too large a number"],
)
@pytest.mark.parametrize("form", ["toml", "json"])
def test_hostile_documents_are_refused(data: bytes, form):
    """With one of our errors, whatever comes."""
    with pytest.raises(InputError):
        decode_workload(data, form)


@settings(max_examples=200)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_any_value_for_a_field_is_read_or_refused(value):
    """Never another exception."""
    body = {
        "arrivals": {"kind": "gamma", "rate_qps": value, "cv": value},
        "lengths": {"kind": "joint", "cells": [[value] * 5]},
        "limits": {"requests": value},
    }
    try:
        decode_workload(msgspec.json.encode(body), "json")
    except CaveatError as error:
        assert error.next


def test_a_huge_list_is_refused():
    """A million recorded times and one."""
    times = ",".join(["5"] * 1_000_001)
    with pytest.raises(InputError, match="times_ns: found 1,000,001 entries"):
        decode_workload(f'{{"arrivals":{{"kind":"trace","times_ns":[{times}]}},"lengths":null}}', "json")


@pytest.mark.parametrize("name", ["day.yaml", "day", "missing.toml"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str):
    """By ending, or because it is not there."""
    (tmp_path / "day.yaml").write_text(TOML)
    (tmp_path / "day").write_text(TOML)
    with pytest.raises(InputError, match=name):
        read_workload(tmp_path / name)


def test_a_file_too_large_is_not_opened(tmp_path: Path):
    """By its size alone."""
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError, match="expected at most 67,108,864"):
        read_workload(path)
