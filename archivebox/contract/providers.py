"""Owns what a provider of programs says of itself: what it can install, and what it needs an administrator for."""

from dataclasses import dataclass
from typing import Literal, cast, get_args

from archivebox.lib.jsonl import JSON

Installs = Literal["nothing", "named", "anything"]
"""``nothing``: it finds what is there. ``named``: only programs whose ``overrides`` speak of it. ``anything``: all."""


@dataclass(frozen=True, slots=True)
class ProviderHook:
    """``administrator``: its script that prints which command has to be run as root, if any; empty: it needs none."""

    installs: Installs = "anything"
    administrator: str = ""


ORDINARY = ProviderHook()
"""A provider that says nothing of itself."""


def read_provider(declared: JSON) -> tuple[ProviderHook, tuple[str, ...]]:
    """The ``x-provider`` of a config.json, and sentences about what in it is not understood and ignored."""
    if not isinstance(declared, dict):
        return ORDINARY, ('"x-provider" is not an object and is ignored',)
    installs, script = declared.get("installs", "anything"), declared.get("administrator", "")
    known = {"installs": installs in get_args(Installs), "administrator": isinstance(script, str)}
    problems = tuple(
        f'"{key}" in "x-provider" is not understood and is ignored' for key in declared if not known.get(key)
    )
    provider = ProviderHook(
        cast("Installs", installs) if known["installs"] else "anything",
        str(script) if known["administrator"] else "",
    )
    return provider, problems
