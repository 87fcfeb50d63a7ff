"""`--set key=value` as settings by key."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.errors import UsageError


def settings_of(texts: Sequence[str] | None) -> dict[str, str]:
    """The settings, the last of a key counts. UsageError for a text without an equals sign."""
    found = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f"--set: found {text[:80]!r}, expected KEY=VALUE", next="--set fleet.replicas=8, say")
        found[key.strip()] = value.strip()
    return found
