"""Settings of a hook: typed values out of its environment."""

from __future__ import annotations

import json
import os

from archivebox.plugins.base.records import misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    # Inside the class the short names are its methods.
    Text: TypeAlias = str
    Whole: TypeAlias = int
    Number: TypeAlias = float
    Truth: TypeAlias = bool
    Texts: TypeAlias = list[str]
    Table: TypeAlias = dict[str, str]

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})


class Settings:
    """Typed getters over the environment; '' counts as not set. A value that makes no sense ends the hook."""

    __slots__ = ("_environ",)

    def __init__(self, environ: Mapping[Text, Text] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def str(self, name: Text, default: Text = "") -> Text:
        return self._environ.get(name, "").strip() or default

    def int(self, name: Text, default: Whole = 0) -> Whole:
        text = self.str(name)
        try:
            return int(text) if text else default
        except ValueError:
            misconfigured(f"{name} must be a whole number, not {text!r}. Set it with: archivebox config set {name}=…")

    def float(self, name: Text, default: Number = 0.0) -> Number:
        text = self.str(name)
        try:
            return float(text) if text else default
        except ValueError:
            misconfigured(f"{name} must be a number, not {text!r}. Set it with: archivebox config set {name}=…")

    def bool(self, name: Text, default: Truth = False) -> Truth:
        text = self.str(name).lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        if not text:
            return default
        return misconfigured(
            f"{name} must be true or false, not {text!r}. Set it with: archivebox config set {name}=true"
        )

    def list(self, name: Text, default: Texts | None = None) -> Texts:
        """Return a list of texts: a JSON array, as the engine writes it, or words parted by blanks, as people do."""
        text = self.str(name)
        if not text:
            return list(default or [])
        if not text.startswith("["):
            return text.split()
        value = _loads(name, text)
        return [str(item) for item in value] if isinstance(value, list) else []

    def dict(self, name: Text) -> Table:
        """Return a JSON object whose values are texts."""
        text = self.str(name)
        value = _loads(name, text) if text else {}
        if not isinstance(value, dict):
            misconfigured(f'{name} must be a JSON object such as {{"Accept-Language": "en"}}, not {text!r}.')
        return {str(key): str(item) for key, item in value.items()}

    def path(self, name: Text, default: Text = "") -> Text:
        """Return a path with `~` expanded, '' where there is none."""
        text = self.str(name, default)
        return os.path.expanduser(text) if text else ""

    def timeout(self, plugin: Text, default: Number = 60.0) -> Number:
        """Return the plugin's time in seconds: `<PLUGIN>_TIMEOUT`, else `TIMEOUT`, else `default`."""
        return self.float(f"{plugin.upper()}_TIMEOUT", self.float("TIMEOUT", default))


def _loads(name: Text, text: Text) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        misconfigured(f"{name} is not valid JSON: {text!r}.")
    return value
