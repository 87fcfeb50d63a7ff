"""figures: what caveat keeps. A Run is the document, a Figure one value of it with all its conditions."""

from caveat.figures.condition_values import Claim, Conditions, conditions_of, limit_percentile
from caveat.figures.conditions import GROUPS, SCENARIOS, TABLE
from caveat.figures.figure import Figure, figures_of, primary_figure
from caveat.figures.kinds import LENGTH_STATISTICS, Condition, Value, format_value
from caveat.figures.merge import close, merge, merge_all, same_facts
from caveat.figures.metrics import METRICS, Metric, metric
from caveat.figures.printable import printable
from caveat.figures.provenance import SOURCE_KINDS, Provenance, Source
from caveat.figures.run import FORMAT, SHOWN, Row, Run, Spread, canonical, dump, load
from caveat.figures.schema import json_schema
from caveat.figures.validity import ASPECTS, Check, Outcome, concerning, outcome

__all__ = [
    "ASPECTS",
    "FORMAT",
    "GROUPS",
    "LENGTH_STATISTICS",
    "METRICS",
    "SCENARIOS",
    "SHOWN",
    "SOURCE_KINDS",
    "TABLE",
    "Check",
    "Claim",
    "Condition",
    "Conditions",
    "Figure",
    "Metric",
    "Outcome",
    "Provenance",
    "Row",
    "Run",
    "Source",
    "Spread",
    "Value",
    "canonical",
    "close",
    "concerning",
    "conditions_of",
    "dump",
    "figures_of",
    "format_value",
    "json_schema",
    "limit_percentile",
    "load",
    "merge",
    "merge_all",
    "metric",
    "outcome",
    "primary_figure",
    "printable",
    "same_facts",
]
