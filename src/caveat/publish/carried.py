"""The caveats that travel with a figure wherever it is shown."""

from __future__ import annotations

from caveat.figures import Figure


def carried(figure: Figure) -> tuple[tuple[str, str], ...]:
    """(id, sentence) of each caveat that applies.

    The catalogue is loaded on first use: a verb that shows no figure by itself does not wait for its pages.
    """
    from caveat.caveats import sentences

    return sentences(figure)
