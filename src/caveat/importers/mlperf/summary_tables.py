"""Published tables of results: one Run for each row of a language, vision-language or speech benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from caveat.errors import Problem
from caveat.facts import Benchmark, benchmark_named, is_other_benchmark, round_index, scenario_of, scenario_within
from caveat.figures import METRICS, Check, Provenance, Row, Run, Source, conditions_of, merge_all
from caveat.importers.imported import Imported
from caveat.importers.mlperf.place import Place, place_of
from caveat.importers.mlperf.problems import problem
from caveat.importers.mlperf.rules_conditions import may_be_endpoints, rules_run
from caveat.importers.mlperf.summary_conditions import conditions_said
from caveat.importers.mlperf.summary_values import POWER_UNITS, Refusal, number, published_row
from caveat.importers.mlperf.table_rows import Table, TableRow, read_table
from caveat.units import Unit

SOURCE_KIND = "published-summary"
REVIEWED = "reviewed by the publisher's process; the log was not seen"
LOOKS_LIKE_SAMPLES = 40.0  # a token rate this many times below another scenario's of the same system

_ROUND = re.compile(r"v[0-9]{1,2}\.[0-9]{1,2}")
_PASSED = ("", "1", "1.0", "true", "closed", "open", "network", "valid", "passed")
_FAILED = ("0", "0.0", "false", "invalid", "failed")
_MARK_MEANS_CASE_FROM = "v6.0"


class Filed(msgspec.Struct, frozen=True, kw_only=True):
    """Whose result a row is: its place, benchmark, round and scenario, and the subject that follows."""

    place: Place
    benchmark: Benchmark
    round_name: str | None
    scenario: str

    @property
    def subject(self) -> str:
        """The subject of the run, the same as that of its log."""
        return self.place.subject(self.round_name)


def read_summary(path: Path) -> Imported:
    """All language-model rows of a table. Never raises; a row that cannot be used is a problem or is counted."""
    table = read_table(path)
    if table.columns is None or not table.rows:
        return Imported(problems=(*table.problems, *_why_empty(path, table)))
    column = table.columns.names["value"]
    reading = _Reading(path, table.sha256, column)
    for row in _with_power(table.rows):
        reading.take(row)
    reading.drop_implausible()
    return Imported(
        runs=tuple(reading.runs.values()),
        problems=(*table.problems, *reading.problems),
        passed_over=reading.passed_over,
    )


def _why_empty(path: Path, table: Table) -> tuple[Problem, ...]:
    """That a table has no rows or is none, unless its problems say so already."""
    if any(one.code != "table-not-utf8" for one in table.problems):
        return ()
    detail = "it has no columns of results" if table.columns is None else "it has no rows"
    return (problem("table-malformed", str(path), detail=detail),)


class _Reading:
    """What has been read of one table so far."""

    def __init__(self, path: Path, sha256: str, column: str) -> None:
        self.path = path
        self.sha256 = sha256
        self.column = column
        self.runs: dict[str, Run] = {}
        self.lines: dict[str, TableRow] = {}
        self.problems: list[Problem] = []
        self.passed_over: dict[str, int] = {}

    def take(self, row: TableRow) -> None:
        """Make the run of one row, or say why not."""
        filed = self._filed(row)
        if filed is None:
            return
        if _inferred_from_another(row, filed):
            self._pass_over("inferred from another scenario, not measured")
            return
        value = published_row(row.cells, filed.benchmark, filed.round_name, filed.scenario, column=self.column)
        if isinstance(value, Refusal):
            self._refuse(row, value)
        elif filed.subject in self.runs:
            self._say("row-duplicate", row, f"the result of row {self.lines[filed.subject].number}", filed.subject)
        else:
            self.runs[filed.subject] = self._run(row, filed, value)
            self.lines[filed.subject] = row

    def drop_implausible(self) -> None:
        """Take out token rates that can only be samples/s under the wrong label (rows of the Endpoints harness)."""
        highest: dict[str, float] = {}
        for run in self.runs.values():
            if _counts_tokens(run):
                system = _system(run)
                highest[system] = max(highest.get(system, 0.0), run.rows[0].value)
        for subject, run in list(self.runs.items()):
            far_below = _counts_tokens(run) and run.rows[0].value * LOOKS_LIKE_SAMPLES < highest[_system(run)]
            if far_below and _may_be_endpoints(run):
                detail = f"another scenario of this system has {highest[_system(run)]:g} tokens/s"
                self._say("rate-implausible", self.lines[subject], detail, f"{run.rows[0].value:g}")
                del self.runs[subject]

    def _filed(self, row: TableRow) -> Filed | None:
        """Whose result the row is; None, with a problem or a count, where it is none of ours."""
        cells = row.cells
        name = cells.get("benchmark") or cells.get("model_folder", "")
        benchmark = benchmark_named(name)
        if benchmark is None:
            if is_other_benchmark(name):
                self._pass_over("not a language or speech benchmark")
            else:
                self._say("benchmark-unknown", row, "", name)
            return None
        place = place_of(cells.get("location", "")) or _place_in_columns(row)
        if place is None:
            self._say("row-incomplete", row, "", cells.get("location", "nothing"))
            return None
        version = cells.get("round", "").lower()
        return Filed(
            place=place,
            benchmark=benchmark,
            round_name=version if _ROUND.fullmatch(version) else None,
            scenario=scenario_within(place.model) or place.scenario,
        )

    def _run(self, row: TableRow, filed: Filed, value: Row) -> Run:
        said = conditions_said(row.cells, filed.place, filed.benchmark, str(self.path), row.line)
        self.problems.extend(said.problems)
        named = {"round": filed.round_name, "scenario": filed.scenario, "benchmark": filed.benchmark.id}
        source = Source(kind=SOURCE_KIND, path=self.path.name, sha256=self.sha256, place=f"row {row.number}")
        stated = Run(
            subject=filed.subject,
            conditions=conditions_of({**named, **said.values}, not_applicable=said.not_applicable, claims=said.claims),
            provenance=Provenance(origin="imported", sources=(source,)),
            rows=(value,),
            primary=value.metric,
            validity=tuple(_checks(row)),
            notes=tuple(_notes(row, filed)),
        )
        division = filed.place.division
        rules = rules_run(filed.subject, filed.benchmark, filed.round_name, filed.scenario, division)
        return merge_all((stated, rules))

    def _refuse(self, row: TableRow, refusal: Refusal) -> None:
        if not refusal.code:
            self._pass_over(refusal.message)
            return
        self.problems.append(
            problem(
                refusal.code,
                str(self.path),
                detail=f"row {row.number}",
                line=row.line,
                found=refusal.found,
                expected=refusal.expected,
            )
        )

    def _say(self, code: str, row: TableRow, detail: str, found: str) -> None:
        where = f"row {row.number}" + (f", {detail}" if detail else "")
        self.problems.append(problem(code, str(self.path), detail=where, line=row.line, found=found))

    def _pass_over(self, reason: str) -> None:
        self.passed_over[reason] = self.passed_over.get(reason, 0) + 1


def _place_in_columns(row: TableRow) -> Place | None:
    """The place from the other columns, for tables without a location."""
    cells = row.cells
    scenario = scenario_of(cells.get("scenario", ""))
    parts = [cells.get(key, "") for key in ("division", "submitter", "platform")]
    folder = cells.get("model_folder") or cells.get("benchmark", "")
    if scenario is None or not all((*parts, folder)) or any("/" in part for part in (*parts, folder)):
        return None
    division, submitter, platform = parts
    return place_of(f"{division.lower()}/{submitter}/results/{platform}/{folder}/{scenario}")


def _with_power(rows: tuple[TableRow, ...]) -> Iterator[TableRow]:
    """The result rows, each with the power value that the checker writes as a row of its own after it."""
    power = {_power_key(row): row.cells.get("value", "") for row in rows if _is_power(row)}
    for row in rows:
        if _is_power(row):
            continue
        watts = power.get((*_power_key(row)[:-1], "watts"))
        yield (
            msgspec.structs.replace(row, cells={**row.cells, "power_value": watts, "power_unit": "watts"})
            if watts
            else row
        )


def _is_power(row: TableRow) -> bool:
    return row.cells.get("unit", "").lower() in POWER_UNITS


def _power_key(row: TableRow) -> tuple[str, ...]:
    keys = ("location", "submitter", "platform", "model_folder", "scenario")
    return (*(row.cells.get(key, "") for key in keys), row.cells.get("unit", "").lower())


def _inferred_from_another(row: TableRow, filed: Filed) -> bool:
    """Before v6.0 the mark is true; from then on the checker also sets it for mere differences of spelling."""
    this, first = round_index(filed.round_name or ""), round_index(_MARK_MEANS_CASE_FROM)
    marked = row.cells.get("inferred", "").lower() in ("1", "1.0", "true")
    return marked and this is not None and first is not None and this < first


def _notes(row: TableRow, filed: Filed) -> Iterator[str]:
    if row.cells.get("inferred", "").lower() in ("1", "1.0", "true"):
        yield (
            "the table marks the row as inferred; from v6.0 on the checker sets that mark wherever the scenario's "
            "folder is spelt otherwise than the log's scenario, so it does not say that the value was inferred"
        )
    version = row.cells.get("round", "")
    if filed.round_name is None:
        yield f"the table does not say which round this is (version: {version or 'empty'})"


def _checks(row: TableRow) -> Iterator[Check]:
    errors = number(row.cells.get("errors", "0"))
    if errors is None:
        yield Check(aspect="errors", outcome="unknown", sentence=f"the table counts errors: {row.cells['errors']}")
    elif errors > 0:
        yield Check(aspect="errors", outcome="fail", sentence=f"the table counts {errors:g} errors")
    compliance = row.cells.get("compliance", "").lower()
    if compliance in _FAILED:
        yield Check(aspect="review", outcome="fail", sentence="the table says that compliance tests were not passed")
    elif compliance not in _PASSED:
        yield Check(aspect="review", outcome="unknown", sentence=f"the table says of compliance: {compliance}")
    else:
        yield Check(aspect="review", outcome="pass", sentence=REVIEWED)


def _counts_tokens(run: Run) -> bool:
    return METRICS[run.rows[0].metric].unit is Unit.TOKENS_PER_SECOND


def _system(run: Run) -> str:
    """The subject without its scenario: all runs of one model on one system."""
    return run.subject.rsplit("/", 2)[0]


def _may_be_endpoints(run: Run) -> bool:
    benchmark = benchmark_named(run.conditions.words("benchmark") or "")
    return benchmark is not None and may_be_endpoints(benchmark, run.conditions.words("round") or "")
