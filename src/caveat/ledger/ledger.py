"""Ledger: a person's own documents together with the shipped set. Append-only; old ids resolve for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from caveat.errors import LedgerError, NotFoundError, Problem, UsageError
from caveat.figures import SHOWN, Figure, Run, load, primary_figure
from caveat.ledger.adding import Added, one_each, plan
from caveat.ledger.index import index_of, rebuild
from caveat.ledger.query import Where
from caveat.ledger.shipped import shipped_file
from caveat.ledger.store import Progress, locked, remove_left_behind, scan, write_runs
from caveat.ledger.verify import verify
from caveat.ledger.view import Counts, View

ENVIRONMENT = "CAVEAT_LEDGER"
SHORTEST_PREFIX = 4
CANDIDATES = 10  # named in the error where a prefix or a suffix is not enough

_ID = re.compile(rf"([0-9a-fA-F]{{{SHORTEST_PREFIX},40}})(?:\.(.+))?")
T = TypeVar("T")


def default_path() -> Path:
    """CAVEAT_LEDGER where it is set, else `caveat/ledger` in the platform's folder for a user's data."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path("caveat", appauthor=False) / "ledger"


class Ledger:
    """The documents of one folder and, unless `shipped` is false, the public figures of the package.

    Making one touches nothing on disk. Every method may raise LedgerError where the folder cannot be used.
    """

    def __init__(self, path: Path | None = None, *, shipped: bool = True) -> None:
        self.path = default_path() if path is None else Path(path)
        self._shipped = shipped
        self._opened: tuple[str, View] | None = None
        self._runs: dict[str, Run] = {}  # decoded documents by id; an id never changes its meaning

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, shipped={self._shipped})"

    def figures(self, where: Sequence[Where] = (), *, primary_only: bool = True) -> tuple[Figure, ...]:
        """Figures of the heads that satisfy all filters, by round, submitter, platform, benchmark and scenario.

        With `primary_only` those under which runs were published, unless a filter asks for `metric` or `primary`.
        """
        primary_only = primary_only and not any(filter.key in ("metric", "primary") for filter in where)

        def question(view: View) -> tuple[Figure, ...]:
            found = view.figures(where, primary_only=primary_only)
            runs = self._decoded(view, [id for id, _ in found])
            return tuple(Figure(runs[id], metric) for id, metric in found)

        return self._ask(question)

    def runs(self, where: Sequence[Where] = ()) -> tuple[Run, ...]:
        """The heads that satisfy all filters, in the same order. A filter on figures holds if one figure does."""

        def question(view: View) -> tuple[Run, ...]:
            ids = view.runs(where)
            runs = self._decoded(view, ids)
            return tuple(runs[id] for id in ids)

        return self._ask(question)

    def run(self, id: str) -> Run:
        """The document of that id or beginning of an id (4 hex digits or more), also one that was replaced."""
        if not _ID.fullmatch(id) or "." in id:
            raise UsageError(f"not an id: {id!r}, expected {SHORTEST_PREFIX} to 40 hex digits")
        return self._ask(lambda view: self._only(view, view.ids_starting(id.lower(), CANDIDATES + 1), id))

    def figure(self, text: str) -> Figure:
        """The figure that a text names: `<id prefix>`, `<id prefix>.<metric key>`, a subject, or the end of one.

        Without a metric key it is the one under which the run was published. NotFoundError where nothing answers
        or several do (code `ambiguous`).
        """
        run, metric = self._ask(partial(self._named, text=text))
        if metric:
            return Figure(run, metric)
        figure = primary_figure(run)
        if figure is None:
            keys = ", ".join(row.metric for row in run.rows) or "none"
            raise NotFoundError(
                f"run {run.id[:SHOWN]} was not published under one metric",
                next=f"name one of its metrics as {run.id[:SHOWN]}.METRIC; it has: {keys}",
            )
        return figure

    def history(self, subject: str) -> tuple[Run, ...]:
        """All documents of a subject, oldest first, over the shipped set and the ledger. NotFoundError if none."""

        def question(view: View) -> tuple[Run, ...]:
            known = view.known([subject]).get(subject)
            if known is None:
                raise NotFoundError(f"no run has the subject {subject!r}", next="see caveat figures")
            return _oldest_first(self._decoded(view, sorted(known.ids)))

        return self._ask(question)

    def add(self, runs: Iterable[Run], *, dry_run: bool = False, progress: Progress | None = None) -> Added:
        """Write what is new. A run of a subject that is there is merged with its head and replaces it.

        `progress` is called with (written, to write). Everything is planned before anything is written: DocumentError
        where runs handed in under one subject cannot be merged with each other; one that cannot be merged with the
        head that is there stands in `refused`. Two writers wait for each other.
        """
        merged = one_each(runs)
        if dry_run or not merged:
            return self._plan(merged)[1]
        with locked(self.path):
            remove_left_behind(self.path, scan(self.path))
            documents, result = self._plan(merged)
            write_runs(self.path, documents, progress)
        return result

    def verify(self) -> tuple[Problem, ...]:
        """What is wrong with the ledger: see `caveat.ledger.verify` for the codes. Paths are inside the ledger."""
        return self._ask(lambda view: verify(self.path, scan(self.path), view))

    def counts(self) -> Counts:
        """How many documents the ledger's folder holds, and how many the shipped set."""
        return self._ask(lambda view: view.counts())

    def rebuild_index(self) -> None:
        """Make the index anew from the documents."""
        self._opened = None
        rebuild(self.path, scan(self.path))

    def _plan(self, merged: Sequence[Run]) -> tuple[tuple[Run, ...], Added]:
        def question(view: View) -> tuple[tuple[Run, ...], Added]:
            known = view.known([run.subject for run in merged])
            heads = self._decoded(view, [subject.head for subject in known.values() if subject.head])
            return plan(merged, known, heads)

        return self._ask(question)

    def _named(self, view: View, text: str) -> tuple[Run, str | None]:
        """The run and the metric key that a text names."""
        match = _ID.fullmatch(text)
        if match and (found := view.ids_starting(match[1].lower(), CANDIDATES + 1)):
            return self._only(view, found, text), match[2]
        return self._only(view, view.heads_of(text, CANDIDATES + 1), text), None

    def _only(self, view: View, found: Sequence[tuple[str, str]], text: str) -> Run:
        """The one document found; NotFoundError for none, and for several with their ids and subjects."""
        if not found:
            raise NotFoundError(f"nothing is called {text!r}", next="caveat figures lists what there is")
        if len(found) > 1:
            names = [f"{id[:SHOWN]} ({subject})" for id, subject in found[:CANDIDATES]]
            more = ", and more" if len(found) > CANDIDATES else ""
            raise NotFoundError(
                f"{text!r} may be any of: {', '.join(names)}{more}", code="ambiguous", next="write more of the name"
            )
        id = found[0][0]
        return self._decoded(view, [id])[id]

    def _decoded(self, view: View, ids: Sequence[str]) -> dict[str, Run]:
        missing = [id for id in dict.fromkeys(ids) if id not in self._runs]
        if missing:
            for id, document in view.documents(missing).items():
                self._runs[id] = load(document, path=id, again=True)
        return {id: self._runs[id] for id in ids}

    def _ask(self, question: Callable[[View], T]) -> T:
        """The answer of an up-to-date view. The index may vanish (another writer) or be broken: then from the
        documents alone.
        """
        import duckdb

        for anew in (False, False, True):
            try:
                return question(self._view(anew=anew))
            except duckdb.Error as error:
                self._opened = None
                wrong = error
        raise LedgerError(
            f"the index of {self.path} cannot be read: {wrong}", next="delete the folder .index inside it"
        ) from wrong

    def _view(self, *, anew: bool) -> View:
        listing = scan(self.path)
        if self._opened is None or self._opened[0] != listing.stamp:
            own = (rebuild if anew else index_of)(self.path, listing)
            self._opened = (listing.stamp, View(shipped_file() if self._shipped else None, own))
        return self._opened[1]


def _oldest_first(runs: dict[str, Run]) -> tuple[Run, ...]:
    """In order of descent: a document after the one that it replaces."""

    def age(id: str) -> tuple[int, str]:
        steps, at, seen = 0, runs[id].replaces, {id}
        while at in runs and at not in seen:
            seen.add(at)
            steps, at = steps + 1, runs[at].replaces
        return steps, id

    return tuple(runs[id] for id in sorted(runs, key=age))
