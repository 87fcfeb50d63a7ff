"""The dialects that caveat speaks: one line each."""

from __future__ import annotations

from caveat.loadgen.answers import Dialect
from caveat.loadgen.endpoint import DialectName
from caveat.loadgen.openai_chat import CHAT
from caveat.loadgen.openai_completions import COMPLETIONS

DIALECTS: dict[DialectName, Dialect] = {
    "openai-chat": CHAT,
    "openai-completions": COMPLETIONS,
}
