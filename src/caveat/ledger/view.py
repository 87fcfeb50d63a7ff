"""A view: DuckDB in memory over the shipped set and one ledger's index, as both were at one moment.

Heads are the documents that no other document of their subject replaces. Where a subject has several (two
ledgers were merged, or a newer shipped set came), the richest is shown and `forks` names the rest.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from caveat.ledger.index import CLUSTERED_BY, COLUMNS
from caveat.ledger.query import Where, condition_sql

if TYPE_CHECKING:
    import pyarrow as pa

_ORDER = ", ".join(f'"{key}" NULLS LAST' for key in CLUSTERED_BY)
_SETTINGS: dict[str, Any] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# A document that lies in both sets counts once, as the ledger's own: it knows what it replaced.
_DOCUMENTS = """
CREATE VIEW documents AS
SELECT * FROM shape
UNION ALL BY NAME SELECT * FROM own
UNION ALL BY NAME SELECT * FROM shipped WHERE id NOT IN (SELECT id FROM own)
"""
_HEADS = """
CREATE TABLE heads AS
SELECT id, subject,
       row_number() OVER (PARTITION BY subject ORDER BY source_rank, source_count DESC, id) AS place
FROM documents AS old
WHERE NOT EXISTS (
    SELECT 1 FROM documents AS new
    WHERE new.subject = old.subject AND new.replaces = old.id AND new.id <> old.id
)
"""


class Known(msgspec.Struct, frozen=True):
    """What is there of one subject: the id of its head and the ids of all its documents."""

    head: str | None
    ids: frozenset[str]


class Counts(msgspec.Struct, frozen=True):
    """How many documents there are: of the ledger's own that can be read, and in the shipped set."""

    own: int
    shipped: int


class View:
    """Questions about documents. Raises duckdb.Error where a file of the index cannot be read."""

    def __init__(self, shipped: Path | None, own: Path | pa.Table | None) -> None:
        import duckdb

        self._connection = duckdb.connect(config=_SETTINGS)
        columns = ", ".join(f'"{name}" {sql}' for name, sql in COLUMNS)
        self._connection.execute(f"CREATE TABLE shape ({columns})")
        for name, rows in (("shipped", shipped), ("own", own)):
            self._attach(name, rows)
        self._connection.execute(_DOCUMENTS)
        self._connection.execute(_HEADS)

    def _attach(self, name: str, rows: Path | pa.Table | None) -> None:
        """Call the rows by a name. A path is escaped: it may look like a pattern or hold `key=value` folders."""
        if rows is None:
            self._connection.execute(f"CREATE VIEW {name} AS SELECT * FROM shape")  # noqa: S608  (a name of ours)
        elif isinstance(rows, Path):
            pattern = glob.escape(str(rows.absolute()))
            self._connection.read_parquet(pattern, hive_partitioning=False).create_view(name)
        else:
            self._connection.register("rows", rows)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")  # noqa: S608  (a name of ours)
            self._connection.unregister("rows")

    def _ask(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.cursor().execute(sql, [_bindable(value) for value in parameters]).fetchall()

    def figures(self, where: Sequence[Where], *, primary_only: bool) -> list[tuple[str, str]]:
        """(run id, metric key) of the heads' figures that satisfy all filters, in the order of the ledger."""
        conditions, parameters = _all(where)
        if primary_only:
            conditions += " AND figure.metric = primary_metric"
        return self._ask(
            "SELECT id, figure.metric FROM (SELECT *, unnest(figures) AS figure FROM documents) "  # noqa: S608
            f"WHERE id IN (SELECT id FROM heads WHERE place = 1) AND {conditions} "
            f"ORDER BY {_ORDER}, subject, figure.metric <> primary_metric, figure.metric",
            parameters,
        )

    def runs(self, where: Sequence[Where]) -> list[str]:
        """Ids of the heads that satisfy all filters; one about figures holds if a single figure satisfies all."""
        if any(filter.of_figure for filter in where):
            return list(dict.fromkeys(id for id, _ in self.figures(where, primary_only=False)))
        conditions, parameters = _all(where)
        found = self._ask(
            f"SELECT id FROM documents WHERE id IN (SELECT id FROM heads WHERE place = 1) AND {conditions} "  # noqa: S608
            f"ORDER BY {_ORDER}, subject",
            parameters,
        )
        return [id for (id,) in found]

    def documents(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Documents by id; an id that is not there is left out."""
        return dict(self._ask("SELECT id, document FROM documents WHERE id IN (SELECT unnest(?))", [list(ids)]))

    def ids_starting(self, prefix: str, limit: int) -> list[tuple[str, str]]:
        """(id, subject) of documents whose id starts so, replaced ones too."""
        return self._ask(
            "SELECT id, subject FROM documents WHERE starts_with(id, ?) ORDER BY id LIMIT ?", [prefix, limit]
        )

    def heads_of(self, subject: str, limit: int) -> list[tuple[str, str]]:
        """(id, subject) of the heads with this subject, or else of those whose subject ends in it."""
        return self._ask("SELECT id, subject FROM heads WHERE place = 1 AND subject = ?", [subject]) or self._ask(
            "SELECT id, subject FROM heads WHERE place = 1 AND ends_with(subject, '/' || ?) ORDER BY subject LIMIT ?",
            [subject, limit],
        )

    def known(self, subjects: Sequence[str]) -> dict[str, Known]:
        """What is there of these subjects."""
        found = self._ask(
            "SELECT subject, max(heads.id) FILTER (place = 1), list(documents.id) "
            "FROM documents LEFT JOIN heads USING (id, subject) WHERE subject IN (SELECT unnest(?)) GROUP BY subject",
            [list(subjects)],
        )
        return {subject: Known(head, frozenset(ids)) for subject, head, ids in found}

    def own_documents(self) -> dict[str, bytes]:
        """All documents of the ledger's own index, by id."""
        return dict(self._ask("SELECT id, document FROM own"))

    def counts(self) -> Counts:
        """How many documents there are."""
        return Counts(*self._ask("SELECT (SELECT count(*) FROM own), (SELECT count(*) FROM shipped)")[0])

    def forks(self) -> list[tuple[str, list[str]]]:
        """(subject, ids of its heads, the one shown first) where there are several."""
        return self._ask(
            "SELECT subject, list(id ORDER BY place) FROM heads GROUP BY subject HAVING count(*) > 1 ORDER BY subject"
        )

    def dangling(self) -> list[tuple[str, str]]:
        """(id, id it says it replaces) where no document of its subject has that id."""
        return self._ask(
            "SELECT id, replaces FROM documents AS new WHERE replaces IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM documents AS old WHERE old.id = new.replaces AND old.subject = new.subject) ORDER BY id"
        )

    def headless(self) -> list[tuple[str, list[str]]]:
        """(subject, ids) where every document is replaced by another: a circle."""
        return self._ask(
            "SELECT subject, list(id ORDER BY id) FROM documents WHERE subject NOT IN (SELECT subject FROM heads) "
            "GROUP BY subject ORDER BY subject"
        )


def _bindable(value: object) -> object:
    """DuckDB takes what UTF-8 can write. No document holds another text: asking for its visible form loses nothing."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _all(where: Sequence[Where]) -> tuple[str, list[object]]:
    parts = [condition_sql(filter) for filter in where]
    return " AND ".join(["true", *(sql for sql, _ in parts)]), [value for _, values in parts for value in values]
