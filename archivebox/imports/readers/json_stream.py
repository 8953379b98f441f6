"""Owns reading large JSON documents a value at a time: what is not wanted is never in memory as a whole."""

import codecs
import json
from collections.abc import Iterator
from typing import BinaryIO

_READ = 1 << 20
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


class JsonStream:
    """Stands at one place of a document; ValueError where that is not JSON, or a value is larger than it may be."""

    def __init__(self, file: BinaryIO, value_most: int) -> None:
        """``value_most``: characters of one value that is read as a whole."""
        self._file, self._most = file, value_most
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._is_at_end = False

    def keys(self) -> Iterator[str]:
        """The names in the object that begins here, each while the stream stands at its value; take it, or `skip`."""
        self._expect("{")
        if self._took("}"):
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise ValueError("a name that is not text")  # noqa: TRY004 - of the document, not of a program
            self._expect(":")
            yield name
            if not self._took(","):
                self._expect("}")
                return

    def items(self) -> Iterator[object]:
        """The values of the array that begins here."""
        self._expect("[")
        if self._took("]"):
            return
        while True:
            yield self.value()
            if not self._took(","):
                self._expect("]")
                return

    def value(self) -> object:
        """The value that begins here."""
        self._next()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise ValueError("it is nested too deeply") from None
            except ValueError:
                if not self._more():
                    raise
                continue
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self._at = end
            return found

    def _next(self) -> str:
        """The character that follows the space here; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _took(self, mark: str) -> bool:
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._took(mark):
            raise ValueError(f"{mark} is missing")

    def _more(self) -> bool:
        """Read on: as much again as is there, so that a value is tried few times."""
        if self._is_at_end:
            return False
        left = self._text[self._at :]
        if len(left) > self._most:
            raise ValueError(f"a value in it has more than {self._most // 1_000_000} MB")
        data = self._file.read(max(_READ, len(left)))
        self._is_at_end = not data
        self._text, self._at = left + self._decode.decode(data, final=not data), 0
        return bool(data)
