"""What to do next: a step for each aspect that did not pass, and steps for aspects that exist."""

import msgspec

from caveat.cli.measured_next import STEPS, next_steps
from caveat.figures import ASPECTS, Check
from tests.publish.drawn import point


def test_every_step_is_for_an_aspect_that_exists():
    """A renamed aspect would lose its step in silence."""
    assert set(STEPS) <= set(ASPECTS)


def test_a_step_for_each_aspect_once_then_the_usual_ones():
    """Ids are filled in; a run without samples here is not repeated."""
    run = point(8, 400, 0.0125, limits="fail")
    run = msgspec.structs.replace(run, validity=(*run.validity, *run.validity))
    first, *others = next_steps(run)
    assert first == "latency limits: --find-peak searches the highest rate that meets the limits"
    assert others[0].startswith(f"caveat explain {run.id[:10]} has the caveats: ")
    assert others[1:] == [f"caveat show {run.id[:10]} has all of it, with --plot drawn"]
    kept = msgspec.structs.replace(run, samples="measured/8/samples.parquet")
    assert list(next_steps(kept))[-1] == f"caveat measure --like {kept.id[:10]} does the same again"


def test_undecided_has_a_step_of_its_own():
    """Longer, not slower; what cannot be mended has none."""
    checks = (
        Check(aspect="latency limits", outcome="unknown", sentence="too few"),
        Check(aspect="consistency", outcome="unknown", sentence="too few"),
        Check(aspect="completion", outcome="fail", sentence="interrupted"),
    )
    run = msgspec.structs.replace(point(8, 400, 0.0125), validity=checks)
    assert list(next_steps(run))[:2] == [
        "latency limits: measure longer",
        f"completion: measure again, whole: caveat measure --like {run.id[:10]}",
    ]


def test_a_simulated_run_is_told_what_to_do_with_its_model():
    """Advice on measuring would be none."""
    checks = tuple(
        Check(aspect=aspect, outcome="fail", sentence="no") for aspect in ("latency limits", "load fraction")
    )
    run = msgspec.structs.replace(point(8, 400, 0.0125), validity=checks)
    run = msgspec.structs.replace(run, provenance=msgspec.structs.replace(run.provenance, origin="simulated"))
    steps = list(next_steps(run))
    assert steps[0] == "load fraction: ask the model for less, or give it more: --set fleet.replicas=2"
    assert steps[1].startswith("caveat explain")
