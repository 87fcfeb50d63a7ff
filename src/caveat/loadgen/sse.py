"""Server-sent events, cut out of bytes that may end anywhere. WHATWG HTML, section 9.2, as far as data fields go."""

from __future__ import annotations

from collections.abc import Sequence

_BOM = b"\xef\xbb\xbf"
_CR = 13


class TooLongError(ValueError):
    """A line or an event is longer than the limit."""


class EventSplitter:
    """Feed it bytes, get the data of each event that became complete.

    Lines end with LF, CR or CRLF; comments and fields other than data are skipped; several data lines are joined
    with LF; an event without data is none. What has no blank line behind it when the stream ends was never an event.
    """

    __slots__ = ("_cut_lf", "_data", "_limit", "_parts", "_size", "_started")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.reset()

    def reset(self) -> None:
        """Forget everything: a new stream begins."""
        self._parts: list[bytes] = []  # a line whose end has not come yet
        self._data: list[bytes] = []  # data lines of the event that is open
        self._size = 0  # bytes in both
        self._cut_lf = False  # the last byte was a CR: an LF that follows belongs to it
        self._started = False

    def feed(self, piece: bytes) -> Sequence[bytes]:
        """The data of the events that end in this piece. Raises TooLongError."""
        # Nearly every server writes one whole event with one data line at a time: told in four looks at the bytes.
        if (
            piece.startswith(b"data: ")
            and not self._size
            and not self._cut_lf
            and piece.find(b"\n") == len(piece) - 2
            and piece.endswith(b"\n\n")
            and b"\r" not in piece
            and 8 < len(piece) <= self._limit
        ):
            self._started = True
            return (piece[6:-2],)
        return self._feed(piece)

    def open(self) -> bool:
        """Whether bytes of an unfinished event are held."""
        return bool(self._parts or self._data)

    def _feed(self, piece: bytes) -> Sequence[bytes]:
        if self._cut_lf and piece:
            self._cut_lf = False
            piece = piece.removeprefix(b"\n")
        if b"\n" not in piece and b"\r" not in piece:
            self._hold(piece)
            return ()
        if self._parts:
            piece = b"".join((*self._parts, piece))
            self._size -= sum(map(len, self._parts))
            self._parts = []
        if not self._started:
            self._started = True
            piece = piece.removeprefix(_BOM)
        return self._lines(piece)

    def _lines(self, piece: bytes) -> list[bytes]:
        self._cut_lf = piece[-1:] == b"\r"
        lines = piece.splitlines()  # of bytes: at LF, CR and CRLF only
        whole = piece[-1:] in (b"\n", b"\r", b"")
        rest = b"" if whole else lines.pop()
        events = [event for line in lines if (event := self._line(line))]
        self._hold(rest)
        return events

    def _line(self, line: bytes) -> bytes:
        """The event's data where this line ends one, else nothing."""
        if not line:
            event, self._data = b"\n".join(self._data), []
            self._size = 0
            return event
        if line == b"data" or line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._grow(len(line))
        elif len(line) > self._limit:
            raise TooLongError(f"found a line of {len(line)} bytes, expected at most {self._limit}")
        return b""

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._parts.append(piece)
            self._grow(len(piece))

    def _grow(self, by: int) -> None:
        self._size += by
        if self._size > self._limit:
            raise TooLongError(f"found an event of more than {self._limit} bytes, expected at most that")
