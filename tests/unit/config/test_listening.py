"""Which ports our own server listens on."""

import os
import subprocess
import sys
from pathlib import Path

HOLD = "from archivebox.config.listening import hold_ports; hold_ports(8123, 8124); print(flush=True); input()"
ASK = "from archivebox.config.listening import listened_ports; print(sorted(listened_ports()))"


def test_ports_are_our_own_as_long_as_their_server_lives(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    environment = {**os.environ, "DATA_DIR": str(tmp_path)}

    def ask() -> str:
        return subprocess.run(
            [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()

    assert ask() == "[]"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()
        assert ask() == "[8123, 8124]"
        server.kill()
    assert ask() == "[]"
