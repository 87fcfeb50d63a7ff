"""Playing logged schedules again: made claims, hostile claims, and every Server log of three MLPerf rounds."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.importers.mlperf.schedule_check import ScheduleClaim, ScheduleVerdict, check_schedules
from caveat.workload import MAX_QUERIES

SUBMISSIONS = Path(__file__).parents[3] / "shared" / "data" / "mlperf" / "submissions"
ONE_LOG = "v*/*/*/results/*/*/*/performance/run_1/mlperf_log_detail.txt"
LOGGED = re.compile(r'^:::MLLOG (\{"key": "(?:effective|generated)_\w+".*\})$', re.MULTILINE)
needs_logs = pytest.mark.skipif(not SUBMISSIONS.is_dir(), reason="the MLPerf result trees are not beside this checkout")

# Vector C of the reference: v5.1, RedHat, llama3.1-8b Server.
REDHAT = ScheduleClaim(
    id="redhat",
    seed=18209322760996052031,
    target_qps=39.5,
    min_duration_ns=600 * 10**9,
    min_queries=100,
    equal_issue=True,
    set_size=13368,
    generated_count=26736,
    generated_duration_ns=674472826893,
)


def claim_with(**changes) -> ScheduleClaim:
    return msgspec.structs.replace(REDHAT, **changes)


def verdict_on(claim: ScheduleClaim) -> ScheduleVerdict:
    return check_schedules([claim])[claim.id]


def logged_claim(path: Path) -> ScheduleClaim | None:
    """The claim of one detail log; None for another scenario. Enough for these logs, not an importer."""
    logged: dict[str, Any] = {}
    for line in LOGGED.findall(path.read_text()):
        record = json.loads(line)
        logged.setdefault(record["key"], record["value"])
    if logged["effective_scenario"] != "Server":
        return None
    return ScheduleClaim(
        id=str(path.relative_to(SUBMISSIONS)),
        seed=logged["effective_schedule_rng_seed"],
        target_qps=logged["effective_target_qps"],
        min_duration_ns=logged["effective_min_duration_ms"] * 10**6,
        min_queries=logged["effective_min_query_count"],
        equal_issue=logged.get("effective_sample_concatenate_permutation"),
        set_size=logged["effective_performance_sample_count"],
        generated_count=logged["generated_query_count"],
        generated_duration_ns=logged["generated_query_duration"],
    )


def logged_claims(paths: Iterable[Path]) -> list[ScheduleClaim]:
    return [claim for path in paths if (claim := logged_claim(path)) is not None]


def test_a_log_of_loadgen_is_reproduced():
    """Count and nanoseconds."""
    assert verdict_on(REDHAT) == ScheduleVerdict(
        state="reproduced",
        detail="count and duration are LoadGen's for the logged settings, with equal issue on",
        count_ok=True,
        duration_ok=True,
        equal_issue=True,
    )


def test_an_unknown_equal_issue_is_found_out():
    """Absent from most v4.1 logs though it was on."""
    assert verdict_on(claim_with(equal_issue=None)).equal_issue is True


def test_an_equal_issue_that_changes_nothing_is_said_to():
    """Sets of one sample are no sets."""
    verdict = verdict_on(
        claim_with(equal_issue=None, set_size=1, min_duration_ns=0, min_queries=26736),
    )
    assert verdict.state == "reproduced"
    assert verdict.equal_issue is None
    assert verdict.detail.endswith("with equal issue on or off")


def test_a_count_that_the_settings_do_not_give_differs():
    """The arrivals are still known to be LoadGen's."""
    assert verdict_on(claim_with(equal_issue=False)) == ScheduleVerdict(
        state="differs",
        detail="the arrivals are LoadGen's, but the count is not what the settings give: "
        "23789 with equal issue off; the log has 26736",
        count_ok=False,
        duration_ok=True,
    )


@pytest.mark.parametrize("changes", [{"seed": 1}, {"target_qps": 40}, {"generated_count": 13368}])
def test_other_arrivals_differ(changes):
    """Another seed, rate or count does not last as long to the nanosecond."""
    verdict = verdict_on(claim_with(**changes))
    assert verdict.state == "differs"
    assert not verdict.duration_ok
    assert "the log has 674472826893 ns" in verdict.detail


def test_a_duration_that_a_rounded_rate_explains_decides_nothing():
    """The log prints 39.5123 for a rate of 39.51234 as well."""
    of_39_5123 = 674472826893 * 39.5 / 39.5123
    verdict = verdict_on(claim_with(target_qps=39.5123, generated_duration_ns=round(of_39_5123 * 39.5123 / 39.51234)))
    assert verdict.state == "not checkable"
    assert not verdict.duration_ok
    assert "6 digits" in verdict.detail


def test_a_duration_beyond_the_rounding_of_the_rate_differs():
    """39.50006 would print as 39.5001; and 39.5, shown in three digits, is what was typed."""
    one_off = verdict_on(claim_with(generated_duration_ns=674472826894))
    assert one_off.state == "differs"
    assert verdict_on(claim_with(generated_duration_ns=round(674472826893 * 39.5 / 39.50006))).state == "differs"


def test_a_rate_with_more_than_six_digits_was_not_rounded():
    """So no rounding explains a nanosecond."""
    claim = claim_with(target_qps=39.5000001, generated_duration_ns=674472826893)
    assert verdict_on(claim).state == "differs"


@pytest.mark.parametrize(
    "field",
    [
        "seed",
        "target_qps",
        "min_duration_ns",
        "min_queries",
        "set_size",
        "generated_count",
        "generated_duration_ns",
    ],
)
def test_a_log_that_lacks_a_value_is_not_checkable(field):
    """And the value is named."""
    verdict = verdict_on(claim_with(**{field: None}))
    assert verdict == ScheduleVerdict(state="not checkable", detail=verdict.detail)
    assert field in verdict.detail


def test_the_set_size_is_not_needed_without_equal_issue():
    """Nothing is padded."""
    assert verdict_on(claim_with(equal_issue=False, set_size=None)).duration_ok


def test_a_count_above_fifty_million_is_not_played():
    """The work is bounded, and the reason given."""
    verdict = verdict_on(claim_with(generated_count=10**15))
    assert verdict.state == "not checkable"
    assert f"{MAX_QUERIES:,}" in verdict.detail


odd_numbers = st.one_of(
    st.none(),
    st.integers(-(2**70), 0),
    st.integers(2**64, 2**200),
    st.floats(),
    st.sampled_from([10**5000, True, "7", 1e300, 5e-324, math.nan]),
)


@given(
    st.sampled_from([field for field in ScheduleClaim.__struct_fields__ if field not in ("id", "equal_issue")]),
    odd_numbers,
    st.sampled_from([True, False, None]),
)
def test_no_value_in_a_log_raises_or_hangs(field, value, equal_issue):
    """One line of the log is hostile."""
    claim = claim_with(generated_count=5, min_duration_ns=0, min_queries=5, set_size=5, equal_issue=equal_issue)
    verdict = verdict_on(msgspec.structs.replace(claim, **{field: value}))
    assert verdict.state in ("differs", "not checkable", "reproduced")
    assert len(verdict.detail) < 300


def test_progress_hears_how_many_claims_are_decided():
    """Once before each seed, and at the end."""
    heard: list[int] = []
    claims = [claim_with(id="a"), claim_with(id="b", seed=1), claim_with(id="c", seed=None), claim_with(id="d")]
    assert list(check_schedules(claims, heard.append)) == ["c", "a", "d", "b"]
    assert heard == [1, 3, 4]


def test_no_claims_give_no_verdicts():
    """And no draw."""
    assert check_schedules([]) == {}


@needs_logs
def test_some_logs_of_three_rounds_are_reproduced():
    """A sample of the long test below."""
    claims = logged_claims(sorted(SUBMISSIONS.glob(ONE_LOG))[::17])
    short = [claim for claim in claims if (claim.generated_count or 0) < 300_000]
    assert len(short) >= 10
    assert {verdict.state for verdict in check_schedules(short).values()} == {"reproduced"}


@pytest.mark.full
@needs_logs
def test_the_arrivals_of_every_server_log_of_three_rounds_are_reproduced():
    """v4.1, v5.1 and v6.0: the nanoseconds of all 617, and the count of all but one."""
    claims = logged_claims(sorted(SUBMISSIONS.glob(ONE_LOG)))
    verdicts = check_schedules(claims)
    assert len(verdicts) == 617
    assert all(verdict.duration_ok for verdict in verdicts.values())
    assert Counter(verdict.state for verdict in verdicts.values()) == {"reproduced": 616, "differs": 1}
    # One v4.1 log that does not say whether equal issue was on shows that it was off.
    unsaid = {claim.id for claim in claims if claim.equal_issue is None}
    assert [id for id, verdict in verdicts.items() if id in unsaid and verdict.equal_issue is False] == [
        "v4.1/closed/Fujitsu/results/GX2560M7_H100_SXM_80GBx4_TRT/mixtral-8x7b/Server/performance/run_1/"
        "mlperf_log_detail.txt"
    ]
