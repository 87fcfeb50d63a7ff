"""Reads accelerator families, and the counts that a text claims, out of free text of system descriptions.

Both are quiet rather than wrong: what is not recognised gives None or nothing. Source of the spellings: the
accelerator, system and platform columns of the v5.1, v6.0 and v6.1 summaries and system files of v4.1 to v6.1.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

FAMILIES: tuple[tuple[str, str], ...] = (
    ("VR200", r"VR200"),
    ("GB300", r"GB300"),
    ("GB200", r"GB200"),
    ("GH200", r"GH200"),
    ("GB10", r"GB10"),
    ("B300", r"B300"),
    ("B200", r"B200"),
    ("H200", r"H200"),
    ("H100", r"H100"),
    ("A100", r"A100"),
    ("L40S", r"L40S"),
    ("L4", r"L4"),
    ("T4", r"(?:TESLA|NVIDIA)[\s_-]*T4"),
    ("RTX-PRO-6000", r"RTX[\s_-]*PRO[\s_-]*6000"),
    ("RTX-PRO-4500", r"RTX[\s_-]*PRO[\s_-]*4500"),
    ("RTX-4000-ADA", r"RTX[\s_-]*4000[\s_-]*ADA"),
    ("RTX-2000E-ADA", r"RTX[\s_-]*2000E[\s_-]*ADA"),
    ("RTX-A5000", r"RTX[\s_-]*A5000"),
    ("RTX-4090", r"RTX[\s_-]*4090"),
    ("GTX-1650-TI", r"GTX[\s_-]*1650[\s_-]*TI"),
    ("JETSON-THOR", r"JETSON[\s_-]*(?:AGX[\s_-]*)?THOR"),
    ("JETSON-ORIN", r"JETSON[\s_-]*(?:AGX[\s_-]*)?ORIN"),
    ("MI300X", r"MI300X"),
    ("MI325X", r"MI325X"),
    ("MI350X", r"MI350X"),
    ("MI350P", r"MI350P"),
    ("MI355X", r"MI355X"),
    ("RADEON-8060S", r"RADEON[\s_-]*8060S"),
    ("ARC-PRO-B50", r"(?:ARC|BMG)[\s_-]*(?:PRO[\s_-]*)?B50"),
    ("ARC-PRO-B60-DUAL", r"(?:ARC|BMG)[\s_-]*(?:PRO[\s_-]*)?B60[\s_-]*DUAL"),
    ("ARC-PRO-B60", r"(?:ARC|BMG)[\s_-]*(?:PRO[\s_-]*)?B60(?![\s_-]*DUAL)"),
    ("ARC-PRO-B70", r"(?:ARC|BMG)[\s_-]*(?:PRO[\s_-]*)?B70"),
    ("ARC-140T", r"ARC[\s_-]*140T"),
    ("GAUDI3", r"GAUDI[\s_-]*3"),
    ("TPU-v5e", r"TPU[\s_-]*V5E"),
    ("TPU-v6e", r"TPU[\s_-]*V6E"),
    ("TPU-v6", r"TPU[\s_-]*V6"),
    ("SPEEDAI240-PREVIEW", r"SPEEDAI240[\s_-]*PREVIEW"),
    ("SPEEDAI240-SLIM", r"SPEEDAI240[\s_-]*SLIM"),
    ("DYNAMO-NPU", r"DYNAMO[\s_-]*(?:NEUROMORPHIC[\s_-]*)?NPU"),
)
"""Short family name, and how texts spell it (upper case, separators loose). `TPU v6` stays apart from `TPU v6e`."""

_NAMES = tuple(name for name, _ in FAMILIES)
_ANY = "|".join(f"(?P<f{place}>{pattern})" for place, (_, pattern) in enumerate(FAMILIES))
_FAMILY = rf"(?:{_ANY})(?=[^A-Z0-9]|$|SXM|NVL|PCIE|X\d)"
_STARTS = r"(?:(?<![A-Z0-9])|(?<=\dX))"
_MAKER = r"(?:(?:NVIDIA|AMD|INTEL|INSTINCT|GEFORCE|RADEON)[\s_-]*)*"
_FORM = (
    r"(?:SXM\d?|PCIE|NVL\d*|OAM|CTS|\d+ ?GB|AARCH64|HBM\d[A-Z]?|GDDR\d"
    r"|BLACKWELL|GRACE|HOPPER|SUPERCHIP|SERVER|EDITION)"
)

# `8x H100`, `87xMI355X`, `2x8x MI300X`, `64x8 MI355X`, `4x-BMG-B60`
_BEFORE = rf"(?:(?<![A-Z0-9.])(?P<times>\d{{1,4}}) ?X[\s_-]*(?:(?P<each>\d{{1,4}})(?:X| )[\s_-]*)?{_MAKER})?"
# `H100-SXM-80GBx8`, `H200 x8`, `MI355X 288GB HBM3e (x87)`, `(x2x8)`; `_x86` is a processor
_AFTER = (
    rf"(?:(?:[\s_-]*{_FORM})*[\s_-]?(?:X(?P<after>(?!86(?!\d))\d{{1,4}})(?![A-Z0-9.])"
    r"|\(X(?P<sum>\d{1,4})(?:X(?P<sum_each>\d{1,4}))?\)))?"
)
_Mention = tuple[str, set[int], tuple[int, int]]
_MENTION = re.compile(rf"{_BEFORE}{_STARTS}{_FAMILY}{_AFTER}")
_PLAIN_COUNT = re.compile(r"\((\d{1,5}) ?GPUS?\)|(?<![A-Z0-9.])(\d{1,5}) ?X ?GPUS?(?![A-Z0-9])")
_JOINS = re.compile(r"\+|&|\bAND\b")


def plain_text(text: str) -> str:
    """The text with plain hyphens and blanks and without trademark signs, so that one pattern reads all spellings."""
    text = re.sub(r"[®™]|\((?:R|TM)\)", "", text, flags=re.IGNORECASE)
    return re.sub(r"[‐-―−]", "-", unicodedata.normalize("NFKC", text))


def accelerator_family(text: str) -> str | None:
    """The accelerator family that a text names: `AMD Instinct MI355X 288GB HBM3e (x87)` gives `MI355X`.

    Several families give their sorted names joined with `+` (`H200+MI350X`); none gives None.
    """
    found = sorted({family for family, _, _ in _mentions(text)})
    return "+".join(found) or None


def claimed_counts(text: str) -> tuple[int, ...]:
    """The total numbers of accelerators that a text claims, without repetition, in ascending order.

    `8x H100-SXM-80GB`, `H100-SXM-80GBx8`, `(x87)` and `2x8x MI300X` (16) are read. In a text of several families
    the parts are added up when each family has exactly one count. Memory sizes, processors, nodes, rack names
    and cloud instance names are no counts; a text that can be read in two ways gives nothing.
    """
    mentions = _mentions(text)
    counts: dict[str, set[int]] = {family: set() for family, _, _ in mentions}
    for family, claimed, _ in mentions:
        counts[family] |= claimed
    totals = {int(one or two) for one, two in _PLAIN_COUNT.findall(plain_text(text).upper())}
    if len(counts) == 1 and not _parts_of_one_family(text, mentions):
        totals |= next(iter(counts.values()))
    elif len(counts) > 1 and all(len(claimed) == 1 for claimed in counts.values()):
        totals.add(sum(next(iter(claimed)) for claimed in counts.values()))
    return tuple(sorted(totals - {0}))


def _mentions(text: str) -> list[_Mention]:
    """Every mention of a family: its name, the counts written beside it, and where it stands."""
    mentions = []
    for match in _MENTION.finditer(plain_text(text).upper()):
        family = next(name for place, name in enumerate(_NAMES) if match[f"f{place}"])
        claimed = set()
        if match["times"]:
            claimed.add(int(match["times"]) * int(match["each"] or 1))
        if match["after"]:
            claimed.add(int(match["after"]))
        if match["sum"]:
            claimed.add(int(match["sum"]) * int(match["sum_each"] or 1))
        mentions.append((family, claimed, match.span()))
    return mentions


def _parts_of_one_family(text: str, mentions: list[_Mention]) -> bool:
    """Whether counted mentions of one family are joined with `+` or `and`: parts of an unstated sum."""
    spans = [span for _, claimed, span in mentions if claimed]
    words = plain_text(text).upper()
    return any(_JOINS.search(words[left[1] : right[0]]) for left, right in pairwise(spans))
