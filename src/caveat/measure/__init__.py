"""measure: the Samples schema, the protocol in which workloads and targets meet, and what samples become."""

from caveat.measure.accuracy import (
    AccuracyResult,
    Answered,
    accuracy_conditions,
    check_rows,
    judge,
    unchecked,
)
from caveat.measure.accuracy_gate import is_accuracy_run, with_accuracy
from caveat.measure.cache import CACHED_SHARE
from caveat.measure.client import Client
from caveat.measure.columns import SampleColumns, Samples, columns_of
from caveat.measure.concurrency import in_flight, over_time
from caveat.measure.demands import Demands, Threshold, demands_of, parse_threshold
from caveat.measure.difference import Difference, difference
from caveat.measure.early_stopping import budget, certified, fewest_to_certify, h_min, queries_needed
from caveat.measure.goodput import Slo
from caveat.measure.live import Live, LiveView
from caveat.measure.observed import observed_words
from caveat.measure.parquet_sink import ParquetSink
from caveat.measure.peak import find_peak_with, search_peak
from caveat.measure.peak_probe import probe_of_samples
from caveat.measure.peak_records import Outlook, Peak, PeakAsk, PeakGoal, PeakProbe, ProbeRow
from caveat.measure.peak_words import peak_json, peak_sentences
from caveat.measure.percentiles import SHARES
from caveat.measure.repeats import Repeated, repeated
from caveat.measure.rows import Absent
from caveat.measure.samples import COLUMNS, FORMAT, schema
from caveat.measure.scenario import (
    DECIDING,
    Scenario,
    Verdict,
    altered,
    scenario_of_profile,
    scenario_with,
    verdict,
)
from caveat.measure.scenario_workload import offers, workload_of_scenario
from caveat.measure.scoring import KINDS, ScoreKind, can_split_sentences, kind_named, scorer
from caveat.measure.series import Cdf, OverTime, Series, series_of
from caveat.measure.sinks import Counting, Kept, Tee
from caveat.measure.summary import Summary, run_of, summarize
from caveat.measure.target import Cancel, Clock, Sink, Target
from caveat.measure.token_check import Logged, token_checks
from caveat.measure.tokens import lengths as length_statistics
from caveat.measure.windows import WarmUp

__all__ = [
    "CACHED_SHARE",
    "COLUMNS",
    "DECIDING",
    "FORMAT",
    "KINDS",
    "SHARES",
    "Absent",
    "AccuracyResult",
    "Answered",
    "Cancel",
    "Cdf",
    "Client",
    "Clock",
    "Counting",
    "Demands",
    "Difference",
    "Kept",
    "Live",
    "LiveView",
    "Logged",
    "Outlook",
    "OverTime",
    "ParquetSink",
    "Peak",
    "PeakAsk",
    "PeakGoal",
    "PeakProbe",
    "ProbeRow",
    "Repeated",
    "SampleColumns",
    "Samples",
    "Scenario",
    "ScoreKind",
    "Series",
    "Sink",
    "Slo",
    "Summary",
    "Target",
    "Tee",
    "Threshold",
    "Verdict",
    "WarmUp",
    "accuracy_conditions",
    "altered",
    "budget",
    "can_split_sentences",
    "certified",
    "check_rows",
    "columns_of",
    "demands_of",
    "difference",
    "fewest_to_certify",
    "find_peak_with",
    "h_min",
    "in_flight",
    "is_accuracy_run",
    "judge",
    "kind_named",
    "length_statistics",
    "observed_words",
    "offers",
    "over_time",
    "parse_threshold",
    "peak_json",
    "peak_sentences",
    "probe_of_samples",
    "queries_needed",
    "repeated",
    "run_of",
    "scenario_of_profile",
    "scenario_with",
    "schema",
    "scorer",
    "search_peak",
    "series_of",
    "summarize",
    "token_checks",
    "unchecked",
    "verdict",
    "with_accuracy",
    "workload_of_scenario",
]
