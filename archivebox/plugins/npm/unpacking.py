"""Packages of which the files are wanted alone, without those that they depend on."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from base64 import b64encode
from pathlib import Path, PurePosixPath

from archivebox.plugins.base import run_program


def fetch_files(package: str, npm: Path, target: Path, timeout: float, integrity: str = "") -> bool:
    """Put the files of a package into the folder `target` in one step.

    False: npm could not have it in time, or its hash is not `integrity` (as npm writes it; empty: any).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as name:
        folder = Path(name)
        command = [str(npm), "pack", "--silent", "--pack-destination", name, "--", package]
        if run_program(command, timeout=timeout, cwd=name).returncode != 0:
            return False
        for tarball in folder.glob("*.tgz"):
            if integrity not in ("", hash_of(tarball)):
                return False
            unpack(tarball, folder / "package")
        if target.exists():
            target.rename(folder / "former")
        (folder / "package").rename(target)
    return True


def hash_of(tarball: Path) -> str:
    """As npm writes it: https://www.w3.org/TR/SRI/."""
    return f"sha512-{b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()}"


def unpack(tarball: Path, target: Path) -> None:
    """The regular files of a package, which lie in one folder of any name; nothing leads out of `target`."""
    with tarfile.open(tarball) as archive:
        for member in archive:
            parts = PurePosixPath(member.name).parts[1:]
            file = archive.extractfile(member) if member.isfile() and parts and ".." not in parts else None
            if file is not None:
                path = target.joinpath(*parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())
