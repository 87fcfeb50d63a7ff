"""What counts as a token in a stream of text completions."""

import pytest

from caveat.loadgen.openai_completions import COMPLETIONS


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ('{"choices":[{"text":"a","finish_reason":null}]}', True),
        ('{"choices":[{"text":"","finish_reason":"length"}]}', False),
        ('{"choices":[{"text":null}]}', False),
        ('{"choices":[],"usage":{"completion_tokens":3}}', False),
    ],
)
def test_a_token_is_a_text_that_is_not_empty(event, says):
    """The last events have none."""
    answer = COMPLETIONS.event(event.encode())
    assert COMPLETIONS.says(answer) == says
    assert COMPLETIONS.text(answer) == ("a" if says else "")
