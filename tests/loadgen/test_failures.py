"""Foreign texts and errors become short words of ours."""

import errno
import socket
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.loadgen.failures import CLASSES, CLIENT_LIMITS, MAX_TEXT, connect_failure, readable


@given(st.text() | st.binary())
def test_a_foreign_text_becomes_one_short_printable_line(text):
    """No control characters, no escapes of a terminal, at most 200 characters."""
    words = readable(text)
    assert len(words) <= MAX_TEXT and words.isprintable() and words == words.strip()


def test_secrets_are_hidden_before_the_text_is_cut():
    """Half a key would be half a secret."""
    assert readable("x" * 195 + "sk-secret", ["sk-secret"]) == "x" * 195 + "[hid…"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, ""), "refused"),
        (OSError(errno.EHOSTUNREACH, ""), "unreachable"),
        (OSError(errno.EMFILE, ""), "no-file-descriptors"),
        (OSError(errno.EADDRNOTAVAIL, ""), "no-ports"),
        (OSError(errno.EIO, ""), "connect-failed"),
        (TimeoutError(), "connect-timeout"),
        (socket.gaierror(-2, ""), "dns"),
        (ssl.SSLError(1, ""), "tls"),
        (ssl.SSLCertVerificationError(1, ""), "tls"),
        (RuntimeError(""), "connect-failed"),
    ],
)
def test_an_error_of_connecting_has_a_class(error, name):
    """All of them are in the table."""
    assert connect_failure(error) == name and name in CLASSES


def test_the_clients_own_limits_are_classes():
    """They count against the client."""
    assert set(CLIENT_LIMITS) < set(CLASSES)
