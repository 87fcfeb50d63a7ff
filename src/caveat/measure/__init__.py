"""measure: the Samples schema, the protocol in which workloads and targets meet, and what samples become."""

from caveat.measure.client import Client
from caveat.measure.columns import SampleColumns, Samples, columns_of
from caveat.measure.concurrency import in_flight, over_time
from caveat.measure.difference import Difference, difference
from caveat.measure.goodput import Slo
from caveat.measure.live import Live, LiveView
from caveat.measure.parquet_sink import ParquetSink
from caveat.measure.rows import Absent
from caveat.measure.samples import COLUMNS, FORMAT, schema
from caveat.measure.series import Cdf, OverTime, Series, series_of
from caveat.measure.sinks import Counting, Kept, Tee
from caveat.measure.summary import Summary, run_of, summarize
from caveat.measure.target import Cancel, Clock, Sink, Target
from caveat.measure.windows import WarmUp

__all__ = [
    "COLUMNS",
    "FORMAT",
    "Absent",
    "Cancel",
    "Cdf",
    "Client",
    "Clock",
    "Counting",
    "Difference",
    "Kept",
    "Live",
    "LiveView",
    "OverTime",
    "ParquetSink",
    "SampleColumns",
    "Samples",
    "Series",
    "Sink",
    "Slo",
    "Summary",
    "Target",
    "Tee",
    "WarmUp",
    "columns_of",
    "difference",
    "in_flight",
    "over_time",
    "run_of",
    "schema",
    "series_of",
    "summarize",
]
