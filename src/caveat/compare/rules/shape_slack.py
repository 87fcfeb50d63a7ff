"""Rule about the ratio: the rates differ by more than the output lengths do."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.compare.finding import Finding
from caveat.compare.slack import NO_DIFFERENCE, difference, gap, lengths
from caveat.figures import Figure
from caveat.units import format_number

RULE = "shape-slack"


def shape_slack(left: Figure, right: Figure) -> Iterator[Finding]:
    """A difference smaller than the difference of output lengths is no difference.

    ## What it asks

    For rates in tokens/s: do they differ by more than the mean output lengths of the two runs?

    ## Why

    One benchmark does not give one output length. Sampling, number formats and stopping differ, and submitters
    of one benchmark report means that lie several percent apart. Longer outputs share the cost of their prompts
    among more tokens, so tokens/s can rise without the system being faster. Within that slack the order of two
    systems is open.

    ## What to do instead

    Treat the two as equal, compare samples/s as well, or look at the lengths. Lengths of the performance runs
    are used where both sides have them, else those of the accuracy runs; the two kinds are never mixed.

    ## Undisclosed

    A caveat: shape slack unknown.

    ## Source

    Measured on the published results; see `caveat explain shape-slack` for the spread in your ledger.
    """
    answer = difference(left, right)
    if answer == NO_DIFFERENCE:
        yield from _none(left, right)
    elif answer == "unknown":
        yield Finding(
            rule=RULE,
            severity="comparable-with-caveats",
            message="Shape slack unknown: the mean output lengths are not known on both sides in one kind of run: "
            f"{_text(left)} on the left, {_text(right)} on the right.",
            left=_text(left),
            right=_text(right),
            remedy="import the logs and the accuracy reports, which hold the token counts",
        )


def _none(left: Figure, right: Figure) -> Iterator[Finding]:
    found = lengths(left, right)
    assert found is not None
    rates, shapes = gap(left.row.value, right.row.value), gap(found.left, found.right)
    mine, theirs = (f"{format_number(n)} tokens a sample ({found.counted_in})" for n in (found.left, found.right))
    yield Finding(
        rule=RULE,
        severity="comparable-with-caveats",
        message=f"There is {NO_DIFFERENCE}: the rates lie {_percent(rates)} apart, the mean output lengths "
        f"{_percent(shapes)}: {mine} on the left, {theirs} on the right.",
        left=mine,
        right=theirs,
        remedy="treat the two as equal, or compare samples/s",
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _text(figure: Figure) -> str:
    c = figure.conditions
    row = figure.run.row("tokens-per-sample.mean")
    performance = row.value if row else c.numbers("output_tokens").get("mean")
    accuracy = c.number("accuracy_tokens_per_sample")
    known = [
        f"{format_number(mean)} ({kind})"
        for mean, kind in ((performance, "performance run"), (accuracy, "accuracy run"))
        if mean is not None
    ]
    return ", ".join(known) or "undisclosed"
