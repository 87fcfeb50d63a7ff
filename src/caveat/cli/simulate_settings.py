"""`--set key=value` as settings by key, and those that would do nothing for a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from caveat.cli.simulation import Simulation
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


def refuse_unused(settings: Mapping[str, str], order: Sequence[Simulation]) -> None:
    """UsageError for a prefix hit beside a plan whose prompts say what they share; that nothing is cached may be."""
    if "prefix_hit" not in settings:
        return
    for one in order:
        caches = one.model.scheduler.prefix_cache or one.model.prefix_hit != 0
        if caches and one.plan().block_tokens:
            raise UsageError(
                f"--set prefix_hit: found {settings['prefix_hit'][:60]}, expected none: prompts of this plan say what "
                "they share, and it would not be used",
                next="--set scheduler.prefix_cache=true, or false, says whether the server caches it",
            )
