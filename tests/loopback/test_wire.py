"""Wire: heads, frames and errors, byte by byte."""

import json

import pytest

from caveat.loopback.wire import ApiError, error_response, frame, response


def test_a_frame_says_its_length_in_hexadecimal():
    """As chunked bodies want it."""
    assert frame(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"


def test_an_answer_says_its_length():
    """And its further headers."""
    assert response(200, b"{}", "application/json", "allow: GET") == (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nallow: GET\r\n\r\n{}"
    )


@pytest.mark.parametrize(
    ("status", "phrase", "kind", "code"),
    [
        (400, "Bad Request", "invalid_request_error", None),
        (401, "Unauthorized", "authentication_error", "invalid_api_key"),
        (404, "Not Found", "invalid_request_error", "not_found"),
        (429, "Too Many Requests", "requests", "rate_limit_exceeded"),
        (500, "Internal Server Error", "server_error", None),
        (503, "Service Unavailable", "unavailable_error", "loading"),
        (599, "Error", "server_error", None),
    ],
)
def test_an_error_is_written_as_openai_writes_it(status, phrase, kind, code):
    """Message, type, the part it is about, code."""
    head, _, body = error_response(ApiError(status, 'no "that"', "prompt")).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} {phrase}\r\n".encode())
    assert json.loads(body) == {"error": {"message": 'no "that"', "type": kind, "param": "prompt", "code": code}}


def test_a_wait_is_told_in_whole_seconds_rounded_up():
    """So that nobody comes back too early."""
    assert b"\r\nretry-after: 2\r\n" in error_response(ApiError(429, "later", None, 1.2))
