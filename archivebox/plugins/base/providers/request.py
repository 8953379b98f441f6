"""What a provider is asked for: the program, and what the overrides say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from archivebox.plugins.base import Hook, Settings, log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from archivebox.plugins.base.invocation import JSON

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
