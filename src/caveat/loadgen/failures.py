"""Failures: every way in which a request can fail, by name. A failure is a sample, not an exception."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Sequence

MAX_TEXT = 200

# class, what happened. `http-NNN` stands for any status but 2xx.
CLASSES: dict[str, str] = {
    "dns": "the name of the host could not be resolved",
    "refused": "the connection was refused",
    "unreachable": "no route to the host, or the network is down",
    "connect-timeout": "the connection did not stand within its time",
    "connect-failed": "the connection could not be made for another reason, which the text tells",
    "tls": "the TLS handshake failed",
    "no-file-descriptors": "this machine has no file descriptor left for the connection: the client's own limit",
    "no-ports": "this machine has no local port left for the connection: the client's own limit",
    "reset-before-first-byte": "the connection ended after the request was sent and before any answer",
    "reset-mid-stream": "the connection was reset in the middle of the answer",
    "truncated": "the answer ended before its end: a clean close, or a stream without finish reason and [DONE]",
    "http-NNN": "the server answered with this status",
    "malformed-http": "the answer is not HTTP/1.1",
    "malformed-sse": "an event of the stream is not the JSON that the dialect promises",
    "malformed-json": "the whole answer is not the JSON that the dialect promises",
    "not-a-stream": "a stream was asked for and something else came",
    "empty": "the stream ended well, with [DONE], and held no delta and no finish reason",
    "error-in-answer": "the server reported an error inside an answer that began well",
    "too-large": "the head, one event or the whole answer is longer than the limit",
    "stalled": "the answer began and then nothing came for the idle time",
    "timeout": "the request did not end within its time",
    "cancelled": "the run was stopped and the request did not end while draining",
    "internal": "caveat itself failed; the text tells how",
}

CLIENT_LIMITS = ("no-file-descriptors", "no-ports")
"""Classes that say something about this machine and nothing about the server."""

_BY_ERRNO = {
    errno.ECONNREFUSED: "refused",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.ETIMEDOUT: "connect-timeout",
    errno.EMFILE: "no-file-descriptors",
    errno.ENFILE: "no-file-descriptors",
    errno.EADDRNOTAVAIL: "no-ports",
}


def connect_failure(error: BaseException) -> str:
    """The class of an error that came while connecting."""
    if isinstance(error, socket.gaierror):
        return "dns"
    if isinstance(error, ssl.SSLError | ssl.CertificateError):
        return "tls"
    if isinstance(error, TimeoutError):
        return "connect-timeout"
    if isinstance(error, OSError):
        return _BY_ERRNO.get(error.errno or 0, "connect-failed")
    return "connect-failed"


def readable(text: str | bytes, secrets: Sequence[str] = ()) -> str:
    """A foreign text for a sample: secrets hidden, control characters as spaces, at most 200 characters."""
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    for secret in secrets:
        words = words.replace(secret, "[hidden]")
    words = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in words[: 8 * MAX_TEXT])).strip()
    return words if len(words) <= MAX_TEXT else words[: MAX_TEXT - 1] + "…"
