"""Instants of virtual time: whole femtoseconds since the start of the plan, as Python integers of any size.

Step times become integers once, at the border. Sums of integers are exact: stepping and fast-forward agree to the last
bit, a tie is a tie on every machine, and nothing drifts however long a run is. A rounded coefficient is off by at most
half a femtosecond: 3 parts in a million of the smallest that occur (about 0.15 ns for a pair of tokens).
"""

from __future__ import annotations

import sys

FS_PER_S = 1_000_000_000_000_000
FS_PER_NS = 1_000_000
NEVER_FS = sys.maxsize << 64  # later than any instant; an integer, so that it compares like one


def fs_from_s(seconds: float) -> int:
    """Seconds to the nearest femtosecond."""
    return round(seconds * FS_PER_S)


def s_from_fs(fs: int) -> float:
    """Femtoseconds to seconds."""
    return fs / FS_PER_S
