"""Site: which path is answered by what. Completions go to the endpoint, everything else is answered here at once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from caveat import __version__
from caveat.loopback.connection import Connection, Request
from caveat.loopback.endpoint import Endpoint
from caveat.loopback.prometheus import metrics_text
from caveat.loopback.truth import now_ns
from caveat.loopback.wire import ApiError, error_response, response
from caveat.units import NS_PER_S

MAX_STALL_S = 600.0

# path, whether it is chat
COMPLETIONS = {"/v1/chat/completions": True, "/v1/completions": False}


class _Stall(msgspec.Struct):
    seconds: float


class Site:
    """What a connection hands its requests to."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.body_bytes = endpoint.behaviour.body_bytes
        self.connections: set[Connection] = set()
        self._loaded_ns = endpoint.started_ns + round(endpoint.behaviour.loading_s * NS_PER_S)

    def opened(self, connection: Connection) -> None:
        """A client has come."""
        self.connections.add(connection)

    def lost(self, connection: Connection) -> None:
        """A client has gone: its request is over."""
        self.connections.discard(connection)
        if connection.serving is not None:
            self.endpoint.over(connection.serving, "gone")

    def close(self) -> None:
        """Let no client wait for anything any more."""
        self.endpoint.pump.close()
        for connection in tuple(self.connections):
            connection.reset()

    def handle(self, connection: Connection, request: Request) -> None:
        """Answer a request, or begin to."""
        if request.path.startswith("/loopback/"):  # the operator's own: neither loading nor a stall stops it
            self._operate(connection, request)
        elif self._loaded_ns and not self._is_loaded():
            left_s = (self._loaded_ns - now_ns()) / NS_PER_S
            refusal = ApiError(503, "Loading model", None, max(0.0, left_s))
            self.endpoint.reply(connection, error_response(refusal))
        elif request.path in COMPLETIONS and request.method == "POST":
            self.endpoint.complete(connection, request.path, request.body, COMPLETIONS[request.path])
        else:
            self.endpoint.reply(connection, self._page(request))

    def _is_loaded(self) -> bool:
        if now_ns() < self._loaded_ns:
            return False
        self._loaded_ns = 0  # and ask no more
        return True

    def _page(self, request: Request) -> bytes:
        page = PAGES.get(request.path)
        if page and request.method == "GET":
            return page(self.endpoint)
        if page or request.path in COMPLETIONS:
            allowed = "GET" if page else "POST"
            return error_response(ApiError(405, f"expected {allowed} {request.path}"), f"allow: {allowed}")
        return error_response(ApiError(404, f"nothing at {request.path[:200]}"))

    def _operate(self, connection: Connection, request: Request) -> None:
        endpoint = self.endpoint
        match request.method, request.path:
            case "GET", "/loopback/log":
                connection.answer(response(200, endpoint.log.lines(), "application/jsonl"))
            case "DELETE", "/loopback/log":
                endpoint.log.clear()
                connection.answer(response(200, b"{}"))
            case "GET", "/loopback/behaviour":
                connection.answer(response(200, msgspec.json.encode(endpoint.behaviour)))
            case "POST", "/loopback/stall":
                self._stall(connection, request.body)
            case _:
                connection.answer(error_response(ApiError(404, f"nothing to {request.method} at {request.path[:200]}")))

    def _stall(self, connection: Connection, body: bytes) -> None:
        try:
            seconds = msgspec.json.decode(body, type=_Stall).seconds
        except msgspec.DecodeError as error:
            connection.answer(error_response(ApiError(400, str(error), "seconds")))
            return
        if not 0 < seconds <= MAX_STALL_S:
            refusal = ApiError(
                400, f"seconds: found {seconds}, expected above 0 and at most {MAX_STALL_S:g}", "seconds"
            )
            connection.answer(error_response(refusal))
            return
        self.endpoint.pump.stall(seconds)
        connection.answer(response(200, b"{}"))


def _models(endpoint: Endpoint) -> bytes:
    behaviour = endpoint.behaviour
    model = {"id": behaviour.model, "object": "model", "created": endpoint.created, "owned_by": "caveat"}
    model["max_model_len"] = behaviour.context_tokens
    return response(200, msgspec.json.encode({"object": "list", "data": [model]}))


def _health(endpoint: Endpoint) -> bytes:
    return response(200, b'{"status":"ok"}')


def _version(endpoint: Endpoint) -> bytes:
    return response(200, msgspec.json.encode({"version": __version__, "server": "caveat loopback"}))


def _metrics(endpoint: Endpoint) -> bytes:
    return response(200, metrics_text(endpoint).encode(), "text/plain; version=0.0.4; charset=utf-8")


PAGES: dict[str, Callable[[Endpoint], bytes]] = {
    "/v1/models": _models,
    "/health": _health,
    "/version": _version,
    "/metrics": _metrics,
}
