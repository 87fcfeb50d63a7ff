"""The record that holds a run's values for the table of conditions.

Every condition is known, undisclosed or not applicable. A missing value is never zero and never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from caveat.errors import DocumentError
from caveat.figures.conditions import BY_KEY, TABLE
from caveat.figures.frozen import FrozenDict
from caveat.figures.kinds import Condition, Scalar, Value, checked, format_value

State = Literal["known", "undisclosed", "not applicable"]


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one source says about one condition."""

    value: Value
    source: str


class Conditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The values of one run. A key of the table that stands nowhere here is undisclosed.

    `sources` maps a key to the index of its source in the run's provenance; `claims` keeps what several
    sources say about one key. Values are written in their normal form (8 and 8.0 are one count) and the mappings
    are frozen copies. Raises DocumentError naming the key, what was found and what was expected.
    """

    known: dict[str, Value] = {}
    not_applicable: tuple[str, ...] = ()
    sources: dict[str, int] = {}
    claims: dict[str, tuple[Claim, ...]] = {}

    def __post_init__(self) -> None:
        for key in (*self.not_applicable, *self.sources):
            _row(key)
        for key in self.not_applicable:
            if key in self.known:
                raise DocumentError(f"{key}: found both a value and 'not applicable', expected one of the two")
        set_field = msgspec.structs.force_setattr  # the constructor's own last word; nobody else's
        set_field(self, "known", FrozenDict({key: checked(_row(key), value) for key, value in self.known.items()}))
        set_field(self, "not_applicable", tuple(dict.fromkeys(self.not_applicable)))
        set_field(self, "sources", FrozenDict(self.sources))
        set_field(self, "claims", FrozenDict({key: _checked_claims(key, said) for key, said in self.claims.items()}))

    def get(self, key: str) -> Value | None:
        """The value, or None where it is undisclosed or not applicable. KeyError for an unknown key."""
        return self.known.get(BY_KEY[key].key)

    def number(self, key: str) -> float | None:
        """The value of a numeric condition; None where it is not known."""
        value = self.get(key)
        return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)

    def words(self, key: str) -> str | None:
        """The value of a text condition; None where it is not known."""
        value = self.get(key)
        return value if isinstance(value, str) else None

    def numbers(self, key: str) -> dict[str, float]:
        """The parts of a lengths or numbers condition; empty where it is not known."""
        value = self.get(key)
        return value if isinstance(value, dict) else {}

    def state(self, key: str) -> State:
        """Whether the key is known, undisclosed or not applicable."""
        if key in self.known:
            return "known"
        return "not applicable" if BY_KEY[key].key in self.not_applicable else "undisclosed"

    def text(self, key: str) -> str:
        """The value for people, or the word for its absence."""
        value = self.get(key)
        return self.state(key) if value is None else format_value(BY_KEY[key], value)

    def conflicts(self) -> tuple[str, ...]:
        """Keys on which the sources disagree."""
        return tuple(k for k, claims in self.claims.items() if any(c.value != claims[0].value for c in claims))

    def disclosed(self) -> tuple[int, int]:
        """(conditions known, conditions that apply)."""
        return len(self.known), len(TABLE) - len(self.not_applicable)

    def flat(self) -> dict[str, Scalar]:
        """Known values with distributions spread out: `output_tokens.mean`. For filters and columns."""
        return dict(_flat(self.known))


def limit_percentile(c: Conditions) -> str | None:
    """The percentile that the latency limits of a run are on, `p90`; None where it is not known."""
    share = c.number("limit_percentile")
    return None if share is None else f"p{100 * share:g}"


def _flat(known: Mapping[str, Value]) -> Iterator[tuple[str, Scalar]]:
    for key, value in known.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{part}", number) for part, number in value.items())
        else:
            yield key, value


def _row(key: str) -> Condition:
    row = BY_KEY.get(key)
    if row is None:
        raise DocumentError(f"conditions: found {key!r}, expected a key of the table", next="see docs/conditions.md")
    return row


def _checked_claims(key: str, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    row = _row(key)
    return tuple(Claim(checked(row, claim.value), claim.source) for claim in claims)


def conditions_of(
    values: Mapping[str, Value | None],
    *,
    not_applicable: tuple[str, ...] = (),
    source: int = 0,
    claims: Mapping[str, tuple[Claim, ...]] | None = None,
) -> Conditions:
    """Conditions from plain values of one source; None, blank texts and empty distributions are undisclosed.

    What has a value is not "not applicable", whatever the second argument says. DocumentError for an unknown key, and
    for a value of another kind, be it an empty one.
    """
    known = {key: value for key, value in values.items() if value is not None and not _is_blank(key, value)}
    return Conditions(
        known=known,
        not_applicable=tuple(sorted(key for key in not_applicable if key not in known)),
        sources=dict.fromkeys(known, source),
        claims=dict(claims or {}),
    )


def _is_blank(key: str, value: Value) -> bool:
    if isinstance(value, dict):
        return not value and _row(key).kind in ("lengths", "numbers")
    return isinstance(value, str) and not value.strip()
