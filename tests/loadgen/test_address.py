"""Where an endpoint is, and whether a proxy stands in the way."""

import pytest

from caveat.errors import UsageError
from caveat.loadgen import Endpoint
from caveat.loadgen.address import Address, refuse_proxy


@pytest.mark.parametrize(
    ("url", "address", "header"),
    [
        ("http://host", Address("http", "host", 80, ""), "host"),
        ("https://Host.Example:443/v1", Address("https", "host.example", 443, ""), "host.example"),
        ("http://127.0.0.1:8000/v1/", Address("http", "127.0.0.1", 8000, ""), "127.0.0.1:8000"),
        ("http://[::1]:8000/team/llm/v1", Address("http", "::1", 8000, "/team/llm"), "[::1]:8000"),
        ("http://host/v1/chat/completions", Address("http", "host", 80, ""), "host"),
        ("http://host/team/v1/models/", Address("http", "host", 80, "/team"), "host"),
        ("http://host/models", Address("http", "host", 80, "/models"), "host"),
        ("https://bücher.example/", Address("https", "xn--bcher-kva.example", 443, ""), "xn--bcher-kva.example"),
    ],
)
def test_a_url_is_taken_apart(url, address, header):
    """Ports of the scheme, the `/v1` that most people add, IPv6, names that are not ASCII."""
    found = Endpoint(url=url, model="m").address()
    assert (found, found.host_header, found.secure) == (address, header, url.startswith("https"))


def test_the_address_of_text_completions_needs_their_dialect():
    """Understood where it fits, refused with the way out where the other API would be asked."""
    url = "http://host/v1/completions"
    assert Endpoint(url=url, model="m", dialect="openai-completions").address() == Address("http", "host", 80, "")
    with pytest.raises(UsageError, match="found the address of openai-completions requests") as caught:
        Endpoint(url=url, model="m")
    assert "--completions" in caught.value.next
    with pytest.raises(UsageError, match="found the address of openai-chat requests"):
        Endpoint(url="http://host/v1/chat/completions", model="m", dialect="openai-completions")


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/responses", "/generate", "/v1/embeddings"])
def test_the_address_of_another_api_is_refused_at_once(path):
    """Not at the first request."""
    with pytest.raises(UsageError, match="expected what stands before /v1") as caught:
        Endpoint(url=f"http://host{path}", model="m")
    assert "for example http://localhost:8000" in caught.value.next


@pytest.mark.parametrize(
    ("url", "environ", "refused"),
    [
        ("http://host", {}, False),
        ("http://host", {"HTTP_PROXY": "http://p:1"}, True),
        ("http://host", {"http_proxy": ""}, False),
        ("http://host", {"HTTPS_PROXY": "http://p:1"}, False),
        ("https://host", {"https_proxy": "http://p:1"}, True),
        ("https://host", {"ALL_PROXY": "socks5://p:1"}, True),
        ("http://a.host:81", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "other, .host"}, False),
        ("http://a.host:81", {"HTTP_PROXY": "http://p:1", "no_proxy": "a.host:81"}, False),
        ("http://a.host:81", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "a.host:82,ost"}, True),
        ("http://host", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "*"}, False),
        ("http://127.0.0.1:1", {"HTTP_PROXY": "http://p:1"}, False),
        ("http://localhost:1", {"HTTP_PROXY": "http://p:1"}, False),
        ("http://[::1]:1", {"HTTP_PROXY": "http://p:1"}, False),
    ],
)
def test_a_proxy_is_refused_unless_it_is_bypassed(url, environ, refused):
    """Its time would be read as the server's; this machine itself needs none."""
    address = Endpoint(url=url, model="m").address()
    if not refused:
        refuse_proxy(address, environ)
        return
    with pytest.raises(UsageError, match="direct connections only") as caught:
        refuse_proxy(address, environ)
    assert (caught.value.code, address.host in caught.value.next) == ("proxy-refused", True)
