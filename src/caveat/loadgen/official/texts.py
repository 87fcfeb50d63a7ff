"""Texts: the bytes of a sample's request, made when LoadGen loads a set, before its clock runs.

Distinct prompts cannot be made beforehand; they are made as they are sent, in some tens of microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from caveat.loadgen.body import RequestBytes, escaped
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.official.settings import OfficialSettings
from caveat.loadgen.prompts import Prompts

Make = Callable[[int, int], bytes]
"""From a sample's index and the number of the request to head and body."""


class Texts:
    """The samples of LoadGen's library that are loaded."""

    def __init__(self, settings: OfficialSettings, endpoint: Endpoint, environ: Mapping[str, str] | None) -> None:
        self._settings = settings
        self._prompts = Prompts(settings.prompt_words, 0)
        self._rendered = RequestBytes(endpoint, settings.decoding, environ)
        self._loaded: dict[int, bytes] = {}

    def load(self, indices: Sequence[int]) -> None:
        """LoadGen's LoadSamplesToRam; an index may come twice."""
        if not self._settings.distinct_prompts:
            self._loaded |= {index: self._render(index, index) for index in set(indices)}

    def unload(self, indices: Sequence[int]) -> None:
        """LoadGen's UnloadSamplesFromRam."""
        for index in indices:
            self._loaded.pop(index, None)

    def make(self, index: int, number: int) -> bytes:
        """The bytes of request `number`, which asks for sample `index`."""
        return self._loaded.get(index) or self._render(index, number)

    def _render(self, index: int, number: int) -> bytes:
        input_tokens, output_tokens = self._settings.lengths(index)
        if self._settings.prompts:
            prompt = escaped(self._settings.prompts[index])
        else:
            prompt = self._prompts.text(number, input_tokens).encode()
        return self._rendered.make(prompt, output_tokens)
