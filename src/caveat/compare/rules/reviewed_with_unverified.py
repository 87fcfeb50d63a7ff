"""Rule: the same kind of witness stands behind both numbers."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.reading import objection
from caveat.facts import CAUTION_SENTENCE
from caveat.figures import Figure

RULE = "reviewed-with-unverified"


def reviewed_with_unverified(left: Figure, right: Figure) -> Iterator[Finding]:
    """A reviewed result beside an unreviewed one carries the caution sentence.

    ## What it asks

    Both figures passed the publisher's review, or both are one's own measurements.

    ## Why

    A review looks at code, logs and system before publication. A number that nobody looked at may come from
    another method under the same name. MLCommons prescribes a sentence that must stand wherever the two meet. A
    figure that only its seller vouches for, and one that a model computed, are named as such too.

    ## What to do instead

    Mark the unreviewed figure "unverified" beside its value and print the sentence with the comparison.

    ## Undisclosed

    Only a review makes a result reviewed: a figure that does not say who stands behind it is treated as
    unverified.

    ## Source

    MLCommons, results messaging guidelines (2026-04-28): unverified results and the caution sentence.
    """
    reviews = [side.conditions.words("review") for side in (left, right)]
    if reviews[0] == reviews[1] and reviews[0] in ("reviewed", "unverified"):
        return
    if "reviewed" in reviews:
        why = CAUTION_SENTENCE
        remedy = "mark the other figure as unverified and print the caution sentence with the comparison"
    elif "simulated" in reviews:
        why = "A model computed what it says, nobody measured it."
        remedy = "say which figure is simulated and in which range the model was validated"
    else:
        why = "Nobody outside has looked at both numbers."
        remedy = "ask for the logs, or measure the system yourself: caveat measure"
    yield objection(RULE, "comparable-with-caveats", left, right, "review", why=why, remedy=remedy)
