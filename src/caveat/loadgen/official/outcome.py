"""OfficialRun: how an official run ended, and what its verdict does not say.

LoadGen knows no failed request: it is told that one is over, and judges the time that took. So a VALID run in which
requests failed is no valid run, and is not called one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from caveat.loadgen.official.bridge import MODES, SCENARIOS, limit_ns
from caveat.loadgen.official.settings import OfficialSettings
from caveat.loadgen.selfcheck import ClientHealth
from caveat.workload import schedule_extent

Verdict = Literal["VALID", "INVALID"]

_MARK = b":::MLLOG "
_MAX_LINE = 64 << 20  # the list of loaded samples stands on one line


class OfficialCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Samples by what became of them.

    issued        by LoadGen
    completed     answered well
    failed        in any other way; among them timed_out and cancelled (by the deadline)
    without_usage answered, and the server did not say how many tokens: LoadGen was told 0
    single_token  answered with fewer than two tokens, of which LoadGen makes no time per token
    """

    issued: int = 0
    completed: int = 0
    failed: int = 0
    timed_out: int = 0
    cancelled: int = 0
    without_usage: int = 0
    single_token: int = 0


class OfficialRun(msgspec.Struct, frozen=True, kw_only=True):
    """An official run that is over. It is unverified: nobody but this machine has seen it.

    verdict        LoadGen's; None in accuracy mode and where it gave none
    exit           status of its process; negative is the signal that ended it
    counts         None where the process did not come to its end
    start_spread_s how much later than its time the first request of a schedule was issued, at least: the times of the
                   samples count from that issue
    health         the client's look at itself
    problems       everything in logs and counts that stands against the verdict, a sentence each
    client_limits  what this machine ran out of; then the client was measured, not the server
    """

    folder: Path
    verdict: Verdict | None
    exit: int
    counts: OfficialCounts | None
    start_spread_s: float | None
    health: ClientHealth | None
    summary: Path
    detail: Path
    accuracy: Path
    order: Path
    samples: Path
    problems: tuple[str, ...]
    client_limits: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """LoadGen says VALID and nothing stands against it."""
        return self.verdict == "VALID" and not self.problems and not self.client_limits


def read_detail(path: Path) -> dict[str, object]:
    """The first value of each key of a detail log; what is no line of its own format is passed over."""
    said: dict[str, object] = {}
    try:
        with path.open("rb") as file:
            for line in iter(lambda: file.readline(_MAX_LINE), b""):
                entry = _entry(line)
                if entry is not None:
                    said.setdefault(*entry)
    except OSError:
        return {}
    return said


def _entry(line: bytes) -> tuple[str, object] | None:
    if not line.startswith(_MARK):
        return None
    try:
        record = msgspec.json.decode(line[len(_MARK) :])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return None
    return record["key"], record.get("value")


def verdict_of(said: Mapping[str, object]) -> Verdict | None:
    """LoadGen's word, where there is one."""
    word = said.get("result_validity")
    return word if word == "VALID" or word == "INVALID" else None


# LoadGen's key, and what must stand there: what LoadGen did, not what it was given. What is off is not logged: None.
READ_BACK: tuple[tuple[str, Callable[[OfficialSettings], object]], ...] = (
    ("effective_scenario", lambda s: SCENARIOS[s.scenario]),
    ("effective_test_mode", lambda s: MODES[s.mode]),
    ("effective_qsl_rng_seed", lambda s: s.qsl_seed),
    ("effective_sample_index_rng_seed", lambda s: s.sample_index_seed),
    ("effective_schedule_rng_seed", lambda s: s.schedule_seed),
    ("effective_min_duration_ms", lambda s: round(s.min_duration_s * 1000)),
    ("effective_performance_sample_count", lambda s: s.performance_samples),
    ("effective_sample_concatenate_permutation", lambda s: s.equal_issue),
    ("requested_use_token_latencies", lambda s: s.token_latencies or None),
)
READ_BACK_SERVER: tuple[tuple[str, Callable[[OfficialSettings], object]], ...] = (
    ("requested_server_ttft_latency", lambda s: limit_ns(s.ttft_s) or None),
    ("requested_server_tpot_latency", lambda s: limit_ns(s.tpot_s) or None),
    ("requested_server_target_latency_ns", lambda s: limit_ns(s.latency_s)),
)


def problems_of(
    settings: OfficialSettings, said: Mapping[str, object], counts: OfficialCounts | None, errors: tuple[str, ...]
) -> tuple[str, ...]:
    """Everything that the logs and the counts hold against a verdict."""
    found = [*_differences(settings, said), *(f"The callback of LoadGen failed: {text}" for text in errors)]
    if counts is not None:
        found += [*_count_differences(settings, said, counts), *_unsaid(settings, counts)]
    logged = said.get("num_errors")
    if isinstance(logged, int) and logged:
        found.append(f"LoadGen logged {logged:,} errors; its figures are not to be used until they are understood.")
    return tuple(found)


def _differences(settings: OfficialSettings, said: Mapping[str, object]) -> Iterator[str]:
    if not said:
        yield "LoadGen left no detail log."
        return
    tables = (*READ_BACK, *(READ_BACK_SERVER if settings.scenario == "server" else ()))
    for key, wanted_of in tables:
        wanted = wanted_of(settings)
        if said.get(key) != wanted:
            yield f"{key}: LoadGen's log says {str(said.get(key))[:80]}, and {wanted} was asked for."


def _count_differences(settings: OfficialSettings, said: Mapping[str, object], counts: OfficialCounts) -> Iterator[str]:
    schedule = settings.schedule()
    if schedule is not None:
        extent = schedule_extent(schedule)
        logged = (said.get("generated_query_count"), said.get("generated_query_duration"))
        if logged != (extent.count, extent.generated_duration_ns):
            yield f"schedule: LoadGen made {logged[0]} queries over {logged[1]} ns, and the seed gives {extent.count}."
        if counts.issued != extent.count:
            yield f"schedule: LoadGen issued {counts.issued:,} queries of {extent.count:,}."
    if counts.completed + counts.failed != counts.issued:
        yield f"{counts.issued:,} samples were issued and {counts.completed + counts.failed:,} came to an end."


def _unsaid(settings: OfficialSettings, counts: OfficialCounts) -> Iterator[str]:
    """What LoadGen has no words for."""
    if counts.failed:
        yield (
            f"{counts.failed:,} of {counts.issued:,} requests failed ({counts.timed_out:,} by time, "
            f"{counts.cancelled:,} by the deadline of the run); LoadGen was told that they were over."
        )
    if settings.token_latencies and counts.without_usage:
        yield f"{counts.without_usage:,} answers came without a usage record; LoadGen was told 0 tokens for each."
    if settings.token_latencies and settings.scenario != "offline" and counts.single_token:
        yield f"{counts.single_token:,} answers had fewer than two tokens, for which LoadGen has no time per token."
