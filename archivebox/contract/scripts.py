"""Owns what a hook's script tells of itself: who runs it, which options it accepts, which packages it imports."""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from typing import Literal

Interpreter = Literal["python", "node", "bash", "self"]
"""Who runs a hook: the application's Python, ``NODE_BINARY``, ``/bin/bash``, or the file as a program of its own."""

OPTIONS = (
    "url",
    "snapshot-id",
    "crawl-id",
    "depth",
    "source-url",
    "binary-id",
    "machine-id",
    "name",
    "binproviders",
    "bin-providers",
    "overrides",
    "upgrade",
)
"""Every option the engine may pass, without its dashes."""

OLDER_PACKAGES = ("feedparser", "requests", "rich-click")
"""What hooks of the older dialect import without saying so anywhere: one environment has them all."""

ABX_PKG = "abx-pkg"
"""What some of these import besides, for finding programs; nobody else waits for what it brings along."""
ABX_PLUGINS = "abx-plugins"
"""The package that hooks of the newer dialect come with, and import without saying so since its version 1.13."""

BY_EXTENSION: dict[str, Interpreter] = {"py": "python", "js": "node", "sh": "bash"}
_PLAIN_SHEBANG = re.compile(r"#!\s*(?:/usr/bin/env\s+|(?:/usr(?:/local)?)?/bin/)(?:python3?|node|bash|sh)\s*", re.ASCII)
_CLICK = re.compile(r"^\s*(?:import|from)\s+(?:rich_)?click\b", re.MULTILINE)
_DECORATOR = re.compile(r"^\s*@(?:\w+\.)?option\(\s*((?:(['\"])[^'\"\n]*\2\s*,?\s*)+)", re.MULTILINE)
_LONG_OPTION = re.compile(r"['\"/]--([a-z][a-z-]*)", re.ASCII)
_BY_ENV = re.compile(r"#!\s*/usr/bin/env\s+(?:-\S+\s+|\w+=\S*\s+)*([A-Za-z0-9_][\w.+-]*)", re.ASCII)
_BY_UV = re.compile(
    r"#!\s*/usr/bin/env\s+-S\s+(?:uv\s+run\s(?:-\S+\s+)*?--script|abxpkg\s+run\s+--script(?:\s+-\S+)*\s+(?:python3|node))\s*",
    re.ASCII,
)
"""The whole first line of a script that ``uv run`` gives an environment with the packages that it names (PEP 723).

``abxpkg run`` brings besides what the ``required_binaries`` of the plugin name, which any hook has here.
"""
_TAKES_ANYTHING = "ignore_unknown_options"
_OLDER_MODULES = ("feedparser", "requests", "rich_click")
_OLDER_IMPORT = re.compile(rf"^\s*(?:import|from)\s+(?:{'|'.join(_OLDER_MODULES)})\b", re.MULTILINE)
_ABX_PLUGINS_IMPORT = re.compile(r"^\s*(?:import|from)\s+abx_plugins\b", re.MULTILINE)
_ABX_PKG_IMPORT = re.compile(r"^\s*(?:import|from)\s+abx_pkg\b", re.MULTILINE)
_INLINE_START = "# /// script"
_INLINE = re.compile(r"^# /// script\s*$\n((?:^#(?: .*)?$\n)+?)^# ///\s*$", re.MULTILINE)
_NEWER_DIALECT = tuple(map(re.compile, (r"abx_?(?:plugins|pkg)\b", r"emit_?archive_?result")))
"""Each begins with a letter as it is, which is looked for ten times as fast as either of two, or in either case."""


@dataclass(frozen=True, slots=True)
class Script:
    """What the text of a hook tells.

    ``runner``: the program that the first line of an executable asks env(1) for. ``options``: those of the engine's
    that it accepts, without dashes; None: every one. ``packages``: what it imports beside the application's own, as
    pip names them. ``for_uv``: its runner, uv or abxpkg, would do nothing but bring these packages and its programs.
    ``newer_dialect``: it prints ``failed`` for any exception.
    """

    interpreter: Interpreter
    runner: str
    options: tuple[str, ...] | None
    packages: tuple[str, ...]
    for_uv: bool
    newer_dialect: bool
    digest: str


def read_script(text: str, extension: str, *, executable: bool) -> Script:
    """Read a script; nothing of it is run."""
    interpreter = interpreter_of(text, extension, executable=executable)
    inline = _inline_of(text) if extension == "py" else None
    for_uv = interpreter == "self" and _is_for_uv(text, inline)
    return Script(
        interpreter=interpreter,
        runner=runner[1] if interpreter == "self" and (runner := _BY_ENV.match(text)) else "",
        options=accepted_options(text, extension),
        packages=packages_of(text, inline) if extension == "py" and (interpreter == "python" or for_uv) else (),
        for_uv=for_uv,
        newer_dialect=is_of_newer_dialect(text),
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def is_of_newer_dialect(text: str) -> bool:
    """Whether a script names what hooks of the newer dialect share."""
    lower = text.lower()
    return any(pattern.search(lower) for pattern in _NEWER_DIALECT)


def interpreter_of(text: str, extension: str, *, executable: bool) -> Interpreter:
    """Who runs a script: an executable whose shebang is not plain python3, node, bash or sh is run itself."""
    first_line = text.split("\n", 1)[0]
    if executable and first_line.startswith("#!") and not _PLAIN_SHEBANG.fullmatch(first_line):
        return "self"
    return BY_EXTENSION[extension]


def accepted_options(text: str, extension: str) -> tuple[str, ...] | None:
    """The engine's options that a script accepts, or None if it is given all.

    click ends with a usage error at the first option that no decorator declares, and ArchiveBox's existing hooks use
    it; so those that hand their arguments to it get what their decorators name. No other script is guessed at: it
    tolerates what it does not know, or says under ``x-hooks``, ``argv``, what it takes.
    """
    if extension != "py" or not _imports(text, ("click",), _CLICK) or _TAKES_ANYTHING in text:
        return None
    named = {name for decorator in _DECORATOR.finditer(text) for name in _LONG_OPTION.findall(decorator[1])}
    return tuple(option for option in OPTIONS if option in named)


def _inline_of(text: str) -> dict[str, object] | None:
    """What the PEP 723 lines of a script say; None where it has none, or they cannot be read."""
    inline = _INLINE.search(text) if _INLINE_START in text else None
    if inline is None:
        return None
    lines = (line[2:] if line.startswith("# ") else "" for line in inline[1].splitlines())
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _is_for_uv(text: str, inline: dict[str, object] | None) -> bool:
    """Whether ``uv run`` would start it as any Python does that has its packages: ``[tool.uv]`` says more than those.

    ``requires-python`` is not asked for: packages say themselves what they need, and it is mostly the author's own.
    """
    return _BY_UV.fullmatch(text.split("\n", 1)[0]) is not None and (inline is None or "tool" not in inline)


def packages_of(text: str, inline: dict[str, object] | None) -> tuple[str, ...]:
    """The packages that a Python script needs beside the application's own.

    Those that its PEP 723 lines name, with abx_plugins if it imports that; else those of the older dialect if it
    imports one of them, or abx_pkg.
    """
    asked = (inline or {}).get("dependencies")
    named = tuple(sorted(str(package) for package in asked)) if isinstance(asked, list) else ()
    if _imports(text, ("abx_plugins",), _ABX_PLUGINS_IMPORT) and not any(ABX_PLUGINS in package for package in named):
        return (*named, ABX_PLUGINS)
    if named:
        return named
    if _imports(text, ("abx_pkg",), _ABX_PKG_IMPORT):
        return (ABX_PKG, *OLDER_PACKAGES)
    return OLDER_PACKAGES if _imports(text, _OLDER_MODULES, _OLDER_IMPORT) else ()


def _imports(text: str, modules: tuple[str, ...], statement: re.Pattern[str]) -> bool:
    """Whether a script has such a statement; most do not even name one of its modules, which is quick to see."""
    return any(module in text for module in modules) and statement.search(text) is not None
