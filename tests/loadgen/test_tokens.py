"""How many tokens words are, learned from counts."""

import hashlib
import json

import pytest

from caveat.errors import CannotSayError, InputError
from caveat.loadgen.tokens import (
    CHECK_WORDS,
    FIT_WORDS,
    calibrate_tokens,
    single_token_words,
    token_counter,
    tokenizer_identity,
)
from caveat.loadgen.words import WORDS

ALL = (*FIT_WORDS, *CHECK_WORDS)


def test_a_straight_line_is_found_and_leaves_no_error():
    """1.25 tokens a word and 17 for the template."""
    found = calibrate_tokens(lambda words: round(17 + 1.25 * words))
    assert found.tokens_per_word == pytest.approx(1.25) and found.overhead_tokens == pytest.approx(17)
    assert found.residual_tokens == pytest.approx(0, abs=1e-9) and dict(found.probes) == {
        n: round(17 + 1.25 * n) for n in ALL
    }


def test_the_error_is_measured_on_lengths_that_the_fit_has_not_seen():
    """Here 40 words are 10 tokens more than the line says."""
    found = calibrate_tokens(lambda words: words + 10 * (words == 40))
    assert [found.residual_tokens, found.residual_share] == pytest.approx([10, 10 / 50])
    assert "1 token a word" in found.sentence()


def test_lengths_that_the_server_refuses_are_left_out():
    """A context of 100 tokens."""
    found = calibrate_tokens(lambda words: words + 5 if words < 100 else None)
    assert [found.tokens_per_word, found.overhead_tokens] == pytest.approx([1, 5])


@pytest.mark.parametrize("count", [lambda _: None, lambda words: words if words == 8 else None, lambda _: 7])
def test_without_usable_counts_nothing_is_said(count):
    """No usage, one only, or one that never changes."""
    with pytest.raises(CannotSayError, match="expected"):
        calibrate_tokens(count)


def test_a_tokenizer_file_chooses_words_of_one_token(tmp_path):
    """Every second word is in its vocabulary; counting is exact for text made of those."""
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *WORDS[::2]])}
    vocabulary |= {letter: len(vocabulary) + n for n, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
    model: dict[str, object] = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "",
        "vocab": vocabulary,
    }
    model["max_input_chars_per_word"] = 100
    path.write_text(json.dumps({"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": model}))
    words = single_token_words(str(path))
    assert set(WORDS[::2]) <= set(words)
    assert token_counter(str(path))(" ".join(words)) == len(words)


def test_a_file_that_is_no_tokenizer_is_named(tmp_path):
    """With what was expected."""
    pytest.importorskip("tokenizers")
    path = tmp_path / "not.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"not\.json.*expected a tokenizer\.json"):
        token_counter(str(path))


def test_a_tokenizer_is_known_by_name_and_hash(tmp_path):
    """Where it lies is nobody's affair; a file that is not there is an error of the input."""
    (tmp_path / "bpe.json").write_bytes(b"{}")
    assert tokenizer_identity(tmp_path / "bpe.json") == f"bpe.json, sha256 {hashlib.sha256(b'{}').hexdigest()}"
    with pytest.raises(InputError, match=r"none\.json"):
        tokenizer_identity(tmp_path / "none.json")
