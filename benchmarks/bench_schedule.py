"""How fast the Server schedules of three MLPerf rounds are played again.

Run from the root of the checkout: `python -m benchmarks.bench_schedule`. Needs the result trees beside it.
"""

import time

from tests.importers.test_schedule_check import ONE_LOG, SUBMISSIONS, logged_claims

from caveat.importers.mlperf.schedule_check import check_schedules


def main() -> None:
    claims = logged_claims(sorted(SUBMISSIONS.glob(ONE_LOG)))
    if not claims:
        print("schedule: the MLPerf result trees are not beside this checkout")
        return
    arrivals = sum(claim.generated_count or 0 for claim in claims)
    began_s = time.perf_counter()
    verdicts = check_schedules(claims)
    took_s = time.perf_counter() - began_s
    reproduced = sum(verdict.state == "reproduced" for verdict in verdicts.values())
    print(
        f"schedule: {reproduced} of {len(claims)} logs reproduced, {arrivals:,} arrivals "
        f"in {took_s:.2f} s, {arrivals / took_s:,.0f} arrivals/s"
    )


if __name__ == "__main__":
    main()
