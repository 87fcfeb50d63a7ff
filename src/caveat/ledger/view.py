"""A view: DuckDB in memory over the shipped set and one ledger's index, as both were at one moment.

A question about one subject or one id looks at the rows of that one; only a question about all finds all heads.

Heads are the documents that no other document of their subject replaces. Where a subject has several (two
ledgers were merged, or a newer shipped set came), the richest is shown and `forks` names the rest.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from caveat.ledger.index import CLUSTERED_BY, COLUMNS
from caveat.ledger.query import Where, condition_sql
from caveat.ledger.store import Entry

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_ORDER = ", ".join(f'"{key}" NULLS LAST' for key in CLUSTERED_BY)
_SETTINGS: dict[str, Any] = {
    "threads": 2,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# A document that lies in both sets counts once, as the ledger's own: it knows what it replaced.
_DOCUMENTS = """
CREATE TABLE in_both AS SELECT id FROM shipped WHERE id IN (SELECT id FROM own);
CREATE VIEW documents AS
SELECT * FROM shape
UNION ALL BY NAME SELECT * FROM own
UNION ALL BY NAME SELECT * FROM shipped WHERE id NOT IN (SELECT id FROM in_both)
"""
# The heads among the documents `family`, which must be all those of their subjects.
_HEADS = """
SELECT id, subject,
       row_number() OVER (PARTITION BY subject ORDER BY source_rank, source_count DESC, id) AS place
FROM family AS old
WHERE NOT EXISTS (
    SELECT 1 FROM family AS new
    WHERE new.subject = old.subject AND new.replaces = old.id AND new.id <> old.id
)
"""
_OF_DESCENT = "id, subject, replaces, source_rank, source_count"
_FAMILY = f"SELECT {_OF_DESCENT} FROM documents"  # noqa: S608  (names of ours)
_SOME = f"WITH family AS ({_FAMILY} WHERE subject IN (SELECT unnest(?))), heads AS ({_HEADS})"
_ALL_HEADS = f"CREATE TABLE heads AS WITH family AS ({_FAMILY}) {_HEADS}"


class Located(msgspec.Struct, frozen=True):
    """Where a document is: in the shipped set, as it stands here, or in the file of an entry."""

    document: bytes | None
    entry: Entry | None


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

    def __init__(self, shipped: Path | None, own: Sequence[Path], memory: pa.Table | None = None) -> None:
        self._tables = (shipped, tuple(own), memory)
        self._has_heads = False

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        """Opened for the first question that needs it: a database takes 40 MB and a tenth of a second."""
        return _database(*self._tables)

    def _ask(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.cursor().execute(sql, [_bindable(value) for value in parameters]).fetchall()

    def _ask_heads(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """A question about the heads of all subjects, which are found once and only if asked for."""
        if not self._has_heads:
            self._connection.execute(_ALL_HEADS)
            self._has_heads = True
        return self._ask(sql, parameters)

    def figures(self, where: Sequence[Where], *, primary_only: bool, limit: int | None = None) -> list[tuple[str, str]]:
        """(run id, metric key) of the heads' figures that satisfy all filters, in the order of the ledger."""
        sql, parameters = self._of_figures(where, primary_only=primary_only)
        return self._ask_heads(
            f"SELECT id, figure.metric {sql} "
            f"ORDER BY {_ORDER}, subject, figure.metric <> primary_metric, figure.metric LIMIT ?",
            [*parameters, limit],
        )

    def count_figures(self, where: Sequence[Where], *, primary_only: bool) -> int:
        """How many there are of them."""
        sql, parameters = self._of_figures(where, primary_only=primary_only)
        return int(self._ask_heads(f"SELECT count(*) {sql}", parameters)[0][0])

    def _of_figures(self, where: Sequence[Where], *, primary_only: bool) -> tuple[str, list[object]]:
        conditions, parameters = _all(where)
        if primary_only:
            conditions += " AND figure.metric = primary_metric"
        return (
            "FROM (SELECT *, unnest(figures) AS figure FROM documents) "  # noqa: S608
            f"WHERE id IN (SELECT id FROM heads WHERE place = 1) AND {conditions}"
        ), parameters

    def runs(self, where: Sequence[Where]) -> list[str]:
        """Ids of the heads that satisfy all filters; one about figures holds if a single figure satisfies all."""
        if any(filter.of_figure for filter in where):
            return list(dict.fromkeys(id for id, _ in self.figures(where, primary_only=False)))
        conditions, parameters = _all(where)
        found = self._ask_heads(
            f"SELECT id FROM documents WHERE id IN (SELECT id FROM heads WHERE place = 1) AND {conditions} "  # noqa: S608
            f"ORDER BY {_ORDER}, subject",
            parameters,
        )
        return [id for (id,) in found]

    def located(self, ids: Sequence[str]) -> dict[str, Located]:
        """Where documents are, by id; an id that is not there is left out."""
        if not ids:
            return {}
        shipped = self._ask("SELECT id, document FROM shipped WHERE id IN (SELECT unnest(?))", [list(ids)])
        own = self._ask("SELECT id, size, changed_ns FROM own WHERE id IN (SELECT unnest(?))", [list(ids)])
        return {
            **{id: Located(document, None) for id, document in shipped},
            **{id: Located(None, Entry(id, size, changed_ns)) for id, size, changed_ns in own},
        }

    def ids_starting(self, prefix: str, limit: int) -> list[tuple[str, str]]:
        """(id, subject) of documents whose id starts so, replaced ones too."""
        return self._ask(
            "SELECT id, subject FROM documents WHERE starts_with(id, ?) ORDER BY id LIMIT ?", [prefix, limit]
        )

    def heads_of(self, subject: str, limit: int) -> list[tuple[str, str]]:
        """(id, subject) of the heads with this subject, or else of those whose subject ends in it."""
        return self._heads_among([subject]) or self._heads_among(
            self._subjects("ends_with(subject, '/' || ?)", subject, limit)
        )

    def heads_inside(self, prefix: str) -> list[tuple[str, str]]:
        """(id, subject) of the heads whose subjects are the prefix with two more parts."""
        found = self._subjects("starts_with(subject, ? || '/')", prefix, None)
        return self._heads_among([subject for subject in found if subject.rsplit("/", 2)[0] == prefix])

    def _subjects(self, condition: str, text: str, limit: int | None) -> list[str]:
        found = self._ask(
            f"SELECT DISTINCT subject FROM documents WHERE {condition} ORDER BY subject LIMIT ?",  # noqa: S608
            [text, limit],
        )
        return [subject for (subject,) in found]

    def _heads_among(self, subjects: Sequence[str]) -> list[tuple[str, str]]:
        if not subjects:
            return []
        sql = f"{_SOME} SELECT id, subject FROM heads WHERE place = 1 ORDER BY subject"  # noqa: S608  (names of ours)
        return self._ask(sql, [list(subjects)])

    def known(self, subjects: Sequence[str]) -> dict[str, Known]:
        """What is there of these subjects. Of new ones nothing is, which their column alone tells."""
        if not self._has_any(subjects):
            return {}
        found = self._ask(
            f"{_SOME} SELECT subject, max(heads.id) FILTER (place = 1), list(family.id) "  # noqa: S608
            "FROM family LEFT JOIN heads USING (id, subject) GROUP BY subject",
            [list(subjects)],
        )
        return {subject: Known(head, frozenset(ids)) for subject, head, ids in found}

    def _has_any(self, subjects: Sequence[str]) -> bool:
        """Whether a row of any of these subjects may be there; a file that cannot be read may hold one."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        shipped, own, memory = self._tables
        wanted = pa.array(list(subjects), pa.string())
        try:
            tables = (
                pq.read_table(path, columns=["subject"], partitioning=None)
                for path in (*([shipped] if shipped else []), *own)
            )
            held = () if memory is None else (memory,)
            return any(pc.any(pc.is_in(table["subject"], wanted)).as_py() for table in (*held, *tables))
        except (OSError, pa.ArrowException):
            return True

    def own_rows(self, first: str, last: str) -> pa.Table:
        """The rows of the ledger's own index with ids between those two, by id."""
        names = ", ".join(f'"{name}"' for name, _ in COLUMNS if name != "document")
        sql = f"SELECT {names} FROM own WHERE id BETWEEN ? AND ? ORDER BY id"  # noqa: S608  (names of ours)
        return self._connection.cursor().sql(sql, params=[first, last]).to_arrow_table()

    def own_ids(self) -> set[str]:
        """The ids of all rows of the ledger's own index."""
        return {id for (id,) in self._ask("SELECT id FROM own")}

    def counts(self) -> Counts:
        """How many documents there are."""
        return Counts(*self._ask("SELECT (SELECT count(*) FROM own), (SELECT count(*) FROM shipped)")[0])

    def forks(self) -> list[tuple[str, list[str]]]:
        """(subject, ids of its heads, the one shown first) where there are several."""
        return self._ask_heads(
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
        return self._ask_heads(
            "SELECT subject, list(id ORDER BY id) FROM documents WHERE subject NOT IN (SELECT subject FROM heads) "
            "GROUP BY subject ORDER BY subject"
        )


def _bindable(value: object) -> object:
    """DuckDB takes what UTF-8 can write. No document holds another text: asking for its visible form loses nothing."""
    if isinstance(value, list):
        return [_bindable(one) for one in value]
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _all(where: Sequence[Where]) -> tuple[str, list[object]]:
    parts = [condition_sql(filter) for filter in where]
    return " AND ".join(["true", *(sql for sql, _ in parts)]), [value for _, values in parts for value in values]


def _database(shipped: Path | None, own: Sequence[Path], memory: pa.Table | None) -> duckdb.DuckDBPyConnection:
    """In memory, with views of the files by the names that questions use."""
    import duckdb

    connection = duckdb.connect(config=_SETTINGS)
    columns = ", ".join(f'"{name}" {sql}' for name, sql in COLUMNS)
    connection.execute(f"CREATE TABLE shape ({columns})")
    _attach(connection, "shipped", [shipped] if shipped else [])
    _attach(connection, "parts", own)
    _hold(connection, "memory", memory)
    connection.execute("CREATE VIEW own AS SELECT * FROM parts UNION ALL BY NAME SELECT * FROM memory")
    connection.execute(_DOCUMENTS)
    return connection


def _attach(connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[Path]) -> None:
    """Call the rows by a name. A path is escaped: it may look like a pattern or hold `key=value` folders."""
    if not files:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM shape")  # noqa: S608  (a name of ours)
        return
    patterns = [glob.escape(str(path.absolute())) for path in files]
    connection.read_parquet(patterns, hive_partitioning=False).create_view(name)


def _hold(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table | None) -> None:
    if rows is None:
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM shape")  # noqa: S608  (a name of ours)
        return
    connection.register("rows", rows)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")  # noqa: S608  (a name of ours)
    connection.unregister("rows")
