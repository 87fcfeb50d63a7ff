"""Probes: a few requests before a run, to learn how many tokens the server counts in our words."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from caveat.errors import CaveatError
from caveat.loadgen.answers import NOT_JSON, PROMPT
from caveat.loadgen.dialects import DIALECTS
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.failures import readable
from caveat.loadgen.plain_http import ask
from caveat.loadgen.prompts import Prompts, PromptSettings
from caveat.loadgen.tokens import TokenCalibration, calibrate_tokens

_NEXT = "are the url, the model's name and the dialect right? --no-probe leaves the probes out"


def calibrate_prompts(
    endpoint: Endpoint,
    settings: PromptSettings,
    *,
    timeout_s: float = 60.0,
    environ: Mapping[str, str] | None = None,
) -> tuple[PromptSettings, TokenCalibration]:
    """Settings whose lengths are tokens as this server counts them, and how good they are.

    Sends five short prompts and asks for one token each. Raises CannotSayError where the server gives no usage, and
    CaveatError where it refuses them or answers with something else than the dialect promises.
    """
    words = Prompts(msgspec.structs.replace(settings, tokens_per_word=1.0, overhead_tokens=0.0), 0)
    refused: list[str] = []

    def count(length: int) -> int | None:
        body = _body(endpoint, words.text((1 << 40) + length, length))
        reply = ask(endpoint, DIALECTS[endpoint.dialect].path, body, timeout_s=timeout_s, environ=environ)
        if not reply.ok:
            refused.append(f"HTTP {reply.status}: {readable(reply.body, endpoint.secrets(environ))}")
            if len(refused) > 2:
                raise CaveatError(f"probe: {refused[0]}", code="probe-refused", next=_NEXT)
            return None
        try:
            usage = DIALECTS[endpoint.dialect].whole(reply.body).usage
        except NOT_JSON as error:
            said = f"{error}: {readable(reply.body, endpoint.secrets(environ))}"
            raise CaveatError(
                f"probe: no answer of {endpoint.dialect}: {said}", code="probe-refused", next=_NEXT
            ) from error
        return None if usage is None else usage.prompt_tokens

    found = calibrate_tokens(count)
    fitted = msgspec.structs.replace(
        settings, tokens_per_word=found.tokens_per_word, overhead_tokens=found.overhead_tokens
    )
    return fitted, found


def _body(endpoint: Endpoint, prompt: str) -> bytes:
    fields = dict(DIALECTS[endpoint.dialect].body())
    text = msgspec.json.encode({"model": endpoint.model, "stream": False, "max_tokens": 1, **fields})
    mark = msgspec.json.encode(PROMPT)
    return text.replace(mark, msgspec.json.encode(prompt), 1)
