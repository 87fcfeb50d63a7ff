"""Before a run: whether the endpoint answers at all, and which model it serves where nobody named one."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping

import msgspec

from caveat.errors import InputError
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.failures import readable
from caveat.loadgen.plain_http import AskError, Reply, ask

ROUTE = "/v1/models"
AGAIN_S = 0.5
_LONGEST_NAME = 300
_NEXT = "give --model NAME"


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model] = []


def until_answering(
    endpoint: Endpoint,
    *,
    wait_s: float = 0.0,
    pause: Callable[[float], None] = time.sleep,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Return when the endpoint answers, which is any status but 401, 403 and 503. InputError where it does not.

    `wait_s` is the patience with what passes by itself: a server that cannot be reached yet, or is loading (503).
    """
    until_s = time.monotonic() + wait_s
    while (refusal := _refusal(endpoint, environ)) is not None:
        error, may_pass = refusal
        left_s = until_s - time.monotonic()
        if not may_pass or left_s <= 0:
            raise error
        pause(min(AGAIN_S, left_s))


def _refusal(endpoint: Endpoint, environ: Mapping[str, str] | None) -> tuple[InputError, bool] | None:
    """Why nothing can be measured now, and whether that may pass; None where the endpoint answers."""
    try:
        reply = ask(endpoint, ROUTE, environ=environ)
    except AskError as error:
        return _unreached(endpoint, error)
    said = f"{endpoint.url} answers HTTP {reply.status}: {readable(reply.body, endpoint.secrets(environ))}"
    if reply.status == 503:
        how = "it may still be loading its model; --wait 2min waits for it"
        return InputError(said, code="not-ready", next=how), True
    if reply.status in (401, 403):
        how = "name the environment variable that holds its key: --key-env NAME"
        return InputError(said, code="not-allowed", next=how), False
    return None


def _unreached(endpoint: Endpoint, error: AskError) -> tuple[InputError, bool]:
    """A server that is not there may come; a certificate that is not trusted stays so."""
    said = f"{endpoint.url} cannot be reached: {error.message}"
    if isinstance(error.__cause__, ssl.SSLCertVerificationError):
        how = "--ca-file FILE trusts its certificate (in a spec: ca_file), --no-verify any (verify = false)"
        return InputError(said, code="certificate", next=how), False
    how = "start the server or check the address; --wait 2min waits for it"
    return InputError(said, code="unreachable", next=how), True


def served_model(endpoint: Endpoint, *, timeout_s: float = 10.0, environ: Mapping[str, str] | None = None) -> str:
    """The only model that GET /v1/models lists. InputError where it lists none or several, or does not answer."""
    try:
        names = _names(ask(endpoint, ROUTE, timeout_s=timeout_s, environ=environ))
    except (AskError, msgspec.MsgspecError) as error:
        said = readable(str(error), endpoint.secrets(environ))
        raise InputError(f"{endpoint.url} does not list its models: {said}", next=_NEXT) from error
    if len(names) != 1:
        some = ", ".join(readable(name, endpoint.secrets(environ)) for name in names[:5])
        raise InputError(
            f"{endpoint.url} lists {len(names)} models, expected one",
            next=f"{_NEXT}, one of {some}" if some else _NEXT,
        )
    if len(names[0]) > _LONGEST_NAME or not names[0].isprintable() or not names[0]:
        raise InputError(f"{endpoint.url} lists a model whose name is no plain text", next=_NEXT)
    return names[0]


def _names(reply: Reply) -> list[str]:
    return [model.id for model in msgspec.json.decode(reply.body, type=_Models).data] if reply.ok else []
