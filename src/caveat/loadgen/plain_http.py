"""One bounded request at a time, for questions around a run (models, version, metrics, probes), not for load."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass

from caveat.errors import CaveatError
from caveat.loadgen.address import refuse_proxy
from caveat.loadgen.body import USER_AGENT
from caveat.loadgen.endpoint import Endpoint
from caveat.loadgen.failures import readable
from caveat.loadgen.pool import tls_context

MAX_BYTES = 8 << 20
_PIECE = 64 << 10


class AskError(CaveatError):
    """The endpoint could not be asked: not reached, too slow, or an answer that is too long."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and body. Redirects are not followed: they are a status like any other."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


def ask(
    endpoint: Endpoint,
    path: str,
    body: bytes | None = None,
    *,
    timeout_s: float = 10.0,
    environ: Mapping[str, str] | None = None,
) -> Reply:
    """GET the path below the endpoint's base, or POST a body to it. Raises AskError; never takes longer than asked."""
    address = endpoint.address()
    refuse_proxy(address, environ)
    until_s = time.monotonic() + timeout_s
    connection: http.client.HTTPConnection
    if address.secure:
        context: ssl.SSLContext = tls_context(endpoint)
        connection = http.client.HTTPSConnection(address.host, address.port, timeout=timeout_s, context=context)
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    try:
        connection.request("GET" if body is None else "POST", address.base + path, body, _headers(endpoint, environ))
        answer = connection.getresponse()
        return Reply(answer.status, _read(answer, connection, until_s))
    except (OSError, http.client.HTTPException, ValueError) as error:
        words = readable(str(error) or type(error).__name__, endpoint.secrets(environ))
        raise AskError(f"{path}: {words}", next="is the url right, and does the server answer?") from error
    finally:
        connection.close()


def _headers(endpoint: Endpoint, environ: Mapping[str, str] | None) -> dict[str, str]:
    key = endpoint.key(environ)
    fixed = {"User-Agent": USER_AGENT, "Content-Type": "application/json"}
    return fixed | ({} if key is None else {"Authorization": f"Bearer {key}"}) | endpoint.headers


def _read(answer: http.client.HTTPResponse, connection: http.client.HTTPConnection, until_s: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := answer.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise ValueError(f"found more than {MAX_BYTES} bytes, expected at most that")
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the answer did not end in time")
        if connection.sock is not None:
            connection.sock.settimeout(left_s)
    return b"".join(pieces)
