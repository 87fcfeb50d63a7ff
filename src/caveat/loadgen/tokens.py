"""How many tokens words are: asked of a tokenizer file, or of the endpoint's own usage counts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from caveat.errors import CannotSayError, InputError, UsageError
from caveat.figures import printable
from caveat.loadgen.words import WORDS

FIT_WORDS = (8, 96, 384)
CHECK_WORDS = (40, 200)
_FEWEST_WORDS = 64


class TokenCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned: tokens = overhead_tokens + words x tokens_per_word.

    residual_tokens is the largest error on lengths that the fit had not seen, residual_share the same as a share of
    the length. `probes` are the (words, tokens) pairs behind it.
    """

    tokens_per_word: float
    overhead_tokens: float
    residual_tokens: float
    residual_share: float
    probes: tuple[tuple[int, int], ...]

    def sentence(self) -> str:
        """For the record."""
        each = "1 token" if self.tokens_per_word == 1 else f"{self.tokens_per_word:.4g} tokens"
        return (
            f"{each} a word and {self.overhead_tokens:.4g} besides, by the server's "
            f"usage; error elsewhere at most {self.residual_tokens:.3g} tokens ({100 * self.residual_share:.2g} %)"
        )


def calibrate_tokens(count: Callable[[int], int | None]) -> TokenCalibration:
    """Fit and check. `count(words)` sends a prompt of so many words and gives the server's count of it, or None.

    Lengths that the server refuses are left out. Raises CannotSayError where fewer than two lengths were answered.
    """
    answered = {words: tokens for words in (*FIT_WORDS, *CHECK_WORDS) if (tokens := count(words)) is not None}
    fitted = [words for words in FIT_WORDS if words in answered] or list(answered)
    if len(fitted) < 2:
        fitted = list(answered)
    if len(fitted) < 2:
        raise CannotSayError(
            f"tokens: the server counted {len(answered)} of {len(FIT_WORDS) + len(CHECK_WORDS)} probe prompts, "
            "expected a usage count for at least two",
            next="give a tokenizer file, or accept lengths in words",
        )
    slope, overhead = _line(fitted, [answered[words] for words in fitted])
    errors = {
        words: abs(overhead + slope * words - tokens) for words, tokens in answered.items() if words not in fitted
    }
    errors = errors or {words: abs(overhead + slope * words - answered[words]) for words in fitted}
    return TokenCalibration(
        tokens_per_word=slope,
        overhead_tokens=max(0.0, overhead),
        residual_tokens=max(errors.values()),
        residual_share=max(error / max(1, answered[words]) for words, error in errors.items()),
        probes=tuple(answered.items()),
    )


def _line(x: Sequence[int], y: Sequence[int]) -> tuple[float, float]:
    """Least squares: slope and intercept."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    if slope <= 0:
        raise CannotSayError(
            f"tokens: the server counts {min(y)} to {max(y)} prompt tokens for {min(x)} to {max(x)} words, "
            "expected more tokens for more words",
            next="its usage counts cannot be used: give a tokenizer file",
        )
    return slope, mean_y - slope * mean_x


@lru_cache(maxsize=4)
def load_tokenizer(path: str) -> Any:
    """A tokenizer.json through the `tokenizers` package (an extra). Raises UsageError or InputError."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise UsageError(
            "tokenizer: the package `tokenizers` is missing", next="pip install 'caveat[tokenizers]'"
        ) from error
    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # the package raises bare exceptions
        raise InputError(f"tokenizer: {path}: {str(error)[:200]}, expected a tokenizer.json") from error


def tokenizer_identity(path: Path) -> str:
    """Name and hash of a tokenizer's file, `bpe.json, sha256 3fa2...`: which one counted. InputError if unreadable."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"tokenizer: {path}: {error.strerror or error}", next="check the path") from error
    return f"{printable(path.name)}, sha256 {found}"


def token_counter(path: str) -> Callable[[str], int]:
    """Counts the tokens of a text, without special tokens."""
    tokenizer = load_tokenizer(path)
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def single_token_words(path: str) -> tuple[str, ...]:
    """Words that are one token each, at the start and after a space. Raises CannotSayError where there are too few."""
    count = token_counter(path)
    first = [word for word in WORDS if count(word) == 1]
    anchor = first[0] if first else WORDS[0]
    words = tuple(word for word in first if count(f"{anchor} {word}") == 2)
    if len(words) < _FEWEST_WORDS:
        raise CannotSayError(
            f"tokenizer: {path}: {len(words)} of {len(WORDS)} common words are one token, expected {_FEWEST_WORDS}",
            next="leave the tokenizer out: lengths are then calibrated against the endpoint",
        )
    return words
