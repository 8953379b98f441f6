"""Runs provider hooks as the engine does, in a folder of programs of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
# What package clients need of the environment (engine.md 9), and nothing else of ours.
PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
PREFIXES = ("PIP_", "UV_", "NPM_CONFIG_", "npm_config_")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass(frozen=True)
class Answer:
    code: int
    records: list[dict[str, object]]
    stderr: str

    @property
    def binaries(self) -> list[dict[str, object]]:
        return [record for record in self.records if record["type"] == "Binary"]

    @property
    def binary(self) -> dict[str, object]:
        assert self.code == 0, self.stderr
        assert len(self.binaries) == 1
        return self.binaries[0]


@dataclass(frozen=True)
class Provider:
    """One LIB_DIR and the hooks that install into it."""

    lib: Path
    folder: Path

    def start(
        self,
        provider: str,
        name: str,
        *,
        overrides: dict[str, object] | None = None,
        binproviders: str | None = None,
        environ: dict[str, str] | None = None,
        upgrade: bool = False,
    ) -> subprocess.Popen[bytes]:
        (hook,) = (PLUGINS / provider).glob("on_Binary__*.py")
        command = [
            sys.executable,
            str(hook),
            "--binary-id=01234567-0000-7000-8000-000000000001",
            "--machine-id=01234567-0000-7000-8000-000000000002",
            f"--name={name}",
            f"--binproviders={provider if binproviders is None else binproviders}",
            f"--overrides={json.dumps(overrides or {})}",
            *(["--upgrade=true"] if upgrade else []),
        ]
        kept = {
            key: value for key, value in os.environ.items() if key in (*PASSED_ON, *PROXIES) or key.startswith(PREFIXES)
        }
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**kept, "LIB_DIR": str(self.lib), **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def ask(
        self,
        provider: str,
        name: str,
        *,
        overrides: dict[str, object] | None = None,
        binproviders: str | None = None,
        environ: dict[str, str] | None = None,
        upgrade: bool = False,
    ) -> Answer:
        started = self.start(
            provider, name, overrides=overrides, binproviders=binproviders, environ=environ, upgrade=upgrade
        )
        return answer_of(started)

    def place(self, name: str, script: str) -> Path:
        """An executable shell script in a folder beside LIB_DIR."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path


def answer_of(process: subprocess.Popen[bytes]) -> Answer:
    out, err = process.communicate(timeout=250)
    return Answer(process.returncode, [json.loads(line) for line in out.splitlines()], err.decode())


@pytest.fixture
def providers(tmp_path: Path) -> Provider:
    folder = tmp_path / "binary"
    folder.mkdir()
    return Provider(tmp_path / "lib", folder)


@pytest.fixture
def collect() -> Callable[[subprocess.Popen[bytes]], Answer]:
    return answer_of
