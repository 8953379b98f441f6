"""Hooks written on the spot, and the ways to start them that have to come to the same."""

import os
import select
import signal
import sys
import uuid
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from archivebox.lib.processes import (
    PORTABLE,
    Child,
    ForkServer,
    Launch,
    mark_environment,
    marked,
    reap_orphans,
    spawn,
    wait,
)

WAYS = ("cold",) if PORTABLE else ("cold", "forked")
LIMIT = 90.0


@dataclass
class Starter:
    """Starts hooks in a data folder of its own, and leaves nothing of it behind."""

    folder: Path
    way: str = "cold"
    server: ForkServer | None = None
    children: list[Child] = field(default_factory=list)

    def launch(self, body: str, *words: str, pass_fds: tuple[int, ...] = (), limit: int | None = None) -> Launch:
        """The order to start ``body``: Python, or a shell script if it begins with ``#!``."""
        shell = body.startswith("#!")
        path = self.folder / f"hook_{zlib.crc32(body.encode())}.{'sh' if shell else 'py'}"
        if not path.exists():  # a shell reads on in a file that is written under it
            path.write_text(body)
        program = "/bin/bash" if shell else sys.executable
        process_id = str(uuid.uuid4())
        names = ("PATH", "HOME", "LANG", "LC_ALL")
        env = {name: os.environ[name] for name in names if name in os.environ}
        return Launch(
            process_id=process_id,
            argv=(program, str(path), *words),
            cwd=self.folder,
            env=env | mark_environment(process_id, self.folder),
            stdout=self.folder / f"{process_id}.out",
            stderr=self.folder / f"{process_id}.err",
            script=None if shell else path,
            pass_fds=pass_fds,
            file_size_limit=limit,
        )

    def start(self, launch: Launch) -> Child:
        child: Child = self.server.spawn(launch) if self.server is not None and launch.script else spawn(launch)
        self.children.append(child)
        return child

    def hook(self, body: str, *words: str) -> Child:
        return self.start(self.launch(body, *words))

    def until_ready(self, body: str, *words: str) -> tuple[Child, list[int]]:
        """Start a hook and wait for the line of pids that it writes to the descriptor in its first argument."""
        reading, writing = os.pipe()
        try:
            child = self.start(self.launch(body, str(writing), *words, pass_fds=(writing,)))
        finally:
            os.close(writing)
        line = b""
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while not line.endswith(b"\n"):
                assert select.select([pipe], [], [], LIMIT)[0], "the hook never became ready"
                part = pipe.read(4096)
                assert part, "the hook ended before it was ready"
                line += part
        return child, [int(word) for word in line.split()]

    def clean(self) -> None:
        for identity in marked(self.folder):
            identity.signal(signal.SIGKILL)
        for child in self.children:
            child.identity.signal(signal.SIGKILL)
            wait(child, LIMIT)
            child.reap()
        if self.server is not None:
            self.server.close()
        reap_orphans(None)
