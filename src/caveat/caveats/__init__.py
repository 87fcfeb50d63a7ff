"""caveats: what one must know before using a figure, and what it is good for, with evidence from the ledger."""

from caveat.caveats.catalogue import CATALOGUE, applying, caveat_named, sentences
from caveat.caveats.caveat import Caveat
from caveat.caveats.document import EXPLAIN_FORMAT, document
from caveat.caveats.evidence import Evidence, Table
from caveat.caveats.markdown import page

__all__ = [
    "CATALOGUE",
    "EXPLAIN_FORMAT",
    "Caveat",
    "Evidence",
    "Table",
    "applying",
    "caveat_named",
    "document",
    "page",
    "sentences",
]
