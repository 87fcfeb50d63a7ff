"""Address: the parts of an endpoint's url, and whether a proxy stands in the way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult

from caveat.errors import UsageError

_PORTS = {"http": 80, "https": 443}
# What people paste is often the address of a request: the path behind `/v1`, and the API that it speaks.
_REQUESTS = {"/chat/completions": "openai-chat", "/completions": "openai-completions", "/models": None}
_OTHERS = ("/responses", "/embeddings", "/messages", "/generate")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect, and the path that the API hangs under (no slash at its end, no `/v1`)."""

    scheme: str
    host: str
    port: int
    base: str

    @classmethod
    def of(cls, parts: SplitResult) -> Address:
        """From a parsed url, also one of a request (`/v1/chat/completions`): the base is what stands before `/v1`.

        Raises UsageError for an impossible port, a path that is not plain ASCII or one of another API.
        """
        try:
            port = parts.port or _PORTS[parts.scheme]
        except ValueError as error:
            raise UsageError(f"endpoint.url: {error}, expected a port from 1 to 65535") from error
        base = _base_of(parts.path.rstrip("/"))
        if not (base.isascii() and base.isprintable()) or " " in base:
            raise UsageError(f"endpoint.url: found the path {base[:200]!r}, expected printable ASCII without spaces")
        try:
            host = (
                (parts.hostname or "").encode("idna").decode() if ":" not in (parts.hostname or "") else parts.hostname
            )
        except UnicodeError as error:
            raise UsageError(f"endpoint.url: found host {(parts.hostname or '')[:200]!r}: {error}") from error
        return cls(parts.scheme, host or "", port, base)

    @property
    def secure(self) -> bool:
        """Whether TLS is spoken."""
        return self.scheme == "https"

    @property
    def host_header(self) -> str:
        """The value of the Host header; the scheme's own port is left out."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"


def _base_of(path: str) -> str:
    found = next((ending for ending in (*_REQUESTS, *_OTHERS) if path.endswith(ending)), "")
    base = path.removesuffix(found)
    if found == "/models" and not base.endswith("/v1"):
        return path  # a gateway may well be called so
    if found in _OTHERS or (found and not base.endswith("/v1")):
        raise UsageError(
            f"endpoint.url: found the path {path[-80:]!r}, expected what stands before /v1: requests go to "
            "/v1/chat/completions or /v1/completions below it",
            next=f"leave out {found}; for example http://localhost:8000",
        )
    return base.removesuffix("/v1")


def dialect_of(path: str) -> str | None:
    """The API of a pasted request's path; None where the path says none."""
    return next((name for ending, name in _REQUESTS.items() if path.rstrip("/").endswith(f"/v1{ending}")), None)


def refuse_proxy(address: Address, environ: Mapping[str, str] | None = None) -> None:
    """Refuse to run where the environment asks for a proxy: a proxy's time would be read as the server's.

    NO_PROXY is honoured: names with their subdomains, `host:port`, `*`. This machine itself never needs a proxy.
    Raises UsageError with the ways out.
    """
    values = {name.lower(): value for name, value in (os.environ if environ is None else environ).items() if value}
    asked = [name for name in (f"{address.scheme}_proxy", "all_proxy") if name in values]
    if not asked or _is_this_machine(address.host) or _bypassed(address, values.get("no_proxy", "")):
        return
    raise UsageError(
        f"{asked[0].upper()} is set, and caveat measures direct connections only: "
        "a proxy's queueing would be read as the server's",
        code="proxy-refused",
        next=f"unset it, or add the host to NO_PROXY: NO_PROXY={address.host}",
    )


def _bypassed(address: Address, no_proxy: str) -> bool:
    host = address.host.lower()
    for entry in no_proxy.lower().replace(" ", ",").split(","):
        name = entry.removeprefix("*").removeprefix(".")
        if entry == "*" or (name and (name in (host, f"{host}:{address.port}") or host.endswith(f".{name}"))):
            return True
    return False


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
