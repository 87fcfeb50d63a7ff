"""What samples of a probe say to the search for the peak: who was over a limit, and how long waiting may take."""

from __future__ import annotations

import numpy as np

from caveat.errors import CannotSayError
from caveat.measure.client import Client, client_checks
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.goodput import Slo, met, why_no_goodput
from caveat.measure.latencies import VALUES
from caveat.measure.peak_records import PeakProbe
from caveat.measure.tokens import token_counts
from caveat.measure.windows import Window, window_of
from caveat.units import NS_PER_S

_QUIET = 0.1  # the quantile that is taken for a request that met no other


def probe_of_samples(columns: SampleColumns, slo: Slo, *, client: Client | None = None, run: str = "") -> PeakProbe:
    """The probe that these samples are: measured requests in order of when they were due; a failure is over.

    Raises CannotSayError where nothing was measured, or where a limit is on what the answers do not show.
    """
    window = window_of(columns)
    tokens = token_counts(columns, window)
    reason = why_no_goodput(columns, window, tokens, slo)
    if reason:
        raise CannotSayError(f"peak: who was over a limit cannot be said: {reason}", next="limit what is measured")
    checks = client_checks(columns, window, client)
    return PeakProbe(
        over=~met(columns, window, tokens, slo),
        span_s=(window.last_due_ns - window.start_ns) / NS_PER_S,
        latency_s=_quantile_s(VALUES["caveat-latency"](columns, window), 0.5) or 0.0,
        wait_s=_wait_s(columns, window, slo),
        failures=int(np.count_nonzero(~window.ok)),
        client_limited=any(check.outcome == "fail" for check in checks),
        run=run,
    )


def _wait_s(columns: SampleColumns, window: Window, slo: Slo) -> float:
    """From a quiet request to its limit, of TTFT or latency, whichever is nearer. A limit on TPOT alone gives 0."""
    rooms = []
    for limit_s, definition in ((slo.ttft_s, "caveat-ttft"), (slo.latency_s, "caveat-latency")):
        quiet_s = _quantile_s(VALUES[definition](columns, window), _QUIET)
        if limit_s is not None and quiet_s is not None:
            rooms.append(max(0.0, limit_s - quiet_s))
    return min(rooms, default=0.0)


def _quantile_s(values_ns: Floats, at: float) -> float | None:
    known = values_ns[np.isfinite(values_ns)]
    return float(np.quantile(known, at)) / NS_PER_S if len(known) else None
