"""Who counted the tokens: the server's usage record or a tokenizer of the client. Never the chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from caveat.figures import Value
from caveat.measure.columns import Floats, SampleColumns
from caveat.measure.percentiles import SHARES, nearest_rank
from caveat.measure.windows import Window

# source, column of output tokens, column of input tokens, words; the first that counted is the run's own source
SOURCES: tuple[tuple[str, str, str | None, str], ...] = (
    ("usage", "output_tokens_usage", "input_tokens_usage", "server usage record"),
    ("client", "output_tokens_client", None, "client tokenizer"),
)
MOST_MISSING = 0.01  # a sum over fewer than 99 % of the requests is not called their sum


@dataclass(frozen=True, slots=True)
class Counted:
    """How many of the measured successes have a count: all but `missing` of `successes`."""

    missing: int
    successes: int
    words: str

    @property
    def complete(self) -> bool:
        """Whether a sum over the counts stands for the sum over the requests."""
        return self.missing <= MOST_MISSING * self.successes

    @property
    def notes(self) -> tuple[str, ...]:
        """What a sum leaves out, for its row."""
        if not self.missing:
            return ()
        return (f"{self.missing:,} of {self.successes:,} successes have no count and are left out: this is a floor",)

    @property
    def reason(self) -> str:
        """Why a sum is not given."""
        return f"the {self.words} counted no tokens for {self.missing:,} of {self.successes:,} successes"


@dataclass(frozen=True, slots=True)
class Tokens:
    """The counts of one source for the measured requests of a window; NaN where it failed or nobody counted."""

    source: str
    words: str
    output: Floats
    input: Floats | None
    counted: Counted


def token_counts(columns: SampleColumns, window: Window) -> tuple[Tokens, ...]:
    """The sources that counted output tokens of at least one success, the preferred one first."""
    found = (_tokens(columns, window, *line) for line in SOURCES)
    return tuple(tokens for tokens in found if tokens.counted.missing < tokens.counted.successes)


def _tokens(columns: SampleColumns, window: Window, source: str, output: str, given: str | None, words: str) -> Tokens:
    def of(name: str) -> Floats:
        return successes_only(no_negatives(columns.numbers(name)[window.rows]), window)

    counts = of(output)
    prompts = of(given) if given else None
    return Tokens(source, words, counts, prompts, counted_of(counts, window, words))


def counted_of(counts: Floats, window: Window, words: str) -> Counted:
    """How many of the successes have one of these counts."""
    successes = int(window.ok.sum())
    return Counted(successes - int(np.isfinite(counts).sum()), successes, words)


def successes_only(values: Floats, window: Window) -> Floats:
    """Values of the window's rows, NaN where the request failed."""
    return np.where(window.ok, values, np.nan)


def no_negatives(counts: Floats) -> Floats:
    """Counts, NaN where somebody says that there were fewer than none."""
    return np.where(counts >= 0, counts, np.nan)


def only_capped(conditions: Mapping[str, Value | None]) -> bool:
    """Whether the plan's output lengths say where answers are cut, and not how long they are meant to be."""
    return conditions.get("output_tokens_cap") is not None and conditions.get("output_tokens_requested") is None


def lengths(values: Floats) -> dict[str, float] | None:
    """The distribution of token lengths as a condition; None where nothing is known."""
    known = values[np.isfinite(values) & (values >= 0)]
    if not len(known):
        return None
    ranks = {name: nearest_rank(len(known), SHARES[name]) for name in ("p50", "p90", "p99")}
    placed = np.partition(known, list(ranks.values()))
    at_ranks = {name: float(placed[rank]) for name, rank in ranks.items()}
    return {"mean": float(known.mean()), **at_ranks, "max": float(known.max()), "n": float(len(known))}
