from caveat.caveats import sentences
from caveat.caveats.warm_prefix_cache import CAVEAT, passes
from caveat.figures import Figure, Row, Run
from tests.caveats.cases import figure


def repeated(n: int, **changes) -> Figure:
    """A figure behind which n requests stand."""
    base = figure(dataset_samples=1000, **changes).run
    assert base.primary
    return Figure(
        Run(
            subject=base.subject,
            conditions=base.conditions,
            provenance=base.provenance,
            rows=(Row(metric=base.primary, value=base.rows[0].value, n=n),),
            validity=base.validity,
            primary=base.primary,
        ),
        base.primary,
    )


def test_repetition_of_prompts_is_counted():
    """Requests over distinct prompts; unknown where either is."""
    assert passes(repeated(73000)) == 73
    assert passes(figure(dataset_samples=1000)) is None
    evidence = CAVEAT.evidence([repeated(73000).run, repeated(900, platform="b", prefix_caching=None).run])
    assert evidence.numbers == {"n": 2, "repeated": 1, "unknown": 1, "most": 73}


def test_the_sentence_says_how_often_each_prompt_came():
    """A cache that lives through the run would have answered most of it."""
    sentence = dict(sentences(repeated(73000, prefix_caching=None)))["warm-prefix-cache"]
    assert sentence.startswith("Whether prefixes were cached is undisclosed, and each prompt came about 73 times")
