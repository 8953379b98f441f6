"""How messages are parted on a stream: by a NUL, as on Chromium's own pipe."""

from __future__ import annotations


class PeerRefused(Exception):  # noqa: N818  (what happened to the peer, not to us)
    """The peer may not speak to us, or does not speak our language; `answer` is what it is told."""

    def __init__(self, answer: bytes = b"") -> None:
        super().__init__(answer)
        self.answer = answer


class Plain:
    """Messages that end with a NUL."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._seen = 0  # so far there is no NUL
        self.answer = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages that `data` completes."""
        self._buffer += data
        messages = []
        while (end := self._buffer.find(b"\0", self._seen)) >= 0:
            messages.append(bytes(self._buffer[:end]))
            del self._buffer[: end + 1]
            self._seen = 0
        self._seen = len(self._buffer)
        return messages

    def wrap(self, *parts: bytes) -> tuple[bytes, ...]:
        """Return what to write for a message that consists of `parts`."""
        return (*parts, b"\0")
