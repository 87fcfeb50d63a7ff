import os
import re
from pathlib import Path
from typing import Any

import pytest

from caveat.caveats import CATALOGUE, caveat_named, page
from caveat.caveats.markdown import NOTHING, escaped
from caveat.figures import Conditions, Provenance, Run
from tests.builders import published_run
from tests.caveats.cases import offline
from tests.caveats.ledger import small_ledger

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = "Evil | <img src=x onerror=alert(1)> `x` [a](javascript:1)\n# head \x1b[31m{n}"


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_a_page_renders_without_any_figure(caveat):
    """An empty ledger shows nothing and says so; the prose stands."""
    text = page(caveat, ())
    assert text.endswith(f"## Evidence from this ledger\n\n{NOTHING}\n")
    assert not re.search(r"[{}]", text)


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_a_page_does_not_depend_on_the_order_of_the_ledger(caveat):
    """The same documents give the same page."""
    runs = small_ledger()
    assert page(caveat, runs[::-1]) == page(caveat, runs)


@pytest.mark.parametrize("name", ["no-stable-scenario-discount", "server-rate-is-a-floor"])
def test_a_whole_page_with_its_evidence(name):
    """The page of a small fixed ledger, to the letter. CAVEAT_GOLDEN=write makes it again."""
    path = GOLDEN / f"{name}.md"
    text = page(caveat_named(name), small_ledger())
    if os.environ.get("CAVEAT_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_text_from_outside_is_harmless_on_a_page(caveat):
    """No markup, no HTML, no control character of a submission reaches the page, and no table breaks."""
    names: dict[str, Any] = {
        "submitter": HOSTILE,
        "platform": HOSTILE,
        "benchmark": HOSTILE,
        "accelerator": HOSTILE,
        "round": HOSTILE,
    }
    more: dict[str, Any] = {"dataset": HOSTILE, "engine": HOSTILE, "system": HOSTILE, "model_submitted": HOSTILE}
    text = page(caveat, (offline(2.0, **names, **more), published_run(1.0, **names, **more)))
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\n# head" not in text
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


@pytest.mark.parametrize("caveat", CATALOGUE, ids=lambda caveat: caveat.id)
def test_numbers_that_make_no_sense_break_no_page(caveat):
    """Zeros, negative rates, runs without any row and two documents of one subject."""
    zero: dict[str, Any] = {
        "accelerators": 0,
        "dataset_samples": 0,
        "target_qps": 0.0,
        "completed_qps": 0.0,
        "accuracy_tokens_per_sample": 0.0,
        "output_tokens": {"mean": 0.0},
        "headroom_ttft": 0.0,
        "headroom_tpot": 0.0,
        "queries": 0,
    }
    none = Run(subject="s", conditions=Conditions(), provenance=Provenance(origin="measured"), rows=())
    runs = [
        none,
        *(make(v, **zero, platform=f"{v}") for v in (0.0, -1.0, 5.0, 5.0) for make in (offline, published_run)),
    ]
    text = page(caveat, runs)
    assert "nan" not in text.split("## Evidence")[1]


def test_escaping_keeps_the_words():
    """What people can read stays readable."""
    assert escaped("llama2-70b-99.9, 8 x MI355X (p99)") == "llama2-70b-99.9, 8 x MI355X (p99)"
    assert escaped("a_b|c\\<d>") == "a\\_b\\|c\\\\&lt;d&gt;"
