"""Owns what is not shown of a command line: passwords in URLs, secret options, headers of log-ins."""

import re
from collections.abc import Iterable

from archivebox.lib.urls import without_credentials

HIDDEN = "***"

_NAME = r"--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|api-?key|credentials?)"
_OPTION = re.compile(rf"({_NAME})(=.*)?", re.IGNORECASE | re.DOTALL)
_HEADER = re.compile(r"((?:proxy-)?authorization|cookie|x-api-key|x-auth-token)(\s*:\s*).+", re.IGNORECASE | re.DOTALL)


def redacted(argv: Iterable[str]) -> list[str]:
    """The words of a command line as people may see them; as many as there were."""
    shown: list[str] = []
    is_value = False
    for word in argv:
        option = _OPTION.fullmatch(word)
        if is_value and option is None:
            shown.append(HIDDEN)
        else:
            shown.append(f"{option[1]}={HIDDEN}" if option and option[2] else _without_secrets(word))
        is_value = option is not None and option[2] is None
    return shown


def _without_secrets(word: str) -> str:
    return _HEADER.sub(rf"\1\2{HIDDEN}", without_credentials(word))
