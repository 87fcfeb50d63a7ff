"""What the drivers of unpacked wheels share: stand-ins for modules that are not there, prompts, a tokenizer of words.

Runs on the interpreter of the peers, which has no caveat: standard library only.
"""

import argparse
import sys
import types
from pathlib import Path
from typing import Any

OUTPUT_TOKENS, INPUT_TOKENS = 16, 32


def asked() -> argparse.Namespace:
    """The command line; the unpacked wheel comes first on the path."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--concurrency", type=int)
    parser.add_argument("--rate", type=float, default=float("inf"))
    found = parser.parse_args()
    sys.path.insert(0, str(found.wheel))
    return found


def stand_in(name: str, **content: Any) -> None:
    """A module that has nothing but this."""
    module = types.ModuleType(name)
    module.__dict__.update(content, __path__=[])
    sys.modules[name] = module


def prompt(number: int) -> str:
    """Some words, another text each time."""
    return f"{number} " + "word " * (INPUT_TOKENS - 1)


class Words:
    """Counts words for tokens: cheaper than any real tokenizer, so that a client is not charged for one."""

    def encode(self, text: str, **_: Any) -> list[str]:
        """The words."""
        return text.split()

    def __call__(self, text: str, **_: Any) -> types.SimpleNamespace:
        """The words, as a call gives them."""
        return types.SimpleNamespace(input_ids=text.split())
