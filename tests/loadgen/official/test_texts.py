"""The bytes of a sample's request."""

import json
from typing import Any

from caveat.loadgen import Endpoint
from caveat.loadgen.official.texts import Texts
from tests.loadgen.official.runs import settings

ENDPOINT = Endpoint(url="http://127.0.0.1:9", model="m")


def body(request: bytes) -> Any:
    return json.loads(request.partition(b"\r\n\r\n")[2])


def test_a_sample_has_the_same_request_each_time_and_others_have_another():
    """Loaded or not, whatever the number of the request."""
    texts = Texts(settings(input_tokens=tuple(range(8, 72))), ENDPOINT, {})
    texts.load([3, 3, 4])
    assert texts.make(3, 0) == texts.make(3, 9) != texts.make(4, 0)
    loaded = texts.make(3, 3)
    texts.unload([3, 4])
    assert texts.make(3, 3) == loaded
    assert len(body(loaded)["messages"][0]["content"].split()) == 11
    assert (body(loaded)["max_tokens"], body(loaded)["ignore_eos"]) == (4, True)


def test_distinct_prompts_differ_from_request_to_request():
    """A prefix cache finds nothing where a sample comes again."""
    texts = Texts(settings(distinct_prompts=True), ENDPOINT, {})
    texts.load([3])
    assert texts.make(3, 0) != texts.make(3, 1)


def test_texts_of_ones_own_are_sent_as_they_are():
    """Whatever is in them."""
    prompts = tuple(f'{number}: "\n\\ é' for number in range(64))
    texts = Texts(settings(prompts=prompts), ENDPOINT, {})
    assert body(texts.make(5, 0))["messages"][0]["content"] == prompts[5]
