"""What plugins that install programs share: what is asked for, where programs are found, and where they are put."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from archivebox.plugins.base import Hook, Settings, emit, log, run_program, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from archivebox.plugins.base.hook import JSON


INSTALL_TIMEOUT = 1800.0  # seconds; the time of all provider hooks, which never read PIP_TIMEOUT: that is pip's own
_NAME = re.compile(r"(?!-)[^\x00-\x1f]{1,4096}")


def fail_install(sentence: str) -> NoReturn:
    """End without a program: the sentence for people, exit status 1, no record."""
    log(sentence)
    raise SystemExit(1)


def install_timeout() -> float:
    return Settings().float("INSTALL_TIMEOUT") or INSTALL_TIMEOUT


@dataclass(frozen=True, slots=True)
class InstallRequest:
    """One program wanted of one provider; `options` is what the overrides hold for that provider.

    `upgrade`: the newest version is wanted, whatever is there.
    """

    name: str
    provider: str
    options: Mapping[str, JSON]
    upgrade: bool = False

    @classmethod
    def from_hook(cls, hook: Hook, provider: str) -> InstallRequest:
        """Read the command line; ends the hook with status 0 and not a word when `provider` is not asked."""
        if not _is_asked(hook, provider):
            raise SystemExit(0)
        name = hook.text("name")
        if not _NAME.fullmatch(name):
            fail_install("Say which program is wanted: --name=wget")
        overrides = hook.options.get("overrides")
        options = overrides.get(provider) if isinstance(overrides, dict) else None
        if options is not None and not isinstance(options, dict):
            fail_install(f"The override of {provider} for {name} is not a JSON object")
        return cls(name, provider, options or {}, upgrade=hook.options.get("upgrade") is True)

    @property
    def short_name(self) -> str:
        """The last part of the name: what its link is called, and never a folder."""
        return self.name.rstrip("/").rpartition("/")[2]

    @property
    def names(self) -> list[str]:
        """What the program may be called, best first."""
        return self.texts("names") or [self.name]

    @property
    def packages(self) -> list[str]:
        """The packages that bring it; with `version` in the overrides that holds for the first of them."""
        return self.texts("packages") or [self.name]

    @property
    def version(self) -> str:
        value = self.options.get("version")
        return value if isinstance(value, str) else ""

    def texts(self, option: str) -> list[str]:
        """A list of texts, or one text; ends the hook when it is something else, or begins with a dash."""
        value = self.options.get(option)
        if value is None:
            return []
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list):
            fail_install(f"{option} in the override of {self.provider} for {self.name} has to be a list of texts")
        given = [text for text in texts if isinstance(text, str) and _NAME.fullmatch(text)]
        if len(given) != len(texts):
            fail_install(
                f"{option} in the override of {self.provider} for {self.name} holds what is not a name: {texts}"
            )
        return given

    def arguments(self, option: str) -> list[str]:
        """A list of words for a command line, which may begin with dashes."""
        value = self.options.get(option, [])
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            fail_install(f"{option} in the override of {self.provider} for {self.name} has to be a list of words")
        return [str(word) for word in value]


def _is_asked(hook: Hook, provider: str) -> bool:
    """No list and `*` mean any provider; the older option is called --bin-providers."""
    value = hook.options.get("binproviders", hook.options.get("bin_providers"))
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    asked = [str(word).strip() for word in words if word]
    return not asked or "*" in asked or provider in asked


READ_SIZE = 1 << 20  # bytes at a time


class Library:
    """`LIB_DIR`, shared by all collections of a user; `bin` stands first in the PATH of hooks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"

    @classmethod
    def current(cls) -> Library:
        os.umask(0o022)  # programs are no secrets, and whoever shares the folder runs them
        given = os.environ.get("LIB_DIR", "")
        shared = os.environ.get("XDG_DATA_HOME", "") or "~/.local/share"
        return cls(Path(given or f"{shared}/archivebox/lib").expanduser().absolute())

    def link(self, name: str, target: Path) -> Path:
        """`bin/<name>` → `target`, relative so that the folder may be moved, replaced in one step."""
        self.bin.mkdir(parents=True, exist_ok=True)
        return replace_link(self.bin / name, target)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold `locks/provider-<name>`: the engine's own locks have other names, so this never waits for itself."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"provider-{name.replace('/', '-')}").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def sha256(self, path: Path) -> str:
        """The hash of the file that `path` leads to, remembered by path, size and time: 200 MB cost half a second."""
        real = path.resolve(strict=True)
        facts = real.stat()
        key = [facts.st_size, facts.st_mtime_ns]
        known = self._hashes().get(str(real))
        if known is not None and known[:2] == key:
            return str(known[2])
        digest = _digest_of(real)
        with self.locked("hashes"):
            kept = {name: entry for name, entry in self._hashes().items() if os.path.lexists(name)}
            write_atomically(str(self._hash_file), json.dumps(kept | {str(real): [*key, digest]}, indent=0))
        return digest

    @property
    def _hash_file(self) -> Path:
        return self.root / "hashes.json"

    def _hashes(self) -> dict[str, list[int | str]]:
        """What is remembered; a damaged file remembers nothing, since all of it can be had again."""
        try:
            document = json.loads(self._hash_file.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        entries = document.items() if isinstance(document, dict) else ()
        return {name: entry for name, entry in entries if isinstance(entry, list) and len(entry) == 3}


def replace_link(link: Path, target: Path) -> Path:
    """Point `link` at `target` by a relative link made beside it and renamed; returns `link`."""
    temporary = link.with_name(f".{link.name}.{secrets.token_hex(4)}.tmp")
    temporary.symlink_to(os.path.relpath(target, link.parent))
    temporary.replace(link)
    return link


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(READ_SIZE):
            digest.update(chunk)
    return digest.hexdigest()


VERSION_FLAGS = ("--version", "-version", "-V", "version")
VERSION_TIME = 20.0  # seconds for one try: a cold Chromium or JVM takes up to 5 on a slow disk
_DOTTED = re.compile(r"(?<![\d.])\d+(?:\.\d+)+(?:[-+~._]?[0-9A-Za-z]+)*")
_WHOLE = re.compile(r"(?<![\d.])\d+")
_HEAD = 3  # lines: below that stand licences and the versions of libraries


def search_path(library: Library) -> list[str]:
    """Our own links first, then PATH."""
    return [str(library.bin), *os.environ.get("PATH", os.defpath).split(os.pathsep)]


def find_all(names: Iterable[str], folders: Iterable[str]) -> Iterator[Path]:
    """Every executable file of these names, best name first; a name with a slash is a path."""
    places = [folder for folder in folders if folder]
    for name in names:
        if "/" in name:
            candidates = [Path(name).expanduser().absolute()]
        else:
            candidates = [Path(folder).absolute() / name for folder in places]
        yield from (path for path in candidates if path.is_file() and os.access(path, os.X_OK))


def answer_with_first(
    request: InstallRequest, candidates: Iterable[Path], library: Library, nothing: str, version: str = ""
) -> NoReturn:
    """Report the first candidate that can be started; with none, fail with the sentence `nothing`.

    `version` is that of its package, for a program that does not say its own.
    """
    for path in candidates:
        try:
            said = read_version(path)
        except OSError as error:
            log(f"{path} is there but cannot be started: {error.strerror}")
            continue
        report(request, path, said or version, library)
    fail_install(nothing)


def report(request: InstallRequest, path: Path, version: str, library: Library) -> NoReturn:
    """End the hook with the record of the program at `path`."""
    emit(
        "Binary",
        name=request.name,
        abspath=str(path),
        version=version,
        sha256=library.sha256(path),
        binprovider=request.provider,
    )
    raise SystemExit(0)


def read_version(path: Path) -> str:
    """The version that the program says it has, "" when it does not say; OSError when it cannot be started.

    The flags are tried in an empty folder, since a program that does not know them may take them for file names.
    """
    with tempfile.TemporaryDirectory(prefix="version-") as folder:
        for flag in VERSION_FLAGS:
            done = run_program([str(path), flag], timeout=VERSION_TIME, cwd=folder)
            version = version_in(done.stdout) or version_in(done.stderr)
            if done.returncode == 0 and version:
                return version
    return ""


def version_in(text: str) -> str:
    """The first number with a dot in the first lines, else the first number of the first line.

    >>> version_in("GNU Wget 1.21.3 built on linux-gnu."), version_in("v20.20.2"), version_in("less 590 (GNU regex)")
    ('1.21.3', '20.20.2', '590')
    """
    lines = [line for line in text.splitlines() if line.strip()][:_HEAD]
    for line in lines:
        dotted = _DOTTED.search(line)
        if dotted:
            return dotted[0]
    whole = _WHOLE.search(lines[0]) if lines else None
    return whole[0] if whole else ""
