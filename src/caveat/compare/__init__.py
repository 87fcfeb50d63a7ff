"""compare: may two figures be put side by side, and what does one system do under two scenarios.

`verdict` asks the rules of `RULES`. `discount` and `estimate` are analyses of pairs of one system, not comparisons.
"""

from caveat.compare.catalogue import RULES, Rule, rule_named
from caveat.compare.discount import Discount, discount
from caveat.compare.discount import as_json as discount_json
from caveat.compare.distribution import Distribution
from caveat.compare.document import VERDICT_FORMAT, verdict_json, verdicts_json
from caveat.compare.estimate import Estimate, estimate
from caveat.compare.estimate import estimate_as_json as estimate_json
from caveat.compare.finding import RATIO_ALLOWED, SEVERITIES, Finding, Severity, worst
from caveat.compare.pair import Headroom, Pair
from caveat.compare.scale import PerAccelerator
from caveat.compare.slack import NO_DIFFERENCE, Difference
from caveat.compare.verdict import Verdict, exit_code, verdict, verdicts

__all__ = [
    "NO_DIFFERENCE",
    "RATIO_ALLOWED",
    "RULES",
    "SEVERITIES",
    "VERDICT_FORMAT",
    "Difference",
    "Discount",
    "Distribution",
    "Estimate",
    "Finding",
    "Headroom",
    "Pair",
    "PerAccelerator",
    "Rule",
    "Severity",
    "Verdict",
    "discount",
    "discount_json",
    "estimate",
    "estimate_json",
    "exit_code",
    "rule_named",
    "verdict",
    "verdict_json",
    "verdicts",
    "verdicts_json",
    "worst",
]
