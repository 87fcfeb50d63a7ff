"""The table of rules: ids, pages, order."""

import re
from pathlib import Path

import pytest

import caveat.compare.rules
from caveat.compare import RULES, rule_named
from caveat.errors import NotFoundError
from tests.compare.figures_of_two import full, own

SECTIONS = ["## What it asks", "## Why", "## What to do instead", "## Undisclosed", "## Source"]


def test_every_rule_module_has_one_line_in_the_table():
    """A rule that is in no table is never asked."""
    folder = Path(caveat.compare.rules.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert modules == {rule.ask.__module__.rsplit(".", 1)[1] for rule in RULES}
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_a_page_with_all_its_sections(rule):
    """The docstring is the page."""
    assert re.findall(r"^## .*$", rule.page, flags=re.M) == SECTIONS
    assert rule.page.startswith(f"# {rule.id}\n\n{rule.title}\n\n")
    assert rule.title.endswith(".")
    assert all(section.strip() for section in re.split(r"^## .*$", rule.page, flags=re.M))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_speaks_under_its_own_id(rule):
    """Its findings carry the id of the table."""
    findings = [f for left in (full(1.0), own(1.0)) for f in rule.ask(left, own(2.0, suite="other"))]
    assert {finding.rule for finding in findings} <= {rule.id}


def test_an_unknown_rule_names_the_nearest():
    """A typing error is answered with what was meant."""
    with pytest.raises(NotFoundError) as caught:
        rule_named("scenarios")
    assert caught.value.next == "one of scenario"
    assert rule_named("scenario").id == "scenario"
