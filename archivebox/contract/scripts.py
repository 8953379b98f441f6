"""Owns what a look at a hook's script tells: who runs it, and which of the engine's options it accepts."""

import re
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
)
"""Every option the engine may pass, without its dashes."""

_BY_EXTENSION: dict[str, Interpreter] = {"py": "python", "js": "node", "sh": "bash"}
_PLAIN_SHEBANG = re.compile(r"#!\s*(?:/usr/bin/env\s+|(?:/usr(?:/local)?)?/bin/)(?:python3?|node|bash|sh)\s*", re.ASCII)
_QUOTED_OPTION = re.compile(r"""['"`]--([a-z][a-z-]*)""", re.ASCII)
_SHELL_OPTION = re.compile(r"--([a-z][a-z-]*)", re.ASCII)
_OBJECT_KEY = re.compile(r"""(?<![\w-])([a-z][a-z-]*)['"]?\s*:\s*\{""", re.ASCII)
_TAKES_ANYTHING = (
    "parse_known_args",
    "ignore_unknown_options",
    "allowUnknownOption",
    "strict: false",
    "strict:false",
)
_STRICT_PARSERS = ("click.command", "ArgumentParser(", "typer.", "commander", "yargs")
_NODE_PARSER = re.compile(r"\bparseArgs\(\s*\{")
_READS_ARGV = ("sys.argv", "process.argv")


def interpreter_of(text: str, extension: str, *, executable: bool) -> Interpreter:
    """Who runs a script: an executable whose shebang is not plain python3, node, bash or sh is run itself."""
    first_line = text.split("\n", 1)[0]
    if executable and first_line.startswith("#!") and not _PLAIN_SHEBANG.fullmatch(first_line):
        return "self"
    return _BY_EXTENSION[extension]


def accepted_options(text: str, extension: str) -> tuple[str, ...] | None:
    """The engine's options that a script accepts, or None if it accepts all.

    A script that hands its arguments to a strict parser (click, argparse, commander, node:util) ends with a usage
    error at the first option it did not declare, so it gets the declared ones alone. A script that reads its
    arguments itself, tolerates unknown ones, or names none of ours, gets all.
    """
    if any(mark in text for mark in _TAKES_ANYTHING):
        return None
    if extension == "js" and _NODE_PARSER.search(text) and "function parseArgs" not in text:
        return _known(_OBJECT_KEY.findall(text))
    named = _known((_SHELL_OPTION if extension == "sh" else _QUOTED_OPTION).findall(text))
    if any(mark in text for mark in _STRICT_PARSERS):
        return named
    if any(mark in text for mark in _READS_ARGV):
        return None
    return named or None


def _known(found: list[str]) -> tuple[str, ...]:
    return tuple(option for option in OPTIONS if option in found)
