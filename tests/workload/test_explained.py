"""What is wrong with a document, in words: kinds, fields and lines."""

from __future__ import annotations

import msgspec
import pytest

from caveat.workload import Arrivals, Workload, explained, fields_of, kind_of, records_in

SHAPES = "fixed, uniform, normal, lognormal, pareto, geometric, histogram, mixture"


def said_of(text: str) -> str:
    plain = msgspec.toml.decode(text)
    with pytest.raises(msgspec.ValidationError) as refusal:
        msgspec.convert(plain, Workload)
    return explained(refusal.value, plain, Workload, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[arrivals]\nkind = "poisson"\nrate_qps = 1.0\n[lengths]\nkind = "separate"\ninput = {kind = "lognorma"}',
            f"lengths.input.kind: found 'lognorma', expected one of {SHAPES}; lognormal is near (line 6)",
        ),
        (
            '[arrivals]\nkind = "diurnal"\ncurve = {kind = "square"}',
            "arrivals.curve.kind: found 'square', expected one of points, sine (line 3)",
        ),
        (
            '[arrivals]\nkind = "mmpp"\nstates = [{rate_qps = 1.0}]',
            "arrivals.states[0]: found no mean_s; state takes rate_qps, mean_s (line 3)",
        ),
        (
            '[arrivals]\nkind = "ramp"\nto = 3.0\nfoo = 1',
            "arrivals: found the field 'to'; ramp takes from_qps, to_qps, over_s, and may have gaps (line 3)",
        ),
        (
            '[arrivals]\nkind = "superposition"\nclients = [{arrivals = {kind = "burst"}}]',
            "arrivals.clients[0].arrivals.kind: found 'burst', expected one of constant, poisson, gamma, weibull, "
            "mmpp, diurnal, ramp, windows, trace (line 3)",
        ),
        ('arrivals = "poisson"', "arrivals: Expected `object`, got `str` (line 1)"),
        (
            "sed = 1",
            "found the field 'sed'; workload takes arrivals, lengths, and may have format, name, seed, limits, "
            "sessions, prefixes, samples (line 1)",
        ),
    ],
)
def test_a_mistake_names_what_could_have_stood_there(text: str, said: str):
    """Whole sentences, as people read them."""
    assert said_of(text) == said


def test_a_line_is_said_only_where_it_is_sure():
    """Two tables have the field: no line, rather than a wrong one."""
    text = "[limits]\nkind = 1\n[arrivals]\nkind = 3\n"
    assert "(line" not in said_of(text)


def test_every_kind_of_arrivals_is_listed_by_its_word():
    """As it stands in documents, and each with its fields."""
    kinds = {kind_of(record): record for record in records_in(Arrivals)}
    assert len(kinds) == len(records_in(Arrivals)) >= 14
    assert fields_of(kinds["gamma"]) == (["rate_qps", "cv"], [])
    assert fields_of(kinds["burst"]) == ([], [])


@pytest.mark.parametrize(
    "plain", [None, [], 3, {"arrivals": []}, {"arrivals": {"clients": 3}}, {"lengths": {"kind": []}}]
)
def test_no_document_is_too_strange_to_be_explained(plain: object):
    """Whatever stands there, there are words and no other error."""
    with pytest.raises(msgspec.ValidationError) as refusal:
        msgspec.convert(plain, Workload)
    assert explained(refusal.value, plain, Workload)
