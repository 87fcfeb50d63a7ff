"""One run, several sources: the log, the summary made from it, the description of the system.

Merging does not depend on the order in which sources are read: of two statements the one from the richer source is
believed (then the one with the smaller hash, so that there is always an answer), and where they disagree the
document says so. Values that differ by less than rounding agree; only there may three sources read in another order
leave another of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import msgspec

from caveat.errors import DocumentError
from caveat.figures.condition_values import Claim, Conditions
from caveat.figures.kinds import Value
from caveat.figures.metrics import METRICS
from caveat.figures.provenance import Provenance, Source
from caveat.figures.run import Row, Run, canonical, identity
from caveat.figures.validity import Check
from caveat.units import format_quantity

NOT_LOOKED = ("not checked", "not checkable")  # the emptier first
AGREEMENT = 1e-4  # relative: published summaries are rounded to six significant digits
_SEVERITY = ("fail", "unknown", "pass", "not applicable")


def merge_all(runs: Iterable[Run]) -> Run:
    """One document from several of the same subject, in any order. Raises DocumentError where there is none."""
    ordered = sorted(runs, key=_richness)
    if not ordered:
        raise DocumentError("merge: found no documents, expected at least one")
    return reduce(merge, ordered)


def merge(first: Run, second: Run) -> Run:
    """One document that says what both say. Raises DocumentError where they are not the same run.

    What a document replaces is a matter of the ledger: the merged one replaces nothing yet.
    """
    _check_same(first, second)
    rich, poor = sorted((first, second), key=_richness)
    sources = _merged_sources(rich, poor)
    index = {_source_key(source): i for i, source in enumerate(sources)}
    rows, disagreements = _merged_rows(rich, poor, sources, index)
    return Run(
        subject=rich.subject,
        conditions=_merged_conditions(rich, poor, sources, index),
        provenance=Provenance(
            origin=rich.provenance.origin,
            sources=sources,
            tool=rich.provenance.tool,
            tool_version=rich.provenance.tool_version,
            formula=rich.provenance.formula,
            inputs=rich.provenance.inputs,
        ),
        rows=rows,
        validity=_merged_validity((*rich.validity, *poor.validity, *disagreements)),
        primary=rich.primary or poor.primary,
        notes=tuple(dict.fromkeys((*rich.notes, *poor.notes))),
        samples=rich.samples or poor.samples,
    )


def _check_same(first: Run, second: Run) -> None:
    if first.subject != second.subject:
        raise DocumentError(f"not the same run: {first.subject!r} and {second.subject!r}")
    one, other = first.provenance, second.provenance
    if one.origin != other.origin:
        raise DocumentError(f"{first.subject}: one document is {one.origin}, the other {other.origin}")
    if (one.formula, one.inputs) != (other.formula, other.inputs):
        raise DocumentError(f"{first.subject}: the documents were derived by other formulas or from other figures")
    if bool(one.sources) != bool(other.sources):
        raise DocumentError(f"{first.subject}: one document names its sources, the other has none")


def same_facts(first: Run, second: Run) -> bool:
    """Whether two documents say the same, whichever copy of a source they were read from."""
    return _facts(first) == _facts(second)


def _facts(run: Run) -> bytes:
    content = identity(run)
    content["sources"] = sorted({(source.kind, source.place) for source in run.provenance.sources})
    return canonical(content)


def _richness(run: Run) -> tuple[int, int, str]:
    ranks = [source.rank for source in run.provenance.sources]
    return (min(ranks, default=99), -len(ranks), run.id)


def _source_key(source: Source) -> tuple[str, str, str]:
    return (source.kind, source.sha256, source.place)


def _merged_sources(rich: Run, poor: Run) -> tuple[Source, ...]:
    unique = {_source_key(s): s for s in (*poor.provenance.sources, *rich.provenance.sources)}
    return tuple(sorted(unique.values(), key=lambda s: (s.rank, s.sha256, s.place)))


def _source_of(run: Run, index: int) -> Source | None:
    sources = run.provenance.sources
    return sources[index] if index < len(sources) else None


def _merged_conditions(
    rich: Run, poor: Run, sources: Sequence[Source], index: Mapping[tuple[str, str, str], int]
) -> Conditions:
    known: dict[str, Value] = {}
    origin: dict[str, int] = {}
    claims = {
        key: tuple(dict.fromkeys((*rich.conditions.claims.get(key, ()), *poor.conditions.claims.get(key, ()))))
        for key in (*rich.conditions.claims, *poor.conditions.claims)
    }
    for key in dict.fromkeys((*rich.conditions.known, *poor.conditions.known)):
        said = _looked(_statements(key, rich, poor, index))
        (origin[key], known[key]), (_, other) = said[0], said[-1]
        if _agree(known[key], other):
            known[key] = _completed(known[key], other)
        else:
            claims[key] = _united(claims.get(key, ()), said, sources)
    not_applicable = {*rich.conditions.not_applicable, *poor.conditions.not_applicable} - set(known)
    return Conditions(known=known, not_applicable=tuple(sorted(not_applicable)), sources=origin, claims=claims)


def _looked(said: list[tuple[int, Value]]) -> list[tuple[int, Value]]:
    """Without those who only say that they did not look, where another did: that is no disagreement."""
    for nothing in NOT_LOOKED:
        said = [statement for statement in said if statement[1] != nothing] or said
    return said


def _statements(key: str, rich: Run, poor: Run, index: Mapping[tuple[str, str, str], int]) -> list[tuple[int, Value]]:
    """What each run says about a key, as (index of the merged source, value), the one to be believed first."""
    said = []
    for run in (rich, poor):
        value = run.conditions.get(key)
        if value is not None:
            source = _source_of(run, run.conditions.sources.get(key, 0))
            said.append((index[_source_key(source)] if source else 0, value))
    return sorted(said, key=lambda statement: (statement[0], canonical(statement[1])))


def _completed(best: Value, other: Value) -> Value:
    """A distribution with the statistics of both: one source gives the mean, another the p99."""
    return {**other, **best} if isinstance(best, dict) and isinstance(other, dict) else best


def _united(
    claims: tuple[Claim, ...], said: Sequence[tuple[int, Value]], sources: Sequence[Source]
) -> tuple[Claim, ...]:
    new = (Claim(value, sources[place].kind if sources else "no source") for place, value in said)
    return tuple(dict.fromkeys((*claims, *new)))


def _agree(one: Value, other: Value) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_agree(one[key], other[key]) for key in one.keys() & other.keys())
    if isinstance(one, str) and isinstance(other, str):
        return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
    if isinstance(one, int | float) and isinstance(other, int | float):
        return close(float(one), float(other))
    return one == other


def close(one: float, other: float) -> bool:
    """Equal within the rounding of published tables."""
    return abs(one - other) <= AGREEMENT * max(abs(one), abs(other))


def _merged_rows(
    rich: Run, poor: Run, sources: Sequence[Source], index: Mapping[tuple[str, str, str], int]
) -> tuple[tuple[Row, ...], tuple[Check, ...]]:
    rows: list[Row] = []
    disagreements: list[Check] = []
    for key in dict.fromkeys(row.metric for row in (*rich.rows, *poor.rows)):
        said = [_moved(row, run, index) for run in (rich, poor) if (row := run.row(key)) is not None]
        best = min(said, key=_belief)
        if len(said) > 1:
            best = _with_notes(best, said)
            if _two_witnesses(said, sources):
                disagreements.append(_agreement(key, [row.value for row in said]))
        rows.append(best)
    return tuple(rows), tuple(disagreements)


def _belief(row: Row) -> tuple[int, bytes]:
    """Smaller is believed: merged sources stand in order of rank, and the rest only frees the choice from order."""
    return row.source, canonical((row.value, row.n, row.spread))


def _two_witnesses(said: Sequence[Row], sources: Sequence[Source]) -> bool:
    """Whether two rows say something about each other: one source read twice, saying the same, does not."""
    places = {(sources[row.source].kind, sources[row.source].place) if sources else ("", "") for row in said}
    return len(places) > 1 or not close(said[0].value, said[1].value)


def _moved(row: Row, run: Run, index: Mapping[tuple[str, str, str], int]) -> Row:
    source = _source_of(run, row.source)
    return _replaced(row, source=index[_source_key(source)] if source else 0)


def _with_notes(best: Row, said: Sequence[Row]) -> Row:
    return _replaced(best, notes=tuple(dict.fromkeys(note for row in said for note in row.notes)))


def _replaced(row: Row, **changes: object) -> Row:
    return msgspec.structs.replace(row, **changes)


def _agreement(key: str, values: Sequence[float]) -> Check:
    low, high = min(values), max(values)
    if close(low, high):
        return Check(aspect="sources agree", outcome="pass", metrics=(key,), sentence="the sources agree to 1e-4")
    unit = METRICS[key].unit
    return Check(
        aspect="sources agree",
        outcome="unknown",
        metrics=(key,),
        sentence=f"the sources disagree: {format_quantity(low, unit)} and {format_quantity(high, unit)}",
    )


def _merged_validity(entries: Iterable[Check]) -> tuple[Check, ...]:
    """One entry for each aspect and set of metrics: the worst; among equals the richer run's sentence."""
    worst: dict[tuple[str, tuple[str, ...]], Check] = {}
    for entry in entries:
        key = (entry.aspect, tuple(sorted(set(entry.metrics))))
        kept = worst.get(key)
        if kept is None or _SEVERITY.index(entry.outcome) < _SEVERITY.index(kept.outcome):
            worst[key] = entry
    return tuple(worst[key] for key in sorted(worst))
