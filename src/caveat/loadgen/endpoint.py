"""Endpoint: where requests go and how they are spoken. Holds the name of the key's variable, never the key."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from caveat.errors import InputError, UsageError
from caveat.loadgen.address import Address, dialect_of

DialectName = Literal["openai-chat", "openai-completions"]

HIDDEN = "[hidden]"
UNNAMED = "-"
"""Stands for the model until the endpoint has been asked for it; no run is made with it."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a header's name, RFC 9110 section 5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # and its value: no line ends, no control characters
_OURS = ("host", "content-length", "transfer-encoding", "connection", "expect")
_ASKED = {
    "openai-chat": 'leave out --completions (in a spec: dialect = "openai-chat")',
    "openai-completions": '--completions (in a spec: dialect = "openai-completions")',
}
_LONG = 8  # characters: a value as long as a key is hidden whatever its header is called, a short word is not
_SECRET = re.compile(r"auth|key|token|secret|cookie|credential|password", re.IGNORECASE)


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One OpenAI-compatible server and the model asked for.

    url        base, with or without the trailing `/v1`: http://localhost:8000 or https://host/some/path/v1;
               the address of a request, as people paste it, is understood too
    model      name that goes into each request; left out, the only one that the endpoint serves
    dialect    which of the APIs is spoken
    stream     whether answers come as server-sent events; without, there are no token times
    key_env    environment variable that holds the API key; None sends no key
    headers    further headers of every request; their values may be secret and are never described
    extra_body further fields of every body
    ca_file    certificates to trust instead of the system's
    verify     False trusts any certificate (said in `describe`)

    Raises UsageError naming the field.
    """

    url: str
    model: str = UNNAMED
    dialect: DialectName = "openai-chat"
    stream: bool = True
    key_env: str | None = None
    headers: dict[str, str] = {}
    extra_body: dict[str, object] = {}
    ca_file: str | None = None
    verify: bool = True

    def __post_init__(self) -> None:
        self.address()
        for name, value in self.headers.items():
            _check_header(name, value)
        if "authorization" in map(str.lower, self.headers) and self.key_env is not None:
            raise UsageError("endpoint: found both key_env and an authorization header, expected one of them")

    def address(self) -> Address:
        """Scheme, host, port and base path. Raises UsageError."""
        parts = urlsplit(self.url)
        if parts.username is not None or parts.password is not None:
            # The url is a condition and is printed; what stands in it cannot be kept secret.
            raise UsageError(
                "endpoint.url: found a user or password in it, expected none", next="use key_env or headers"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise UsageError(
                f"endpoint.url: found {self.url[:200]!r}, expected http://HOST[:PORT][/PATH] or https://…",
                next="for example http://localhost:8000",
            )
        pasted = dialect_of(parts.path)
        if pasted is not None and pasted != self.dialect:
            raise UsageError(
                f"endpoint.url: found the address of {pasted} requests, expected one for dialect {self.dialect}",
                next=f"{_ASKED[pasted]}; or the url without what stands behind /v1",
            )
        return Address.of(parts)

    def key(self, environ: Mapping[str, str] | None = None) -> str | None:
        """The API key from the environment. Raises InputError where the variable is empty or missing."""
        if self.key_env is None:
            return None
        key = (os.environ if environ is None else environ).get(self.key_env, "").strip()
        if not key:
            raise InputError(
                f"endpoint.key_env: the environment has no {self.key_env}, expected the API key in it",
                next=f"export {self.key_env}=…",
            )
        _check_header("authorization", key)
        return key

    def secrets(self, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Texts that must not appear in any sample: the key and the values of headers."""
        key = self.key(environ)
        values = [value for name, value in self.headers.items() if _SECRET.search(name) or len(value) >= _LONG]
        return tuple(text for text in (key, *values) if text)

    def describe(self) -> dict[str, str]:
        """What may be kept and printed: no key, no header's value. Extra body fields are written as JSON."""
        said = {"url": self.url, "model": self.model, "dialect": self.dialect, "streaming": str(self.stream).lower()}
        if self.key_env is not None:
            said["key"] = f"from ${self.key_env}"
        if self.headers:
            said["headers"] = ", ".join(f"{name.lower()}: {HIDDEN}" for name in sorted(self.headers))
        if self.extra_body:
            said["extra_body"] = msgspec.json.encode(self.extra_body, order="deterministic").decode()
        if not self.verify:
            said["certificate"] = "not verified"
        return said


def _check_header(name: str, value: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise UsageError(f"endpoint.headers: found the name {name[:80]!r}, expected letters, digits and dashes")
    if name.lower() in _OURS:
        raise UsageError(f"endpoint.headers: found {name}, expected none of {', '.join(_OURS)}: caveat writes them")
    if not _VALUE.fullmatch(value):
        raise UsageError(
            f"endpoint.headers: the value of {name} has a line end or control character, or is not Latin-1"
        )
