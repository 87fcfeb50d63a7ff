"""A run in three sentences: what was asked, what was delivered, and whether anything speaks against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from caveat.cli.console import plural
from caveat.figures import Conditions, Run, limit_percentile
from caveat.measure import DECIDING, verdict
from caveat.units import format_quantity, format_seconds

_LIMITS = (
    ("TTFT", "ttft_limit_s", "headroom_ttft"),
    ("TPOT", "tpot_limit_s", "headroom_tpot"),
    ("latency", "latency_limit_s", "headroom_latency"),
)
_RATES = ("caveat-request-rate", "caveat-output-tokens-rate-usage", "caveat-output-tokens-rate-client")
_SAME_RATE, _FAR_RATE = 0.005, 0.05  # shares by which a draw's rate may differ unsaid, and without advice
_MOST_NAMED = 3  # aspects in the last sentence; the table below it has all


def is_valid(run: Run) -> bool:
    """Whether nothing speaks against any figure of the run: not the client, the arrivals, the limits or the sums.

    In a scenario nothing may be undecided either.
    """
    judged = verdict(run.validity)
    return judged == "VALID" if judged else all(check.outcome != "fail" for check in run.validity)


def headline(run: Run) -> str | None:
    """What a run in a scenario came to, and what that is not; None for any other run.

    Never the word VALID alone: nobody but MLCommons makes a result of theirs of it.
    """
    judged = verdict(run.validity)
    if judged is None:
        return None
    profile, changes = (run.conditions.words(key) for key in ("profile", "profile_changes"))
    eased = f", changed ({changes})" if changes else ""
    rules = f"of {profile}{eased}" if profile else "with limits of your own"
    scenario = run.conditions.text("scenario")
    backing = "simulated" if run.provenance.origin == "simulated" else "unverified"
    return f"{judged} under caveat's reading of the rules ({scenario}, {rules}); {backing}, not an MLPerf result"


def why_not(run: Run) -> tuple[str, ...]:
    """What keeps a run from being valid; of a scenario first what one asks for: how many more queries."""
    deciding = DECIDING if headline(run) is not None else ()
    decided = [c for c in run.validity if c.outcome == "fail" or (c.outcome == "unknown" and c.aspect in deciding)]
    decided.sort(key=lambda check: "early stopping" not in check.aspect)
    return tuple(f"{check.aspect}: {check.sentence}" for check in decided)


def asked(run: Run) -> str:
    """`Asked: 20 requests/s (poisson, open loop), 512 tokens in and 64 out, p95 TTFT within 500 ms.`."""
    c = run.conditions
    return f"Asked: {', '.join((*_load(c), *_shape(c), *_limits(run))) or 'undisclosed'}."


def _load(c: Conditions) -> Iterator[str]:
    rate, places = c.number("target_qps"), c.number("concurrency")
    kind = ", ".join(c.text(key) + end for key, end in (("arrivals", ""), ("loop", " loop")) if c.words(key))
    if rate is not None:
        said = "; ".join(part for part in (kind, draw_words(rate, c.number("scheduled_qps"))) if part)
        yield f"{rate:g} requests/s" + (f" ({said})" if said else "")
    elif places is not None:
        yield f"{places:g} in flight ({c.text('loop')} loop)"
    elif kind:
        yield kind


def draw_words(rate_qps: float, scheduled_qps: float | None) -> str:
    """`this draw schedules 12.97/s, 30 % more: ...`, where a plan's own rate is not the one asked for; else empty."""
    if scheduled_qps is None or not rate_qps or abs(scheduled_qps / rate_qps - 1) < _SAME_RATE:
        return ""
    off = scheduled_qps / rate_qps - 1
    said = f"this draw schedules {scheduled_qps:.4g}/s"
    if abs(off) <= _FAR_RATE:
        return said
    return f"{said}, {abs(off):.0%} {'more' if off > 0 else 'less'}: a longer run, or another --seed, comes nearer"


def _shape(c: Conditions) -> Iterator[str]:
    means = [c.numbers(f"{name}_tokens_requested").get("mean") for name in ("input", "output")]
    said = [f"{mean:,.4g} tokens {way}" for mean, way in zip(means, ("in", "out"), strict=True) if mean is not None]
    if said:
        yield " and ".join(said).replace(" tokens out", " out" if len(said) == 2 else " tokens out")


def _limits(run: Run) -> Iterator[str]:
    """The limits, the percentile named once."""
    limits = [(name, run.conditions.number(key)) for name, key, _ in _LIMITS]
    said = " and ".join(f"{name} within {format_seconds(limit)}" for name, limit in limits if limit is not None)
    if said:
        yield f"{limit_percentile(run.conditions) or ''} {said}".lstrip()


def delivered(run: Run) -> str:
    """`Delivered: 19.82 requests/s, 1,269 tokens/s; 424 of 424 requests succeeded; p95 TTFT at 40 % of its limit.`."""
    rows = [row for key in _RATES if (row := run.row(key)) is not None]
    rates = ", ".join(format_quantity(row.value, row.definition.unit) for row in rows[:2])
    parts = [part for part in (rates, _succeeded(run), _headroom(run)) if part]
    word = "Simulated" if run.provenance.origin == "simulated" else "Delivered"
    return f"{word}: {'; '.join(parts) or 'nothing that a figure could be made of'}."


def _succeeded(run: Run) -> str:
    row = run.row("caveat-error-rate")
    if row is None or row.n is None:
        return ""
    return f"{row.n - round(row.value * row.n):,} of {plural(row.n, 'request')} succeeded"


def _headroom(run: Run) -> str:
    shares = [(name, run.conditions.number(key)) for name, _, key in _LIMITS]
    said = [f"{name} at {100 * share:.0f} %" for name, share in shares if share is not None]
    if not said:
        return ""
    whose = "its limit" if len(said) == 1 else "their limits"
    return f"{limit_percentile(run.conditions) or ''} {' and '.join(said)} of {whose}".lstrip()


def judged(run: Run) -> str:
    """The verdict: the headline of a scenario, else how many checks passed and which did not."""
    counts = Counter(check.outcome for check in run.validity)
    asked_of = sum(counts.values()) - counts["not applicable"]
    passed = f"{counts['pass']} of {plural(asked_of, 'check')} passed"
    failed, open_ones = (aspects(run, outcome) for outcome in ("fail", "unknown"))
    why = "".join(f"; {word} {said}" for word, said in (("failed:", failed), ("undecided:", open_ones)) if said)
    if (scenario := headline(run)) is not None:
        return f"{scenario}. {passed}{why}."
    said = "Not valid" if failed else "Valid as far as it can be told" if open_ones else "Valid"
    return f"{said}: {passed}{why}."


def aspects(run: Run, outcome: str) -> str:
    """The checks that came out so, by name and each once, the first three of them; empty for none."""
    names = list(dict.fromkeys(check.aspect for check in run.validity if check.outcome == outcome))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
