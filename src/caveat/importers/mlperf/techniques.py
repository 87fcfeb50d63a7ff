"""Which techniques a submission says it used, from its structured fields of software.

A technique is *on* only where the text says so. It is *off* only where a rule of the round forbids it (see
rules_conditions). Everything else is undisclosed: a framework that can do something is no proof that it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from caveat.figures import Value

# technique, words that say it was used. A product name alone is in no line: Dynamo and llm-d can disaggregate,
# and can do without; "Eagle Stream" is a server platform.
SAYINGS: tuple[tuple[str, str], ...] = (
    (
        "speculative_decoding",
        r"speculative[ -]decod\w*|spec(?:ulative)?[ -]dec\b|\beagle-?[23]\b|\beagle (?:head|draft|decod\w*)"
        r"|\bmedusa (?:head|decod\w*)|\bMTP\b|multi-token prediction|\bdraft(?:er)? (?:model|head)s?\b",
    ),
    ("prefix_caching", r"prefix[ -]cach\w*|radix ?attention|\bkv[ -]cache reuse"),
    ("disaggregation", r"disaggregat\w*|\bprefill[ /-]+decode (?:split|separation)|\bP/D (?:split|separation)"),
    ("chunked_prefill", r"chunked[ -]prefill\w*"),
    ("continuous_batching", r"continuous[ -]batching|\bin-?flight[ -]batching"),
)

_PRECISION = r"(?P<{}>(?:nv|mx)?fp[48]|int[48]|e4m3|e5m2)"
_KV_CACHE = re.compile(
    rf"{_PRECISION.format('before')}[ -]\(?kv(?:[ -]?cache\b|\b)"
    rf"|kv[ -]?cache(?: in|:| =|=)? ?{_PRECISION.format('after')}",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(r"\b(?:no|not|non|without|disabled?|off)[ :-]*(?:use of |using )?$", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    r"^\W{0,3}(?:is |was |are )?(?:disabled|off|false|not (?:used|enabled)|unused|=0\b)", re.IGNORECASE
)
_COMPILED = tuple((technique, re.compile(pattern, re.IGNORECASE)) for technique, pattern in SAYINGS)

# how several nodes act as one system: what we call it, words that say so
MEANS: tuple[tuple[str, str], ...] = (
    ("Dynamo", r"\b[Dd]ynamo\b(?! (?:NPU|Neuromorphic))"),
    ("llm-d", r"\b(?:llm-d|LLM-D)\b"),
    ("LLMBoost", r"\bLLMBoost\b"),
    ("Ray", r"\bRay\b(?! ?[Tt]rac)"),
    ("MPI", r"\b(?:Open ?)?MPI\b"),
)


def stated_techniques(texts: Iterable[str]) -> dict[str, Value]:
    """Techniques that the texts say were on, and the precision of the KV cache where they name it."""
    said: dict[str, Value] = {}
    for text in texts:
        for technique, pattern in _COMPILED:
            if any(not _denied(text, match) for match in pattern.finditer(text)):
                said[technique] = "on"
        for match in _KV_CACHE.finditer(text):
            if not _denied(text, match):
                said["kv_cache_quantisation"] = "on"
                said.setdefault("kv_cache_precision", (match["before"] or match["after"]).casefold())
    return said


def multi_node_means(texts: Iterable[str]) -> str | None:
    """By which means several nodes act as one, where the texts name any. Ask only for systems of several nodes."""
    everything = "\n".join(texts)
    return ", ".join(name for name, pattern in MEANS if re.search(pattern, everything)) or None


def _denied(text: str, match: re.Match[str]) -> bool:
    """Whether the words around a technique say that it was not used."""
    before, after = text[max(0, match.start() - 30) : match.start()], text[match.end() : match.end() + 30]
    return bool(_DENIED_BEFORE.search(before) or _DENIED_AFTER.search(after))
