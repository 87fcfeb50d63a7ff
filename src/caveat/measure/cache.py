"""The server's cache as its answers tell it: the share of prompt tokens that it did not have to read again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from caveat.measure import intervals
from caveat.measure.columns import SampleColumns
from caveat.measure.rows import Absent, Item, row_of
from caveat.measure.tokens import MOST_MISSING, no_negatives, successes_only
from caveat.measure.windows import Window

CACHED_SHARE = "caveat-cached-input-share-usage"


def cache_rows(columns: SampleColumns, window: Window, confidence: float, rng: np.random.Generator) -> Iterator[Item]:
    """Cached prompt tokens over prompt tokens, of measured successes of which the server stated both.

    Absent where it states the cached ones of fewer than 99 % of the answers: most servers say nothing of a cache.
    """
    cached, prompt = (
        successes_only(no_negatives(columns.numbers(name)[window.rows]), window)
        for name in ("cached_tokens_usage", "input_tokens_usage")
    )
    stated = np.isfinite(cached) & np.isfinite(prompt)
    count, successes = int(stated.sum()), int(window.ok.sum())
    if not count or successes - count > MOST_MISSING * successes:
        reason = f"the server's usage record stated cached tokens of {count:,} of {successes:,} successes"
        yield Absent(CACHED_SHARE, reason)
    elif prompt[stated].sum() <= 0:
        yield Absent(CACHED_SHARE, "no prompt had a token by the server's usage record")
    else:
        yield row_of(CACHED_SHARE, intervals.ratio(cached[stated], prompt[stated], confidence, rng))
