"""Owns typing commands that work on rows in this very process, with records in a real pipe as their stdin."""

import importlib
import inspect
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from archivebox.cli.errors import BadInputError
from archivebox.cli.main import PROGRAM
from archivebox.cli.output import Output
from archivebox.cli.session import Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.machine.models import Process


@dataclass(frozen=True)
class TypedHere:
    """One command that has ended."""

    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, object]]:
        """stdout as JSON lines; anything else on it fails the test."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def urls(self) -> list[object]:
        return [record["url"] for record in self.records if record["type"] == "Snapshot"]

    @property
    def types(self) -> list[object]:
        return [record["type"] for record in self.records]


def typed(words: str | list[str], stdin: str | None = None) -> TypedHere:
    """Run `archivebox …`; ``stdin``: what is in its pipe, none is /dev/null. Words are split at blanks."""
    out, err = io.StringIO(), io.StringIO()
    run, params = _body(words.split() if isinstance(words, str) else words)
    with _given(stdin):
        try:
            code = run(Session(Output(json=True, stdout=out, stderr=err), DATA_FOLDER, Process.current()), **params)
        except BadInputError as error:
            code = 2
            err.write(f"{error}\n")
    return TypedHere(code, out.getvalue(), err.getvalue())


def _body(words: list[str]) -> tuple[Callable[..., int], dict[str, object]]:
    """What carries out a command, and the options that were typed for it."""
    context, command, rest = click.Context(PROGRAM), PROGRAM, list(words)
    found: click.Command = command
    while isinstance(found, click.Group):
        inner = found.get_command(context, rest.pop(0))
        assert inner is not None, words
        found = inner
    target = inspect.getclosurevars(found.callback).nonlocals["target"]  # type: ignore[arg-type]
    module, _, function = target.partition(":")
    params = found.make_context(found.name, rest, parent=context).params
    return getattr(importlib.import_module(module), function or "run"), params


@contextmanager
def _given(text: str | None) -> Iterator[None]:
    """The stdin of this process, as long as it takes; a pipe holds 64 KB."""
    before = sys.stdin
    reading = os.open(os.devnull, os.O_RDONLY)
    if text is not None:
        os.close(reading)
        reading, writing = os.pipe()
        os.write(writing, text.encode())
        os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        sys.stdin = stream
        try:
            yield
        finally:
            sys.stdin = before
