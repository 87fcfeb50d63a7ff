"""Behaviour: from TOML, from plain values, over JSON, and refused with the name of what is wrong."""

import msgspec
import pytest

from caveat.errors import InputError
from caveat.loopback import Behaviour, Exponential, Fault, Fixed, Lognormal, behaviour_of, read_behaviour

TOML = """
model = "tiny"
ttft_s = "lognormal(0.1, 0.5)"
itl_s = 0.01
output_tokens = {law = "exponential", mean = 200}
slots = 8
usage = "continuous"
faults = [
  {kind = "http", status = 429, rate = 0.01},
  {kind = "stall", requests = [3, 5], seconds = 2},
]
"""
READ = Behaviour(
    model="tiny",
    ttft_s=Lognormal(0.1, 0.5),
    itl_s=Fixed(0.01),
    output_tokens=Exponential(200),
    slots=8,
    usage="continuous",
    faults=(Fault(kind="http", status=429, rate=0.01), Fault(kind="stall", requests=(3, 5), seconds=2)),
)


def test_a_behaviour_is_read_from_toml(tmp_path):
    """Laws in each of their three ways of writing."""
    path = tmp_path / "server.toml"
    path.write_text(TOML)
    assert read_behaviour(path) == READ


def test_a_behaviour_goes_through_json_unchanged():
    """Which is how it reaches a process of its own."""
    assert msgspec.json.decode(msgspec.json.encode(READ), type=Behaviour) == READ


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"slot": 1}, "slot"),
        ({"slots": -1}, "slots"),
        ({"slots": "many"}, "slots"),
        ({"ttft_s": "soon"}, "law"),
        ({"itl_s": -0.1}, "value"),
        ({"usage": "sometimes"}, "usage"),
        ({"tokens_per_chunk": 0}, "tokens_per_chunk"),
        ({"model": "a#b"}, "model"),
        ({"model": ""}, "model"),
        ({"metrics_prefix": "a b"}, "metrics_prefix"),
        ({"loading_s": float("nan")}, "loading_s"),
        ({"faults": [{"kind": "gremlin"}]}, "kind"),
        ({"faults": [{"kind": "stall", "rate": 2}]}, "rate"),
        ({"faults": [{"kind": "http", "status": 200}]}, "status"),
        ({"faults": [{"kind": "huge-line", "size_bytes": 1 << 40}]}, "size_bytes"),
    ],
)
def test_what_cannot_be_is_refused_by_name(values, named):
    """Nothing is guessed, nothing ignored."""
    with pytest.raises(InputError, match=named):
        behaviour_of(values)


@pytest.mark.parametrize("content", [b"slots = ", b"\xff", b"slots = -1", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    """Broken TOML, broken text, a broken value, no file."""
    path = tmp_path / "server.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"server\.toml"):
        read_behaviour(path)
