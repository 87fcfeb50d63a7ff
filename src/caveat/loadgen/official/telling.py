"""TellingConnection: a Connection that says at once that the first token is there. All else is the Connection's own."""

from __future__ import annotations

from typing import Protocol

from caveat.loadgen.answers import Dialect
from caveat.loadgen.connection import Connection, Owner
from caveat.loadgen.loop_watch import LoopWatch
from caveat.loadgen.settings import Settings
from caveat.loadgen.tickets import Ticket


class Teller(Owner, Protocol):
    """Who runs the connections and wants to hear of first tokens."""

    def first_token(self, number: int, text: str) -> None:
        """The first token of a request is there; `text` is kept only where texts are."""
        ...


class TellingConnection(Connection):
    """Carries one request at a time; `told` says whether its first token has been told."""

    def __init__(
        self, owner: Teller, watch: LoopWatch, dialect: Dialect, settings: Settings, *, stream: bool, keeps_text: bool
    ) -> None:
        super().__init__(owner, watch, dialect, settings, stream=stream, keeps_text=keeps_text)
        self._teller = owner
        self.told = False

    def begin(self, ticket: Ticket, issued_ns: int) -> None:
        """Nothing is told of the new request yet."""
        self.told = False
        super().begin(ticket, issued_ns)

    def data_received(self, data: bytes) -> None:
        """As ever; where the request ended in this data, the owner has told its first token with its end."""
        super().data_received(data)
        if self.ticket is not None and not self.told and self.first_token_ns:
            self.told = True
            self._teller.first_token(self.ticket.number, "".join(self.text))
