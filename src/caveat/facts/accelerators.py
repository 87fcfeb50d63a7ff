"""Published specifications of accelerators, and how they are named in free text.

From `accelerators.csv`. Dense rates without sparsity in TFLOPS (INT8: TOPS), memory in GB (1e9 bytes), bandwidth
and links in GB/s (link: one direction), power in W per accelerator. Every row says its source and confidence.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from caveat.facts.accelerator_names import accelerator_family, claimed_counts, plain_text
from caveat.facts.csv_table import records

__all__ = [
    "ACCELERATORS",
    "AS_OF",
    "Accelerator",
    "accelerator_family",
    "accelerator_form",
    "accelerator_in",
    "accelerator_named",
    "accelerators_of",
    "claimed_counts",
]

AS_OF = "2026-11-30"


class Accelerator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One accelerator in one form.

    `id` is short and unique (`MI355X`, `H100-SXM`), `family` what `accelerator_family` answers (`H100`), `name`
    the part with its memory. `memory_usable_gb` is what software sees where a source says so. `link_gb_per_s` is
    one direction, per accelerator for NVLink and its like, per link for TPUs. None is unknown or unsupported.
    """

    id: str
    family: str
    name: str
    vendor: str
    form: str
    source: str
    confidence: Literal["high", "medium", "low"]
    memory_gb: float | None = None
    memory_usable_gb: float | None = None
    memory_type: str | None = None
    memory_bandwidth_gb_per_s: float | None = None
    bf16_tflops: float | None = None
    fp8_tflops: float | None = None
    fp4_tflops: float | None = None
    int8_tops: float | None = None
    tdp_w: float | None = None
    link_gb_per_s: float | None = None
    note: str | None = None


ACCELERATORS: tuple[Accelerator, ...] = records("accelerators.csv", Accelerator)
"""All accelerators of the table."""

# The word that must stand in a text before the figures of this form may be used; families sold in several forms.
_FORM_WORDS = {
    "A100-SXM": "SXM",
    "A100-PCIe": "PCIE",
    "H100-SXM": "SXM",
    "H100-PCIe": "PCIE",
    "H200-SXM": "SXM",
    "RTX-PRO-6000-Server": "SERVER",
}
_NVL_EXISTS = ("H100", "H200")
_SOLD_IN_FORMS = frozenset((*_NVL_EXISTS, *(one.family for one in ACCELERATORS if one.id in _FORM_WORDS)))


def accelerator_named(name: str) -> Accelerator | None:
    """The accelerator with this id or name, in any case. A family of several forms (`H100`) is no id."""
    plain = name.strip().lower()
    return next((one for one in ACCELERATORS if plain in (one.id.lower(), one.name.lower())), None)


def accelerators_of(family: str) -> tuple[Accelerator, ...]:
    """All forms of a family that the table has; empty when it has none."""
    return tuple(one for one in ACCELERATORS if one.family == family)


def accelerator_in(text: str) -> Accelerator | None:
    """The one accelerator whose specifications fit a free text such as `NVIDIA H200-SXM-141GB`.

    None when the text names no family or several, or leaves open which form it is: the specifications of an
    SXM part are not lent to an NVL one.
    """
    family, words = accelerator_family(text), plain_text(text).upper()
    if family is None or (family in _NVL_EXISTS and "NVL" in words):
        return None
    fits = [one for one in accelerators_of(family) if _FORM_WORDS.get(one.id, "") in words]
    return fits[0] if len(fits) == 1 else None


def accelerator_form(family: str, stated: str | None) -> str:
    """The part in its form, where one family is sold in several: `H100-SXM`, `H100-NVL`, not `H100`.

    The family itself where it has one form or nothing was stated; the text as stated where it fits no form.
    """
    if stated is None or family not in _SOLD_IN_FORMS:
        return family
    words = plain_text(stated)
    if family in _NVL_EXISTS and "NVL" in words.upper():
        return f"{family}-NVL"
    one = accelerator_in(stated)
    return one.id if one else " ".join(words.split())
