"""publish: figures for people and programs. Every renderer takes figures, and none drops their conditions."""

from caveat.publish.ask import Question, Questions, ask_claim, ask_figure, partners_of
from caveat.publish.card import card
from caveat.publish.charts_files import is_chart_name, write_chart
from caveat.publish.cite import FORMS as CITATION_FORMS
from caveat.publish.cite import Citation, cite, written
from caveat.publish.claim import parse_claim
from caveat.publish.columns import checked_columns, chips
from caveat.publish.export import FORMS as EXPORT_FORMS
from caveat.publish.export import export
from caveat.publish.figure_json import figure_json
from caveat.publish.plot import Chart, plot_run, plot_sweep, plot_trace
from caveat.publish.tables import (
    DEFAULT_COLUMNS,
    caveat_lines,
    cell,
    common_conditions,
    figures_table,
    plain_table,
    spread_line,
    two_line_table,
)
from caveat.publish.text import cut, json_text, latex, markdown, printable, wrapped

__all__ = [
    "CITATION_FORMS",
    "DEFAULT_COLUMNS",
    "EXPORT_FORMS",
    "Chart",
    "Citation",
    "Question",
    "Questions",
    "ask_claim",
    "ask_figure",
    "card",
    "caveat_lines",
    "cell",
    "checked_columns",
    "chips",
    "cite",
    "common_conditions",
    "cut",
    "export",
    "figure_json",
    "figures_table",
    "is_chart_name",
    "json_text",
    "latex",
    "markdown",
    "parse_claim",
    "partners_of",
    "plain_table",
    "plot_run",
    "plot_sweep",
    "plot_trace",
    "printable",
    "spread_line",
    "two_line_table",
    "wrapped",
    "write_chart",
    "written",
]
