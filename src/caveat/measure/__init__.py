"""measure: the Samples schema and the protocol in which workloads and targets meet."""

from caveat.measure.samples import COLUMNS, FORMAT, schema
from caveat.measure.target import Cancel, Clock, Sink, Target

__all__ = ["COLUMNS", "FORMAT", "Cancel", "Clock", "Sink", "Target", "schema"]
