"""Caveat: a thing that one must know before using a figure of a certain kind.

Each has one module in this room, with its predicate, its sentence, its page and its evidence. The page's prose holds
no number: numbers of the rules come from `facts`, numbers of the results are computed from the ledger each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from caveat.caveats.evidence import Evidence, Number, number_words, plain
from caveat.figures import Figure, Run

Direction = Literal["beware", "good for"]


class Caveat(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the catalogue.

    `applies` is exact about the figures that it means. `sentence` travels with each of them and may quote its
    conditions. The page has four sections of prose (`concluded`, `why`, `instead`, `right`) and `shown`, the words
    around the evidence. {placeholders} in prose are filled from `given`, what the rules or the sources say; `shown`
    may also use the evidence's numbers, and is left out where the ledger has no figure to show it with.
    `direction` is "good for" where the page says what figures may be relied on for.
    """

    id: str
    title: str
    applies: Callable[[Figure], bool]
    sentence: str | Callable[[Figure], str]
    concluded: str
    why: str
    instead: str
    right: str
    shown: str
    evidence: Callable[[Sequence[Run]], Evidence]
    given: Mapping[str, str] = {}
    direction: Direction = "beware"

    def sentence_on(self, figure: Figure) -> str:
        """The sentence for one figure: one line without control characters, whatever its sources wrote."""
        return plain(self.sentence if isinstance(self.sentence, str) else self.sentence(figure))

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """The four sections of prose with their headings, placeholders not yet filled."""
        return (
            ("What is often concluded", self.concluded),
            ("Why it does not follow", self.why),
            ("What to do instead", self.instead),
            ("When the figure is right to use", self.right),
        )


def filled(prose: str, numbers: Mapping[str, Number], words: Callable[[Number], str] = number_words) -> str:
    """Prose with its placeholders filled; line breaks inside a paragraph are the source's, not the page's."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in prose.split("\n\n")]
    return "\n\n".join(paragraphs).format_map({name: words(value) for name, value in numbers.items()})
