"""Wire: the bytes around an answer: HTTP heads, chunk frames, and errors as OpenAI writes them."""

from __future__ import annotations

import math
from http import HTTPStatus

import msgspec

JSON = "application/json"
CHUNKED_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM_HEAD = CHUNKED_HEAD.format("text/event-stream; charset=utf-8").encode()
LAST_FRAME = b"0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

# status, (type, code) of the error object
_ERRORS: dict[int, tuple[str, str | None]] = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", None),
    404: ("invalid_request_error", "not_found"),
    429: ("requests", "rate_limit_exceeded"),
    503: ("unavailable_error", "loading"),
}


class ApiError(msgspec.Struct, frozen=True):
    """A refusal that the client reads. `param` is the part of the request that it is about."""

    status: int
    message: str
    param: str | None = None
    retry_after_s: float | None = None


def frame(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def response(status: int, body: bytes, content_type: str = JSON, *headers: str) -> bytes:
    """A whole answer with its length. `headers` are further lines, without their ends."""
    lines = [
        f"HTTP/1.1 {status} {_phrase(status)}",
        f"content-type: {content_type}",
        f"content-length: {len(body)}",
        *headers,
    ]
    return "\r\n".join((*lines, "", "")).encode() + body


def error_response(error: ApiError, *headers: str) -> bytes:
    """The refusal as an answer."""
    fallback = "invalid_request_error" if error.status < 500 else "server_error"
    kind, code = _ERRORS.get(error.status, (fallback, None))
    record = {"message": error.message, "type": kind, "param": error.param, "code": code}
    if error.retry_after_s is not None:
        headers = (*headers, f"retry-after: {math.ceil(error.retry_after_s)}")
    return response(error.status, msgspec.json.encode({"error": record}), JSON, *headers)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 4xx and 5xx that nobody named
        return "Error"
