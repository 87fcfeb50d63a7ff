"""Models that ship with the package, to try things out: by name, beside model files by path."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from caveat.errors import NotFoundError
from caveat.simulator.model_file import Model, decode_model, read_model

FOLDER = "models"
SUFFIX = ".toml"


def shipped_models() -> tuple[str, ...]:
    """Their names, in order of the alphabet."""
    names = (entry.name for entry in files("caveat.simulator").joinpath(FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


def model_named(text: str) -> Model:
    """The shipped model of that name, else the model file at that path.

    A file goes before a name: `./name.toml` is never mistaken. NotFoundError lists the names; InputError says what is
    wrong with a file.
    """
    path = Path(text)
    if path.is_file():
        return read_model(path)
    if text in shipped_models():
        return decode_model(files("caveat.simulator").joinpath(FOLDER, f"{text}{SUFFIX}").read_bytes(), name=text)
    raise NotFoundError(
        f"no model file and no shipped model is called {text[:120]!r}",
        next=f"give a .toml file, or one of {', '.join(shipped_models())}",
    )
