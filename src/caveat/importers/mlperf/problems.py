"""Every problem that reading a submission tree can report: one visible table of stable codes, and one maker."""

from __future__ import annotations

from caveat.errors import Problem
from caveat.importers.mlperf.stated_text import harmless

FOUND_LENGTH = 120

# code, (what is wrong, what was expected). Codes are stable: scripts and tests count by them.
CODES: dict[str, tuple[str, str]] = {
    "path-missing": ("there is nothing at this path", "a submission tree, a part of one, or a LoadGen log"),
    "no-results": (
        "no result was found below this path",
        "folders .../results/<system>/<model>/<scenario>/performance/run_1",
    ),
    "not-a-result": ("the path lies in a folder whose logs are no results", "performance/run_1 of a scenario folder"),
    "folder-unreadable": ("the folder cannot be listed", "a folder that may be read"),
    "file-unreadable": ("the file cannot be read", "a regular file that may be read"),
    "subject-twice": ("a second run claims the same place", "one run for each place; the first is kept"),
    "log-missing": ("performance/run_1 holds no log", "mlperf_log_summary.txt or mlperf_log_detail.txt"),
    "log-empty": ("the log holds no record of LoadGen", "the records of a performance run"),
    "log-truncated": ("the log ends before its results", "a log written to its end"),
    "log-malformed-line": ("a line is no record of LoadGen", ":::MLLOG and one JSON object"),
    "log-repeated": ("the log holds the results of several runs; the first are taken", "the log of one run"),
    "log-not-utf8": ("the log is not UTF-8 text", "UTF-8"),
    "log-too-large": ("the log or a line of it is too large to be one", "a smaller file"),
    "log-not-performance": ("the log is not of a performance run", "Mode PerformanceOnly"),
    "result-missing": ("the log lacks the value that is published", "the result key of round, benchmark and scenario"),
    "logs-differ": ("summary and detail log of the run say different things", "the same values within rounding"),
    "scenario-differs": ("the log's scenario is not that of its folder", "the scenario of the folder"),
    "seeds-unknown": ("the seeds belong to no known round", "the three seeds of one round"),
    "limits-differ": (
        "the log's latency limits are not those of the round",
        "the limits of benchmark, round and scenario",
    ),
    "value-impossible": ("the value cannot be; it is not recorded", "a positive number of an everyday size"),
    "errors-logged": ("the harness logged errors", "no errors"),
    "schedule-differs": (
        "the arrivals are not those that the seed gives",
        "LoadGen's schedule for the logged settings",
    ),
    "benchmark-unknown": (
        "the model's folder names no benchmark of the tables",
        "an official name; open submissions may have their own",
    ),
    "accuracy-missing": ("the accuracy report is missing", "accuracy/accuracy.txt"),
    "accuracy-unrecognised": ("the accuracy report holds no score that is known", "the score line of the evaluation"),
    "accuracy-log-in-wrong-place": ("the accuracy folder holds the log of another mode", "the log of an accuracy run"),
    "accuracy-seeds-unknown": (
        "the seeds of the accuracy log belong to no known round",
        "the three seeds of one round",
    ),
    "system-missing": ("the system description is missing", "systems/<platform>.json"),
    "system-bad-json": ("the system description cannot be read as JSON", "one JSON object"),
    "measurement-missing": ("the measurement description is missing", "a JSON object with weight_data_types"),
    "measurement-bad-json": ("the measurement description cannot be read as JSON", "one JSON object"),
    "mapping-bad-json": ("the model mapping cannot be read as JSON", "one JSON object of texts"),
    # any file
    "format-unknown": ("no format is recognised in this file", "a file of a known format"),
    "document-malformed": ("the document breaks its own format", "a Run document"),
    "sources-differ": ("files of one run give different values; the richer one is believed", "the same to 1e-4"),
    "subject-differs": ("two documents of one subject cannot be the same run; the first is kept", "one run"),
    # published tables
    "table-too-large": ("the table is too large to be one", "a smaller file"),
    "table-malformed": ("the table breaks off or stops being one", "a table that is whole"),
    "table-not-utf8": ("bytes that are no UTF-8 were replaced", "UTF-8"),
    "row-malformed": ("the row is no result", "as many fields as columns, or a JSON object"),
    "row-incomplete": (
        "the row does not say whose result it is",
        "a location, or division, submitter, platform and model",
    ),
    "row-duplicate": ("a second row for one result; the first is kept", "one row for each result"),
    "word-unknown": ("a word that the conditions do not know; left undisclosed", "a word of the table of conditions"),
    "unit-unexpected": ("the unit contradicts the metric; the value is not recorded", "the unit of the round's metric"),
    "rate-implausible": ("the rate looks like samples/s under the label tokens/s; it is not recorded", "tokens/s"),
}


def problem(
    code: str,
    path: str,
    *,
    detail: str = "",
    line: int | None = None,
    found: object = None,
    expected: str | None = None,
    next: str | None = None,
) -> Problem:
    """One problem of the table. `detail` says more about this case; `found` may be hostile and is cut and cleaned."""
    message, usual = CODES[code]
    return Problem(
        code=code,
        path=harmless(path, 1000),
        message=f"{message}: {harmless(detail, 300)}" if detail else message,
        line=line,
        found=None if found is None else harmless(_words(found), FOUND_LENGTH),
        expected=expected or usual,
        next=next,
    )


def _words(found: object) -> str:
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
