"""ledger: Run documents kept in a folder, append-only, over the read-only set that ships with the package."""

from caveat.ledger.adding import Added
from caveat.ledger.ledger import ENVIRONMENT, Ledger, default_path
from caveat.ledger.query import ABSENT, KEYS, Where, column_of, parse_where
from caveat.ledger.shipped import SHIPPED, shipped_bytes, shipped_file
from caveat.ledger.view import Counts

__all__ = [
    "ABSENT",
    "ENVIRONMENT",
    "KEYS",
    "SHIPPED",
    "Added",
    "Counts",
    "Ledger",
    "Where",
    "column_of",
    "default_path",
    "parse_where",
    "shipped_bytes",
    "shipped_file",
]
