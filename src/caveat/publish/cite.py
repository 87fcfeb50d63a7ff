"""One line for the text and a footnote, as the rules for citing MLPerf results ask; and for what is not one.

Rules C1 to C8 and D1: who, which benchmark and version, which system in the text; suite, version, division,
benchmark, scenario, source and date of retrieval, result id and the legend in the footnote; "unverified" beside
every score that was not reviewed; no claim from a run that is not valid or from a pair of unlike figures.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from caveat.errors import RefusedError, UsageError
from caveat.facts import (
    TRADEMARK_LEGEND,
    UNVERIFIED_SENTENCE,
    UNVERIFIED_WORD,
    VERIFIED_SENTENCE,
    derived_basis,
    result_url,
    versioned_suite,
)
from caveat.figures import Figure
from caveat.publish.columns import chips
from caveat.publish.text import markdown, printable

FORMAT = "caveat-citation/1"
SUITE = "MLPerf Inference"
NO_DATE = "[date on which you looked it up]"


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the text, what stands in the footnote, and what the sources do not say but the rules want."""

    figure: str
    text: str
    footnote: str
    missing: tuple[str, ...] = ()
    format: str = FORMAT


def cite(figure: Figure, *, retrieved: str | None = None) -> Citation:
    """The citation of one figure; `retrieved` is the ISO date on which its source was looked up.

    RefusedError for an invalid run and for a figure derived from several others.
    """
    _refuse(figure)
    date = retrieved or next((s.retrieved for s in figure.provenance.sources if s.retrieved), None)
    if figure.conditions.words("suite") == SUITE and figure.conditions.words("review") == "reviewed":
        return _published(figure, date)
    return _own(figure, date)


def _refuse(figure: Figure) -> None:
    if figure.provenance.origin == "derived":
        raise RefusedError(
            f"{figure.short_id} was derived from several figures; a pair of unlike figures is no claim",
            next="cite each of them: " + ", ".join(figure.provenance.inputs),
        )
    failed = [entry.sentence or entry.aspect for entry in figure.validity if entry.outcome == "fail"]
    if failed:
        raise RefusedError(
            f"{figure.short_id} is not valid ({printable('; '.join(failed))}) and may not be cited as a result",
            next=f"see caveat show {figure.short_id}",
        )


def _published(figure: Figure, date: str | None) -> Citation:
    c = figure.conditions
    suite = versioned_suite(c.text("round"))
    division = c.text("division").capitalize()
    scenario = c.text("scenario").title().replace("-", "")
    benchmark = c.text("benchmark")
    text = (
        f"{c.text('submitter')} reached {_value(figure)} on {suite} {division} {benchmark} {scenario} "
        f"with {c.text('system')} ({_machine(figure)}; {c.text('availability')}).[1]"
    )
    parts = [
        f"[1] {suite}, {division} division; benchmark {benchmark}, scenario {scenario}; submitted by "
        f"{c.text('submitter')}.",
        f"Result ID {c.text('result_id')}." if c.words("result_id") else "",
        f"Retrieved from {_where(figure)} on {date or NO_DATE}.",
        _standing(figure),
        TRADEMARK_LEGEND,
    ]
    return Citation(
        figure=figure.id,
        text=printable(text),
        footnote=printable(" ".join(part for part in parts if part)),
        missing=_missing(figure, date),
    )


def _own(figure: Figure, date: str | None) -> Citation:
    """What nobody reviewed: the word "unverified" beside the score, and no use of a benchmark's name as its own."""
    c = figure.conditions
    origin = figure.provenance.origin
    who = c.words("submitter") or "An unnamed tester"
    verb = "simulated" if origin == "simulated" else "measured"
    text = (
        f"{who} {verb} {_value(figure)} ({UNVERIFIED_WORD}) for {c.text('model')} under {c.text('scenario')} load "
        f"with {c.text('system')} ({_machine(figure)}).[1]"
    )
    parts = [
        f"[1] {figure.metric.meaning}; {verb} with {c.text('harness')} {c.text('harness_version')}, "
        f"data set {c.text('dataset')}, {_limits(figure)}.",
        f"Source: {_where(figure)}, {date or NO_DATE}.",
        f"Not a result of any benchmark suite. {UNVERIFIED_SENTENCE}"
        if c.words("suite") != SUITE
        else UNVERIFIED_SENTENCE,
        TRADEMARK_LEGEND if c.words("suite") == SUITE else "",
    ]
    return Citation(
        figure=figure.id,
        text=printable(text),
        footnote=printable(" ".join(part for part in parts if part)),
        missing=() if date else ("retrieval date",),
    )


def _value(figure: Figure) -> str:
    return figure.text if figure.is_primary else f"{figure.text} {figure.metric.name} ({figure.metric.statistic})"


def _machine(figure: Figure) -> str:
    disputed = ", sources disagree on the count" if "accelerators" in figure.conditions.conflicts() else ""
    return chips(figure) + disputed


def _limits(figure: Figure) -> str:
    c = figure.conditions
    known = [
        f"{name} limit {c.text(key)}"
        for name, key in (("TTFT", "ttft_limit_s"), ("TPOT", "tpot_limit_s"))
        if c.get(key)
    ]
    return ", ".join(known) or "no latency limit stated"


def _standing(figure: Figure) -> str:
    """Only the primary metric of a reviewed result may be called verified (C4, D1)."""
    if figure.is_primary:
        return VERIFIED_SENTENCE
    if figure.metric.source.startswith("derived"):
        return derived_basis(_sentence_start(figure), figure.metric.meaning)
    return (
        f"{_sentence_start(figure)} is not the primary metric of MLPerf® Inference; it was read from the result's own "
        f"log and is neither official nor verified. {UNVERIFIED_SENTENCE}"
    )


def _sentence_start(figure: Figure) -> str:
    return f"{figure.metric.name.replace('_', ' ').capitalize()} ({figure.metric.statistic})"


def _where(figure: Figure) -> str:
    c = figure.conditions
    home = result_url(c.text("round")) if c.words("suite") == SUITE else None
    source = figure.provenance.sources[figure.row.source] if figure.provenance.sources else None
    file = f"{source.path}{', ' + source.place if source and source.place else ''}" if source else "our own record"
    location = c.words("location")
    return f"{home} ({location or file})" if home else file


def _missing(figure: Figure, date: str | None) -> tuple[str, ...]:
    wanted = [("result ID", figure.conditions.words("result_id")), ("retrieval date", date)]
    return tuple(name for name, value in wanted if not value)


def _as_markdown(citation: Citation) -> str:
    text = markdown(citation.text.removesuffix("[1]"))
    return f"{text}[^1]\n\n[^1]: {markdown(citation.footnote.removeprefix('[1] '))}\n"


def _as_bibtex(citation: Citation) -> str:
    safe = str.maketrans({c: "\\" + c for c in "&%$#_{}"} | {"\\": "/", "~": " ", "^": " "})
    note = citation.footnote.removeprefix("[1] ").translate(safe)
    title = citation.text.removesuffix("[1]").translate(safe)
    return f"@misc{{caveat-{citation.figure[:10]},\n  title = {{{title}}},\n  note = {{{note}}}\n}}\n"


def _as_text(citation: Citation) -> str:
    return f"{citation.text}\n\n{citation.footnote}\n"


def _as_json(citation: Citation) -> str:
    return msgspec.json.format(msgspec.json.encode(citation), indent=1).decode() + "\n"


FORMS: dict[str, Callable[[Citation], str]] = {
    "text": _as_text,
    "markdown": _as_markdown,
    "bibtex": _as_bibtex,
    "json": _as_json,
}


def written(citation: Citation, form: str = "text") -> str:
    """The citation in one of FORMS."""
    if form not in FORMS:
        raise UsageError(f"no citation format is called {form!r}", next=f"one of {', '.join(FORMS)}")
    return FORMS[form](citation)
