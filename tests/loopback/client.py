"""A plain client: sockets of the standard library, an answer with all of its bytes, and how to read a stream."""

import json
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

TIMEOUT_S = 20.0
CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """The JSON of every event of a stream that ends as it should."""
        *events, done, rest = self.body.split(b"\n\n")
        assert (done, rest) == (b"data: [DONE]", b"")
        return [json.loads(event.removeprefix(b"data: ")) for event in events]


@contextmanager
def connection(url):
    client = HTTPConnection(url.removeprefix("http://"), timeout=TIMEOUT_S)
    try:
        yield client
    finally:
        client.close()


def ask(client, method, path, body=None):
    client.request(method, path, None if body is None else json.dumps(body))
    answer = client.getresponse()
    return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


def get(url, path):
    with connection(url) as client:
        return ask(client, "GET", path)


def chat(url, prompt="one two three", **more):
    with connection(url) as client:
        return ask(client, "POST", CHAT, chat_body(prompt, **more))


def text(url, prompt="one two three", **more):
    with connection(url) as client:
        return ask(client, "POST", "/v1/completions", {"prompt": prompt, **more})


def chat_body(prompt="one two three", **more):
    return {"messages": [{"role": "user", "content": prompt}], **more}


def request_bytes(body, path=CHAT, *headers):
    """A request as it goes over the wire."""
    data = json.dumps(body).encode()
    head = "\r\n".join((f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(data)}", *headers, "", ""))
    return head.encode() + data


def connect(url):
    host, _, port = url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S)


def read_to_end(client):
    """Everything until the server closes."""
    parts = []
    while part := client.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def until(done):
    """Ask until it is so. Each question takes a moment of the server's time, and there is an end to them."""
    end_s = time.monotonic() + TIMEOUT_S
    while not done():
        assert time.monotonic() < end_s, "it never came to be"


def deltas(reply, field):
    """The texts of one field of a chat stream, those that are there."""
    found = (event["choices"][0]["delta"].get(field) for event in reply.events if event["choices"])
    return [text for text in found if text]
