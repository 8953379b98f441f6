"""Owns rewritten documents in a form that serves all who look at them: what is a viewer's own is filled in later.

The first line is JSON, the rest the document. A capability and the address of the app stand in it as words that no
document can hold, because they are made up anew for each; they are replaced as the file is read.
"""

import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

from archivebox.replay.addresses import ReplayContext
from archivebox.replay.rewriting.document import Document

_READ = 64 * 1024
_PLAIN = re.compile(r"[A-Za-z0-9._~:/%\[\]=-]*")
"""What is written in HTML, in CSS and in a URL in the same way."""
_HEAD_MOST = 4096


class UnfitPlaceError(ValueError):
    """The viewer's place cannot be filled in: it would not be written everywhere in the same way."""


class RewrittenTemplate:
    """A document that is rewritten for everybody."""

    def __init__(self, document: Document) -> None:
        self._secret = secrets.token_hex(10)
        self._document = document
        if isinstance(document.place, ReplayContext):
            self._document = replace(document, place=_nobody(self._secret, document.place.moment))

    def write(self, data: bytes, output: BinaryIO) -> None:
        """Write what is shown of ``data``."""
        made = self._document.make(data)
        address, app = _words(self._secret)
        addresses = made.body.count(address)
        head = {
            "mimetype": made.mimetype,
            "is_clean": made.is_clean,
            "secret": self._secret,
            "size": len(made.body),
            "addresses": addresses,
            "apps": made.body.count(app),
        }
        output.write(json.dumps(head).encode() + b"\n")
        output.write(made.body)


@dataclass(frozen=True, slots=True)
class Filled:
    """What is shown to one viewer: ``size`` in bytes; ``read`` from :class:`_Filling`."""

    mimetype: str
    is_clean: bool
    size: int
    read: "_Filling"


def fill(file: BinaryIO, place: object) -> Filled:
    """The document in ``file`` with ``place`` filled in. UnfitPlaceError; ValueError for another file."""
    line = file.readline(_HEAD_MOST)
    head = json.loads(line)
    if os.fstat(file.fileno()).st_size != len(line) + head["size"]:
        raise ValueError("the document is not whole")
    address, app = _words(head["secret"])
    own = _own(place) if isinstance(place, ReplayContext) else (address, app)
    grown = head["addresses"] * (len(own[0]) - len(address)) + head["apps"] * (len(own[1]) - len(app))
    filling = _Filling(file, {address: own[0], app: own[1]})
    return Filled(head["mimetype"], head["is_clean"], head["size"] + grown, filling)


def _nobody(secret: str, moment: str) -> ReplayContext:
    return ReplayContext(f"t{secret}", f"https://a{secret}", moment)


def _words(secret: str) -> tuple[bytes, bytes]:
    """What stands for the capability with the app's address in it, and for the app's address alone."""
    return f"/t{secret}/@https:a{secret}/".encode(), f"https://a{secret}/".encode()


def _own(place: ReplayContext) -> tuple[bytes, bytes]:
    if not _PLAIN.fullmatch(place.token + place.app):
        raise UnfitPlaceError(place.app)
    address = f"/{place.token}/@{place.app.replace('://', ':', 1)}/" if place.app else f"/{place.token}/@/"
    return address.encode(), f"{place.app}/".encode()


class _Filling:
    """Reads a file, with other words than stand in it."""

    def __init__(self, file: BinaryIO, words: Mapping[bytes, bytes]) -> None:
        self._file = file
        self._words = words
        self._pattern = re.compile(b"|".join(map(re.escape, words)))
        self._longest = max(map(len, words))
        self._rest = b""
        self._ready = bytearray()
        self._is_over = False

    def __call__(self, size: int) -> bytes:
        """The next bytes, as many as ``size`` unless it ends."""
        while len(self._ready) < size and not self._is_over:
            self._go_on()
        given = bytes(self._ready[:size])
        del self._ready[:size]
        return given

    def _go_on(self) -> None:
        block = self._file.read(_READ)
        self._is_over = not block
        data, position = self._rest + block, 0
        for found in self._pattern.finditer(data):
            self._ready += data[position : found.start()] + self._words[found[0]]
            position = found.end()
        # What is left may end with the beginning of a word.
        end = max(position, len(data) - self._longest + 1) if block else len(data)
        self._ready += data[position:end]
        self._rest = data[end:]
