"""A figure as JSON: the documented keys, and nothing of its conditions lost on the way."""

import json
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from caveat.figures import TABLE, figures_of
from caveat.publish import figure_json, json_text
from tests.builders import published_run
from tests.strategies import runs

DOCS = Path(__file__).parent.parent.parent / "docs" / "json.md"


def test_the_shape_is_the_documented_one():
    """docs/json.md names every key of a figure, and no other."""
    (figure,) = figures_of(published_run())
    paragraph = DOCS.read_text().split("A figure (`caveat-figure/1`) has ")[1].split("\n\n")[0]
    documented = set(re.findall(r"`(\w+)`", re.sub(r"\{.*?\}|\[.*?\]|\(.*?\)", "", paragraph, flags=re.DOTALL)))
    assert documented | {"format"} == set(figure_json(figure))


def test_every_condition_is_known_undisclosed_or_not_applicable():
    """Three lists that together are the table."""
    (figure,) = figures_of(published_run())
    said = figure_json(figure)
    keys = [*said["conditions"], *said["undisclosed"], *said["not_applicable"]]
    assert sorted(keys) == sorted(row.key for row in TABLE)
    assert said["disclosed"] == {"known": len(said["conditions"]), "applicable": len(TABLE)}


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_any_run_comes_back_from_json(run):
    """Values, ids and conditions are those of the document, whatever it holds."""
    for figure in figures_of(run):
        said = json.loads(json_text(figure_json(figure)))
        assert (said["id"], said["value"], said["subject"]) == (figure.id, figure.row.value, run.subject)
        assert said["conditions"] == json.loads(json.dumps(dict(run.conditions.known)))
        assert said["validity"]["outcome"] == figure.outcome
