"""publish.charts_trace: a trace as a picture, with its source and every change above."""

import json

import altair
import msgspec
import numpy as np
import pytest

from caveat.errors import Problem
from caveat.publish import plot_trace
from caveat.publish.trace_panels import poisson_band, trace_panels
from caveat.workload import Recording, TraceSource, describe_trace, sped_up, thinned
from tests.publish.drawn import HOSTILE, golden, texts


def trace(n=120, *, full=True, name="small.jsonl"):
    """Arrivals that bunch, lengths, and where `full` also conversations of two turns and shared blocks."""
    at = np.arange(n)
    columns = {}
    if full:
        columns = {
            "session": at // 2,
            "turn": at % 2,
            "prefix_ends": 2 * (at + 1),
            "prefix_blocks": np.stack([at % 7, 100 + at], axis=1).ravel(),
            "block_tokens": 16,
        }
    return Recording(
        t_ns=np.sort(at * 10**9 + (at % 10) * 900_000_000),
        input_tokens=32 + at % 50 * 20,
        output_tokens=1 + at % 13,
        source=TraceSource(name=name, format="mooncake", sha256="ab" * 32, lines=n),
        **columns,
    )


PROBLEM = Problem(code="rows-twice", path="small.jsonl", message="rows that repeat")


def test_the_specification_is_the_same_on_every_machine():
    """Golden JSON, not golden pixels."""
    assert json.loads(json.dumps(plot_trace(describe_trace(trace())).spec)) == json.loads(
        golden("trace_chart.json").read_text()
    )


def test_the_lines_for_a_screen_are_what_they_were():
    """Panels beside each other at a hundred columns."""
    lines = plot_trace(describe_trace(trace())).text(100, False)
    assert "\n".join(lines) + "\n" == golden("trace_chart.txt").read_text()


def test_the_specification_keeps_to_the_schema_of_vega_lite():
    """Checked by Altair, which carries the schema."""
    assert len(altair.Chart.from_dict(plot_trace(describe_trace(trace())).spec).to_dict()["concat"]) == 8


def test_the_head_says_source_rows_and_every_change():
    """On the picture and on the screen."""
    changed = sped_up(thinned(trace(), 2), 4.0)
    drawn = plot_trace(describe_trace(changed), [PROBLEM] * 3)
    assert drawn.spec["title"]["text"].startswith("[1 KIND OF FINDINGS]  small.jsonl: 60 requests over ")
    for lines in (drawn.spec["title"]["subtitle"], drawn.text(100, True)):
        said = " ".join(lines).replace(";", "")
        assert "trace small.jsonl (mooncake) 120 lines sha256 abababababab changes: every" in said
        assert all(change in said for change in changed.source.transformations)
        assert "finding rows-twice: rows that repeat (3 times)" in said


def test_a_trace_without_sharing_and_conversations_has_no_panels_for_them():
    """And its head says that they are unknown."""
    drawn = plot_trace(describe_trace(trace(full=False)))
    assert len(drawn.spec["concat"]) == 4
    assert "reuse is unknown" in " ".join(drawn.spec["title"]["subtitle"])


def test_one_request_is_drawn_as_far_as_it_goes():
    """Lengths, and nothing that needs time."""
    panels = trace_panels(describe_trace(trace(1, full=False)))
    assert [panel.title for panel in panels] == ["Tokens of a request"]


@pytest.mark.parametrize("width", [40, 59, 60, 100])
def test_panels_keep_to_the_screen(width):
    """One under the other where it is narrow."""
    lines = plot_trace(describe_trace(trace())).text(width, True)
    start = lines.index("")
    assert max(map(len, lines[start:])) <= width
    assert all(line.replace("µ", "u").isascii() for line in lines[start:])


def test_a_hostile_name_is_harmless():
    """No control character is left in any text."""
    drawn = plot_trace(describe_trace(trace(name=HOSTILE)), [msgspec.structs.replace(PROBLEM, message=HOSTILE)])
    assert [text for text in texts(drawn.spec) if not text.isprintable()] == []
    assert [line for line in drawn.text(100, False) if not line.isprintable()] == []


def test_the_band_of_poisson_counts_is_that_of_chi_square():
    """Quantiles of a table: 2.70039 and 19.02277 at 9 degrees of freedom, 74.2219 and 129.5612 at 100."""
    assert poisson_band(10) == pytest.approx((2.70039 / 9, 19.02277 / 9), rel=0.01)
    assert poisson_band(101) == pytest.approx((74.2219 / 100, 129.5612 / 100), rel=0.001)
