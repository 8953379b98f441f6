"""Files of a hook: written whole or not at all, and where those of its neighbours are."""

from __future__ import annotations

import os


def write_atomically(name: str, data: str | bytes, *, secret: bool = False) -> str:
    """Write `data` to `name` (relative to the hook's folder) by a temporary name and a rename; return `name`.

    A reader sees the former file or the whole new one. Text is UTF-8; lone surrogates, which pages do contain, become
    '?'. What is `secret` is for its owner alone, whatever the umask. Raises OSError as `open` does; the temporary file
    is gone then.
    """
    content = data.encode("utf-8", "replace") if isinstance(data, str) else data
    folder, base = os.path.split(name)
    temporary = os.path.join(folder, f".{base}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb", opener=_open_secret if secret else None) as file:
            file.write(content)
        os.replace(temporary, name)
    except BaseException:
        remove(temporary)
        raise
    return name


def _open_secret(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def remove(name: str) -> None:
    """Remove a file that may already be gone."""
    try:
        os.unlink(name)
    except FileNotFoundError:
        return


def sibling(plugin: str) -> str:
    """Return the folder of another plugin of the same Snapshot, Crawl or Binary, which may be absent."""
    return os.path.join(os.pardir, plugin)
