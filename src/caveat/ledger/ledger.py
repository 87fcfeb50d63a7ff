"""Ledger: a person's own documents together with the shipped set. Append-only; old ids resolve for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from caveat.errors import DocumentError, LedgerError, NotFoundError, Problem, UsageError
from caveat.figures import SHOWN, Figure, Run, load, primary_figure
from caveat.ledger.adding import Added, one_each, plan
from caveat.ledger.query import Where
from caveat.ledger.refresh import Index, Task, rebuilt, refreshed
from caveat.ledger.shipped import shipped_file
from caveat.ledger.store import Progress, locked, read_bytes, remove_left_behind, scan, write_runs
from caveat.ledger.verify import verify
from caveat.ledger.view import Counts, Located, View

ENVIRONMENT = "CAVEAT_LEDGER"
SHORTEST_PREFIX = 4
CANDIDATES = 10  # named in the error where a prefix or a suffix is not enough

_ID = re.compile(rf"([0-9a-fA-F]{{{SHORTEST_PREFIX},40}})(?:\.(.+))?")
_NO_TASK = Task()
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
        self._opened: tuple[Index, View] | None = None
        self._runs: dict[str, Run] = {}  # decoded documents by id; an id never changes its meaning

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, shipped={self._shipped})"

    def figures(
        self, where: Sequence[Where] = (), *, primary_only: bool = True, limit: int | None = None
    ) -> tuple[Figure, ...]:
        """Figures of the heads that satisfy all filters, by round, submitter, platform, benchmark and scenario.

        With `primary_only` those under which runs were published, unless a filter asks for `metric` or `primary`.
        Only what is given back is read: at most the first `limit`.
        """
        primary_only = _primary_only(where, primary_only=primary_only)

        def question(view: View) -> tuple[Figure, ...]:
            found = view.figures(where, primary_only=primary_only, limit=limit)
            runs = self._decoded(view, [id for id, _ in found])
            return tuple(Figure(runs[id], metric) for id, metric in found)

        return self._ask(question)

    def count_figures(self, where: Sequence[Where] = (), *, primary_only: bool = True) -> int:
        """How many figures `figures` would give without a limit. Reads no document."""
        primary_only = _primary_only(where, primary_only=primary_only)
        return self._ask(lambda view: view.count_figures(where, primary_only=primary_only))

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

    def siblings(self, subject: str) -> tuple[Figure, ...]:
        """The figures of the same system and benchmark under other scenarios and run paths, as published.

        A subject of fewer than four parts (one's own: `measured/<uuid>`) names no system: none.
        """
        prefix = subject.rsplit("/", 2)[0]
        if "/" not in prefix:
            return ()

        def question(view: View) -> tuple[Figure, ...]:
            runs = self._decoded(view, [id for id, other in view.heads_inside(prefix) if other != subject])
            return tuple(figure for run in runs.values() if (figure := primary_figure(run)))

        return self._ask(question)

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
            documents, result = self._plan(merged, Task(held=True))
            self._remove_left_behind()
            written = write_runs(self.path, documents, progress)
            if written:
                self._refresh(Task(held=True, written=written))
        return result

    def verify(self, progress: Progress | None = None) -> tuple[Problem, ...]:
        """What is wrong with the ledger: see `caveat.ledger.verify` for the codes. Paths are inside the ledger.

        Every document is read; `progress` is called with (read, to read).
        """
        return self._ask(lambda view: verify(self.path, scan(self.path), view, progress))

    def counts(self) -> Counts:
        """How many documents the ledger's folder holds, and how many the shipped set."""
        return self._ask(lambda view: view.counts())

    def rebuild_index(self, progress: Progress | None = None) -> None:
        """Make the index anew from the documents; `progress` is called with (read, to read)."""
        self._opened = None
        rebuilt(self.path, Task(progress=progress))

    def _plan(self, merged: Sequence[Run], task: Task = _NO_TASK) -> tuple[tuple[Run, ...], Added]:
        def question(view: View) -> tuple[tuple[Run, ...], Added]:
            known = view.known([run.subject for run in merged])
            heads = self._decoded(view, [subject.head for subject in known.values() if subject.head])
            return plan(merged, known, heads)

        return self._ask(question, task)

    def _remove_left_behind(self) -> None:
        folders = self._opened[0].manifest.folders if self._opened else {}
        remove_left_behind(self.path, [name for folder in folders.values() for name in folder.temporary])

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
        """Documents by id, in the order asked for. A file that is not as it was when its row was made is `_Touched`."""
        located = view.located(list(dict.fromkeys(ids)))
        return {id: self._run(id, located[id]) for id in ids}

    def _run(self, id: str, where: Located) -> Run:
        if where.entry is None:
            if id not in self._runs:
                self._runs[id] = load(where.document or b"", path=id, again=True)
            return self._runs[id]
        try:
            content = read_bytes(self.path, where.entry, untouched=True)
        except DocumentError as error:
            raise _Touched(id) from error
        if id not in self._runs:
            self._runs[id] = load(content, path=where.entry.name, again=True)
        return self._runs[id]

    def _ask(self, question: Callable[[View], T], task: Task = _NO_TASK) -> T:
        """The answer of an up-to-date view. A file may change under it, the index may vanish (another writer) or be
        broken: then it is asked again, at last from the documents alone.
        """
        import duckdb

        wrong: Exception | None = None
        for anew in (False, False, False, True):
            try:
                return question(self._view(task, anew=anew))
            except duckdb.Error as error:
                self._opened, wrong = None, error
            except _Touched as error:
                task, wrong = msgspec.structs.replace(task, at=(*task.at, error.id[:2])), error
        raise LedgerError(
            f"the index of {self.path} cannot be read: {wrong}", next="delete the folder .index inside it"
        ) from wrong

    def _view(self, task: Task, *, anew: bool) -> View:
        if anew:
            self._open(rebuilt(self.path, task))
        else:
            self._refresh(task)
        assert self._opened is not None
        return self._opened[1]

    def _refresh(self, task: Task) -> None:
        self._open(refreshed(self.path, self._opened[0] if self._opened else None, task))

    def _open(self, index: Index) -> None:
        """Look through this index from now on; the view stays where its rows are the same."""
        if self._opened is not None:
            before, view = self._opened
            if before.manifest.parts == index.manifest.parts and before.memory is index.memory:
                self._opened = (index, view)
                return
        self._opened = None
        shipped = shipped_file() if self._shipped else None
        self._opened = (index, View(shipped, index.paths(self.path), index.memory))


class _Touched(Exception):
    """A document is not as it was when its row was made."""

    def __init__(self, id: str) -> None:
        super().__init__(f"document {id} changes again and again")
        self.id = id


def _primary_only(where: Sequence[Where], *, primary_only: bool) -> bool:
    return primary_only and not any(filter.key in ("metric", "primary") for filter in where)


def _oldest_first(runs: dict[str, Run]) -> tuple[Run, ...]:
    """In order of descent: a document after the one that it replaces."""

    def age(id: str) -> tuple[int, str]:
        steps, at, seen = 0, runs[id].replaces, {id}
        while at in runs and at not in seen:
            seen.add(at)
            steps, at = steps + 1, runs[at].replaces
        return steps, id

    return tuple(runs[id] for id in sorted(runs, key=age))
