"""The model that an endpoint serves, where nobody named one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from caveat.errors import InputError
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.failures import readable
from caveat.loadgen.plain_http import AskError, ask

_NEXT = "give --model NAME"


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


def served_model(endpoint: Endpoint, *, timeout_s: float = 10.0, environ: Mapping[str, str] | None = None) -> str:
    """The only model that GET /v1/models lists. InputError where it lists none or several, or does not answer."""
    try:
        reply = ask(endpoint, "/v1/models", timeout_s=timeout_s, environ=environ)
        models = msgspec.json.decode(reply.body, type=_Models).data if reply.ok else []
    except (AskError, msgspec.MsgspecError) as error:
        said = readable(str(error), endpoint.secrets(environ))
        raise InputError(f"{endpoint.url} does not list its models: {said}", next=_NEXT) from error
    if len(models) != 1:
        names = ", ".join(readable(model.id) for model in models[:5])
        raise InputError(
            f"{endpoint.url} lists {len(models)} models, expected one",
            next=f"{_NEXT}, one of {names}" if names else _NEXT,
        )
    return models[0].id
