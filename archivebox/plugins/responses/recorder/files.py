"""Each body as a file as well, for people: all of them in `all/`, and links to them by what they are."""

from __future__ import annotations

import os
import re
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .exchange import RecordedExchange

NAME_MAX = 80  # characters of a URL's last part that its file keeps
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class ResponseFiles:
    """The folder `all/`, whose files begin with a number in order of arrival."""

    def __init__(self) -> None:
        os.makedirs("all", exist_ok=True)
        self._number = len(os.listdir("all"))

    def keep(self, exchange: RecordedExchange) -> str:
        """Write the body of an exchange to a file; return its name."""
        self._number += 1
        last = exchange.target.partition("?")[0].rpartition("/")[2]
        name = f"{self._number:04}-{_UNSAFE.sub('_', last)[-NAME_MAX:].lstrip('.') or 'index'}"
        exchange.body.file.seek(0)
        with open(os.path.join("all", f".{name}.tmp"), "wb") as file:
            shutil.copyfileobj(exchange.body.file, file)
        os.replace(file.name, os.path.join("all", name))
        kind = _UNSAFE.sub("_", exchange.type or "other").lower()
        os.makedirs(kind, exist_ok=True)
        os.symlink(os.path.join(os.pardir, "all", name), os.path.join(kind, name))
        return f"all/{name}"
