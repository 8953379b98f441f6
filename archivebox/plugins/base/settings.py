"""Settings of a hook: typed values out of its environment."""

from __future__ import annotations

import json
import os
import sys

from archivebox.lib.quantities import parse_size
from archivebox.plugins.base.hook import misconfigured

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    # Inside the class the short names are its methods.
    Text: TypeAlias = str
    Whole: TypeAlias = int
    Number: TypeAlias = float
    Truth: TypeAlias = bool
    Texts: TypeAlias = list[str]
    Table: TypeAlias = dict[str, str]

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"", "false", "0", "no", "off"})
DEFAULT_TIMEOUT = 60.0
_SHARED = {"CHECK_SSL_VALIDITY": "true", "RESOLUTION": "1440,900"}  # as in config/core.py


class Settings:
    """Typed getters over the environment; '' counts as not set. A value that makes no sense ends the hook.

    The engine sets everything that a plugin declares. Where it has not started the hook, what is not set has the
    default of the `config.json` beside the script, so that no default stands in the code as well.
    """

    __slots__ = ("_declared", "_environ", "_folder")

    def __init__(self, environ: Mapping[Text, Text] | None = None, folder: Text = "") -> None:
        self._environ = os.environ if environ is None else environ
        self._folder = folder or os.path.dirname(os.path.realpath(sys.argv[0]))
        self._declared: dict[Text, Any] | None = None

    def _text(self, name: Text) -> Text:
        text = self._environ.get(name, "").strip()
        return text or self._default(name)

    def _default(self, name: Text) -> Text:
        if self._declared is None:
            self._declared = _properties(self._folder)
        declared = self._declared.get(name)
        if declared is None:
            return _first_program(self._folder) if name.endswith("_BINARY") else _SHARED.get(name, "")
        fallback = self._environ.get(declared.get("x-fallback", ""), "").strip()
        default = declared.get("default", "")
        return fallback or (default if isinstance(default, str) else json.dumps(default))

    def str(self, name: Text) -> Text:
        return self._text(name)

    def int(self, name: Text) -> Whole:
        text = self._text(name)
        try:
            return int(text or 0)
        except ValueError:
            misconfigured(f"{name} must be a whole number, not {text!r}. Set it with: archivebox config set {name}=…")

    def float(self, name: Text) -> Number:
        text = self._text(name)
        try:
            return float(text or 0)
        except ValueError:
            misconfigured(f"{name} must be a number, not {text!r}. Set it with: archivebox config set {name}=…")

    def size(self, name: Text) -> Whole:
        """Return the bytes that a setting such as `750m` names; 0 where it is empty."""
        text = self._text(name)
        try:
            return parse_size(text or "0")
        except ValueError:
            misconfigured(f"{name} must be a size such as 750m, not {text!r}")

    def bool(self, name: Text) -> Truth:
        text = self._text(name).lower()
        if text not in _TRUE and text not in _FALSE:
            misconfigured(f"{name} must be true or false, not {text!r}. Set it with: archivebox config set {name}=true")
        return text in _TRUE

    def list(self, name: Text) -> Texts:
        """Return a list of texts: a JSON array, as the engine writes it, or words parted by blanks, as people do."""
        text = self._text(name)
        if not text.startswith("["):
            return text.split()
        value = _loads(name, text)
        return [str(item) for item in value] if isinstance(value, list) else []

    def dict(self, name: Text) -> Table:
        """Return a JSON object whose values are texts."""
        text = self._text(name)
        value = _loads(name, text) if text else {}
        if not isinstance(value, dict):
            misconfigured(f'{name} must be a JSON object such as {{"Accept-Language": "en"}}, not {text!r}.')
        return {str(key): str(item) for key, item in value.items()}

    def path(self, name: Text) -> Text:
        """Return a path with `~` expanded, '' where there is none."""
        text = self._text(name)
        return os.path.expanduser(text) if text else ""

    def timeout(self, plugin: Text) -> Number:
        """Return the plugin's time in seconds: `<PLUGIN>_TIMEOUT`, else `TIMEOUT`, else 60."""
        return self.float(f"{plugin.upper()}_TIMEOUT") or self.float("TIMEOUT") or DEFAULT_TIMEOUT


def _properties(folder: Text) -> dict[Text, Any]:
    """What the `config.json` of a plugin declares; nothing where there is none."""
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            declared: dict[Text, Any] = json.load(file).get("properties", {})
    except FileNotFoundError:
        return {}
    return declared


def _first_program(folder: Text) -> Text:
    """The name of the program that a plugin needs, the first of its `binaries.jsonl`; '' where it needs none."""
    try:
        with open(os.path.join(folder, "binaries.jsonl"), encoding="utf-8") as file:
            return str(json.loads(file.readline())["name"])
    except FileNotFoundError:
        return ""


def _loads(name: Text, text: Text) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        misconfigured(f"{name} is not valid JSON: {text!r}.")
    return value
