"""One line for the text and a footnote, as the rules for citing MLPerf results ask; and for what is not one.

Rules C1 to C8 and D1: who, which benchmark and version, which system in the text; suite, version, division,
benchmark, scenario, source and date of retrieval, result id and the legend in the footnote; "unverified" beside
every score that was not reviewed; no claim from a run that is not valid or from a pair of unlike figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
from caveat.publish.text import json_text, latex, markdown, printable

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
    who = c.words("submitter") or "An undisclosed submitter"
    text = (
        f"{who} reached {_score(figure)} on {suite} {division} {benchmark} {scenario} "
        f"with {_system(figure)} ({_machine(figure)}; {c.text('availability')}).[1]"
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
    """What nobody reviewed: the word "unverified" beside the score, and no use of a benchmark's name as its own.

    Its source is the file that it came from, never the place where a suite publishes what it reviewed.
    """
    c = figure.conditions
    who = c.words("submitter") or "An unnamed tester"
    verb = "simulated" if figure.provenance.origin == "simulated" else "measured"
    load = f" under {c.text('scenario')} load" if c.words("scenario") else ""
    text = (
        f"{who} {verb} {_value(figure)} ({UNVERIFIED_WORD}) for {_model(figure)}{load} "
        f"with {_system(figure)} ({_machine(figure)}).[1]"
    )
    parts = [
        f"[1] {figure.metric.meaning}; {verb} with {_harness(figure)}, data set {c.text('dataset')}, "
        f"{_limits(figure)}.",
        *_rules(figure),
        f"Source: {_file(figure)}, {date or NO_DATE}.",
        _SUITES.get(c.words("suite"), f"Reported under {c.text('suite')}, not reviewed."),
        UNVERIFIED_SENTENCE,
        TRADEMARK_LEGEND if c.words("suite") == SUITE else "",
    ]
    return Citation(
        figure=figure.id,
        text=printable(text),
        footnote=printable(" ".join(part for part in parts if part)),
        missing=() if date else ("retrieval date",),
    )


# What is said of the suite of a figure that nobody reviewed.
_SUITES: dict[str | None, str] = {
    None: "Not a result of any benchmark suite.",
    "own measurement": "Not a result of any benchmark suite.",
    "own measurement, with the official LoadGen": "Run by whoever measured it; not a result of any benchmark suite.",
    "own simulation": "Computed by a model of a server, measured by nobody; not a result of any benchmark suite.",
    SUITE: "Not a result of the benchmark suite whose workload it may have used.",
}


def _model(figure: Figure) -> str:
    c = figure.conditions
    return c.words("model") or c.words("benchmark") or "an undisclosed model"


def _system(figure: Figure) -> str:
    c = figure.conditions
    return c.words("system") or c.words("platform") or "an undisclosed system"


def _harness(figure: Figure) -> str:
    c = figure.conditions
    return " ".join(filter(None, (c.words("harness"), c.words("harness_version")))) or "an undisclosed program"


def _value(figure: Figure) -> str:
    metric = figure.metric
    return figure.text if figure.is_primary else f"{figure.text} {metric.name.replace('_', ' ')} ({metric.statistic})"


def _score(figure: Figure) -> str:
    """Of a reviewed result: what is not its primary metric is unverified and says so beside the value (D1)."""
    return _value(figure) if figure.is_primary else f"{_value(figure)} ({UNVERIFIED_WORD})"


def _machine(figure: Figure) -> str:
    disputed = ", sources disagree on the count" if "accelerators" in figure.conditions.conflicts() else ""
    return chips(figure) + disputed


def _limits(figure: Figure) -> str:
    c = figure.conditions
    keys = (("TTFT", "ttft_limit_s"), ("TPOT", "tpot_limit_s"), ("latency", "latency_limit_s"))
    known = [f"{name} limit {c.text(key)}" for name, key in keys if c.get(key)]
    percentile = c.number("limit_percentile")
    at = f" at p{100 * percentile:g}" if known and percentile is not None else ""
    return f"{', '.join(known)}{at}" if known else "no latency limit stated"


def _rules(figure: Figure) -> Iterator[str]:
    """Whose rules a scenario was kept to, what of them was changed, and whether it can be said that it was kept to."""
    from caveat.measure import verdict  # numpy stands behind it, which a reviewed result does not need

    c = figure.conditions
    if c.words("profile"):
        changed = f", changed ({c.text('profile_changes')})" if c.words("profile_changes") else ""
        yield f"Rules derived from those of {c.text('profile')}{changed}."
    if verdict(figure.validity) == "UNDECIDED":
        yield "Whether the run kept to its rules could not be decided."


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
    """The official home of a reviewed result."""
    home = result_url(figure.conditions.text("round"))
    return f"{home} ({figure.conditions.words('location') or _file(figure)})" if home else _file(figure)


def _file(figure: Figure) -> str:
    if not figure.provenance.sources:
        return "our own record"
    source = figure.provenance.sources[figure.row.source]
    return f"{source.path}, {source.place}" if source.place else source.path


def _missing(figure: Figure, date: str | None) -> tuple[str, ...]:
    """What the rules want and no source says (C1, C2), and whether the round is out at all (C8)."""
    c = figure.conditions
    wanted = [(key, c.words(key)) for key in ("submitter", "benchmark", "system", "round", "division", "scenario")]
    wanted += [
        (f"publication of round {c.text('round')}", result_url(c.text("round"))),
        ("result ID", c.words("result_id")),
        ("retrieval date", date),
    ]
    return tuple(name for name, value in wanted if not value)


def _as_markdown(citation: Citation) -> str:
    text = markdown(citation.text.removesuffix("[1]"))
    return f"{text}[^1]\n\n[^1]: {markdown(citation.footnote.removeprefix('[1] '))}\n"


def _as_bibtex(citation: Citation) -> str:
    title, note = latex(citation.text.removesuffix("[1]")), latex(citation.footnote.removeprefix("[1] "))
    return f"@misc{{caveat-{citation.figure[:10]},\n  title = {{{title}}},\n  note = {{{note}}}\n}}\n"


def _as_text(citation: Citation) -> str:
    return f"{citation.text}\n\n{citation.footnote}\n"


FORMS: dict[str, Callable[[Citation], str]] = {
    "text": _as_text,
    "markdown": _as_markdown,
    "bibtex": _as_bibtex,
    "json": json_text,
}


def written(citation: Citation, form: str = "text") -> str:
    """The citation in one of FORMS."""
    if form not in FORMS:
        raise UsageError(f"no citation format is called {form!r}", next=f"one of {', '.join(FORMS)}")
    return FORMS[form](citation)
