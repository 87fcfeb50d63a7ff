"""The table of rules: id, function, when it is asked, what an undisclosed value does, where the rule comes from.

To add a rule, add one module in `rules/` (the function's docstring is the rule's page) and one line here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Literal

import msgspec

from caveat.compare.finding import Finding, Severity
from caveat.compare.rules.accuracy_track import accuracy_track
from caveat.compare.rules.availability import availability
from caveat.compare.rules.benchmark_and_shape import benchmark_and_shape
from caveat.compare.rules.cache_state import cache_state
from caveat.compare.rules.derived_value import derived_value
from caveat.compare.rules.disclosure import disclosure
from caveat.compare.rules.division import division
from caveat.compare.rules.headroom import headroom
from caveat.compare.rules.latency_limits import latency_limits
from caveat.compare.rules.loop import loop
from caveat.compare.rules.metric_definition import metric_definition
from caveat.compare.rules.per_accelerator import per_accelerator
from caveat.compare.rules.power_run import power_run
from caveat.compare.rules.precision import precision
from caveat.compare.rules.published_with_other import published_with_other
from caveat.compare.rules.reviewed_with_unverified import reviewed_with_unverified
from caveat.compare.rules.round_compatibility import round_compatibility
from caveat.compare.rules.scale import scale
from caveat.compare.rules.scenario import scenario
from caveat.compare.rules.shape_slack import shape_slack
from caveat.compare.rules.system_type import system_type
from caveat.compare.rules.techniques import techniques
from caveat.compare.rules.token_source import token_source
from caveat.compare.rules.twins import twins
from caveat.compare.rules.validity import validity
from caveat.errors import NotFoundError
from caveat.figures import Figure

About = Literal["pair", "ratio", "per accelerator"]


class Rule(msgspec.Struct, frozen=True):
    """One line of the table. `undisclosed` is the severity that an undisclosed value brings ("comparable": none).

    `about` says when the rule is asked: "pair" always; "per accelerator" on request; "ratio" only where the others
    allow a ratio, since there is nothing to say about a quotient that may not be formed.
    """

    id: str
    ask: Callable[[Figure, Figure], Iterable[Finding]]
    about: About
    undisclosed: Severity
    source: str

    @property
    def title(self) -> str:
        """The first line of the page: the rule in one sentence."""
        return inspect.getdoc(self.ask).partition("\n")[0]  # type: ignore[union-attr]  # a test keeps the docstrings

    @property
    def page(self) -> str:
        """The rule's page in Markdown."""
        body = inspect.getdoc(self.ask) or ""
        return f"# {self.id}\n\n{body}\n"


_CAVEAT: Severity = "comparable-with-caveats"
_REFUSED: Severity = "not-comparable"
_MESSAGING = "MLCommons results messaging guidelines, 2026-04-28"
_TABLE = "MLCommons compatibility table, 2026-04-28"
_RULES = "MLCommons inference rules, 2026-07-23"
_METRICS = "metric definitions, read from each tool's code"
_DATA = "published logs and tables"

RULES: tuple[Rule, ...] = (
    Rule("metric-definition", metric_definition, "pair", "unknown", _METRICS),
    Rule("scenario", scenario, "pair", "unknown", _MESSAGING),
    Rule("benchmark-and-shape", benchmark_and_shape, "pair", "unknown", _MESSAGING),
    Rule("accuracy-track", accuracy_track, "pair", "unknown", _RULES),
    Rule("round", round_compatibility, "pair", "unknown", _TABLE),
    Rule("division", division, "pair", "unknown", _MESSAGING),
    Rule("validity", validity, "pair", _CAVEAT, _RULES),
    Rule("published-with-other", published_with_other, "pair", _REFUSED, _MESSAGING),
    Rule("power-run", power_run, "pair", _CAVEAT, _TABLE),
    Rule("latency-limits", latency_limits, "pair", _CAVEAT, _RULES),
    Rule("token-source", token_source, "pair", _CAVEAT, _METRICS),
    Rule("loop", loop, "pair", _CAVEAT, "Schroeder et al., NSDI 2006"),
    Rule("cache-state", cache_state, "pair", _CAVEAT, _RULES),
    Rule("reviewed-with-unverified", reviewed_with_unverified, "pair", _CAVEAT, _MESSAGING),
    Rule("availability", availability, "pair", _CAVEAT, _MESSAGING),
    Rule("system-type", system_type, "pair", _CAVEAT, _RULES),
    Rule("precision", precision, "pair", _CAVEAT, _RULES),
    Rule("scale", scale, "pair", _CAVEAT, _MESSAGING),
    Rule("techniques", techniques, "pair", "comparable", _RULES),
    Rule("disclosure", disclosure, "pair", _CAVEAT, _DATA),
    Rule("derived-value", derived_value, "pair", _CAVEAT, _MESSAGING),
    Rule("twins", twins, "pair", _CAVEAT, _DATA),
    Rule("per-accelerator", per_accelerator, "per accelerator", _REFUSED, _MESSAGING),
    Rule("shape-slack", shape_slack, "ratio", _CAVEAT, _DATA),
    Rule("headroom", headroom, "ratio", _CAVEAT, _DATA),
)


def rule_named(id: str) -> Rule:
    """The rule of that id. Raises NotFoundError naming the nearest ids."""
    found = next((rule for rule in RULES if rule.id == id), None)
    if found is None:
        ids = [rule.id for rule in RULES]
        near = get_close_matches(id, ids) or ids
        raise NotFoundError(f"no comparison rule is called {id!r}", next=f"one of {', '.join(near)}")
    return found
