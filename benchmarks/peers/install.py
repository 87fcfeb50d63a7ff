"""Install the peers, each in an environment of its own: `python -m benchmarks.peers.install [--into FOLDER] [NAME...]`.

Two come as wheels of several hundred megabytes of which a load client needs a few: these are unpacked in part and run
by our drivers. What cannot be installed is said and left out; the others are not.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

FOLDER = Path.home() / ".cache" / "caveat-peers"


@dataclass(frozen=True)
class Environment:
    """A virtual environment with these packages. `python` is the interpreter that they ask for."""

    name: str
    packages: tuple[str, ...]
    python: str = "python3.11"


@dataclass(frozen=True)
class Wheel:
    """Files of a wheel that match one of the patterns, unpacked."""

    name: str
    package: str
    patterns: tuple[str, ...]


CLIENTS = ("aiohttp", "numpy", "tqdm", "orjson", "msgspec", "requests", "transformers", "regex", "pybase64")
PEERS: tuple[Environment | Wheel, ...] = (
    Environment("clients", CLIENTS),
    Wheel("vllm", "vllm==0.33.0", ("vllm/benchmarks/*",)),
    Wheel("sglang", "sglang==0.5.23", ("sglang/benchmark/*", "sglang/srt/rust_extensions/*")),
    Environment("aiperf", ("aiperf==0.13.0",)),
    Environment("guidellm", ("torch==2.13.0+cpu", "guidellm==0.8.1")),  # any other torch brings gigabytes of CUDA
    Environment("inference-perf", ("inference-perf==0.7.0",), "python3.12"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=FOLDER, help=f"default {FOLDER}")
    parser.add_argument("names", nargs="*", help=", ".join(peer.name for peer in PEERS))
    asked = parser.parse_args()
    asked.into.mkdir(parents=True, exist_ok=True)
    tokenizer(asked.into / "tokenizer")
    failed = 0
    for peer in PEERS:
        if asked.names and peer.name not in asked.names:
            continue
        why = environment(peer, asked.into) if isinstance(peer, Environment) else unpacked(peer, asked.into)
        failed += why is not None
        print(f"{peer.name}: {'installed' if why is None else f'left out: {why}'}", flush=True)
    return 1 if failed else 0


def environment(peer: Environment, into: Path) -> str | None:
    """Make it; why not, where it cannot be made, and then nothing of it stays."""
    python = shutil.which(peer.python)
    if python is None:
        return f"no {peer.python}"
    place = into / peer.name
    commands: tuple[list[str | Path], ...] = (
        [python, "-m", "venv", place],
        [place / "bin" / "pip", "install", "-q", *peer.packages],
    )
    for command in commands:
        if (why := _run(command)) is not None:
            shutil.rmtree(place, ignore_errors=True)
            return why
    return None


def unpacked(peer: Wheel, into: Path) -> str | None:
    """The parts of a wheel that are wanted; why not, where it cannot be had."""
    with tempfile.TemporaryDirectory(dir=into) as folder:
        pip = into / "clients" / "bin" / "pip"  # the wheel must suit the interpreter that runs it
        if not pip.exists():
            return "it is run by the environment `clients`, which is not installed"
        why = _run([pip, "download", "-q", "--no-deps", "--only-binary", ":all:", peer.package, "-d", folder])
        if why is not None:
            return why
        (path,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(path) as wheel:
            wanted = [name for name in wheel.namelist() if any(fnmatch(name, one) for one in peer.patterns)]
            wheel.extractall(into / peer.name, wanted)
    return None


def _run(command: Sequence[str | Path]) -> str | None:
    """The last line that a failed command said."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
    return None if done.returncode == 0 else (lines or [f"exit {done.returncode}"])[-1][:300]


def tokenizer(folder: Path) -> None:
    """One token a byte, for tools that will not run without a tokenizer: nothing is cheaper to count with."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that stand for themselves in byte-level BPE
    others = [byte for byte in range(256) if byte not in plain]
    signs = [*map(chr, plain), *(chr(256 + place) for place in range(len(others)))]
    special = ["<unk>", "<s>", "</s>"]
    vocabulary = {sign: number for number, sign in enumerate([*special, *signs])}
    added = [
        {
            "id": number,
            "content": word,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for number, word in enumerate(special)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    files = {
        "tokenizer.json": {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "normalizer": None,
            "post_processor": None,
            "added_tokens": added,
            "pre_tokenizer": byte_level,
            "decoder": byte_level,
            "model": {**model, "vocab": vocabulary, "merges": []},
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "unk_token": "<unk>",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "model_max_length": 131072,
            "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}",
        },
        "config.json": {"model_type": "llama", "vocab_size": len(vocabulary)},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))


if __name__ == "__main__":
    sys.exit(main())
