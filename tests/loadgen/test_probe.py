"""A server's own counts set the lengths of prompts."""

import json

import pytest

from caveat.errors import CannotSayError, CaveatError
from caveat.loadgen import Endpoint, PromptSettings
from caveat.loadgen.probe import calibrate_prompts
from tests.loadgen.server import Server, whole


def counting(tokens_per_word: float, template: int):
    def answer(_: int, request: bytes) -> list[bytes]:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        assert (body["max_tokens"], body["stream"], body["model"]) == (1, False, "m")
        words = len(body["messages"][0]["content"].split())
        counts = {"prompt_tokens": round(template + tokens_per_word * words), "completion_tokens": 1}
        choice = {"message": {"content": "a"}, "finish_reason": "length"}
        return [whole(json.dumps({"choices": [choice], "usage": counts}).encode())]

    return answer


def test_prompts_are_calibrated_by_a_few_requests():
    """Five of them; the settings keep seed and salt."""
    with Server(counting(1.5, 12)) as server:
        fitted, found = calibrate_prompts(Endpoint(url=server.url, model="m"), PromptSettings(seed=3, salt=9))
        assert len(server.requests) == 5
    assert (fitted.seed, fitted.salt) == (3, 9)
    assert [fitted.tokens_per_word, fitted.overhead_tokens] == pytest.approx([1.5, 12])
    assert found.residual_tokens == pytest.approx(0, abs=1e-9)


def test_a_server_that_refuses_says_why_and_one_without_counts_cannot_say():
    """A wrong model name; a gateway that drops usage."""
    refusing = Server(lambda *_: [whole(b"no such model", "404 Not Found")])
    with refusing as server, pytest.raises(CaveatError, match="no such model"):
        calibrate_prompts(Endpoint(url=server.url, model="m"), PromptSettings())
    with Server(lambda *_: [whole(b'{"choices":[]}')]) as server, pytest.raises(CannotSayError):
        calibrate_prompts(Endpoint(url=server.url, model="m"), PromptSettings())


@pytest.mark.parametrize("body", [b"<h1>Bad gateway</h1>", b"\xff", b'{"choices":[],"usage":{"prompt_tokens":-5}}'])
def test_a_server_that_answers_with_something_else_says_what(body):
    """A gateway's page with status 200, bytes that are no text, counts that cannot be: refused, and never a crash."""
    with (
        Server(lambda *_: [whole(body)]) as server,
        pytest.raises(CaveatError, match="no answer of openai-chat") as found,
    ):
        calibrate_prompts(Endpoint(url=server.url, model="m"), PromptSettings())
    assert found.value.code == "probe-refused" and "--no-probe" in (found.value.next or "")
