"""A stand-in for a Sonic server: speaks its protocol as PROTOCOL.md documents it, and keeps words in memory."""

from __future__ import annotations

import re
import socketserver
import threading
from typing import Self, cast

BUFFER = 2_000  # bytes of a command; small, so that a long text needs several
_WORDS = re.compile(r"\w+")
_TEXT = re.compile(r'(\w+) (\S+) (\S+) (?:(\S+) )?"([^"]*)"(.*)')
_NUMBER = re.compile(r"(LIMIT|OFFSET)\((\d+)\)")


class SonicServer(socketserver.ThreadingTCPServer):
    """Listens on a free port of loopback while it is entered; `words` is object → its words."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.words: dict[str, set[str]] = {}

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Conversation(socketserver.StreamRequestHandler):
    """One connection: `START`, then the commands of its mode."""

    def handle(self) -> None:
        self.say("CONNECTED <sonic-server v1.4.9>")
        start = self.rfile.readline().decode().split()
        if start[:1] != ["START"] or start[2:] != ["SecretPassword"]:
            self.say("ENDED authentication_failed")
            return
        self.say(f"STARTED {start[1]} protocol(1) buffer({BUFFER})")
        while line := self.rfile.readline():
            command = line.decode().rstrip("\n")
            self.say("ERR buffer_overflow" if len(line) > BUFFER else self.answer(start[1], command))

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def answer(self, mode: str, command: str) -> str:
        known = cast("SonicServer", self.server).words
        verb, *words = command.split(" ")
        if mode == "ingest" and verb == "FLUSHO" and len(words) == 3:
            return f"RESULT {len(known.pop(words[2], ()))}"
        if mode == "ingest" and verb == "FLUSHB" and len(words) == 2:
            known.clear()
            return "RESULT 1"
        match = _TEXT.fullmatch(command)
        if match is None:
            return f"ERR invalid_format({verb})"
        text = set(_WORDS.findall(match[5].lower()))
        if mode == "ingest" and verb == "PUSH" and match[4].isascii() and len(match[4]) <= 128:
            known.setdefault(match[4], set()).update(text)
            return "OK"
        if mode == "search" and verb == "QUERY":
            numbers = {name: int(number) for name, number in _NUMBER.findall(match[6])}
            found = [name for name, words in known.items() if text and text <= words][numbers["OFFSET"] :]
            return "PENDING Bt2m2gYa\r\n" + " ".join(["EVENT QUERY Bt2m2gYa", *found[: numbers["LIMIT"]]])
        return "ERR unknown_command"
