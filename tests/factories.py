"""Owns short ways to rows and tiny plugins for tests: the real ones, with only what a test is about spelled out."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from django.contrib.auth.models import User

from archivebox import hooks
from archivebox.base_models.users import system_user
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from archivebox.lib.jsonl import JSON
from archivebox.machine.models import Machine, Process

LIMIT = 90
"""Seconds after which a test that waits for a process gives up."""


def process(
    *words: str, pwd: Path | None = None, timeout: int = LIMIT, parent: Process | None = None, hook_name: str = ""
) -> Process:
    """A Process row that is not saved yet; its program is whatever ``words`` say."""
    return Process(
        machine=Machine.current(),
        cmd=list(words),
        pwd=str(pwd or DATA_FOLDER.root),
        timeout=timeout,
        parent=parent,
        hook_name=hook_name,
    )


def shell(script: str, *, timeout: int = LIMIT, pwd: Path | None = None, parent: Process | None = None) -> Process:
    return process("/bin/sh", "-c", script, timeout=timeout, pwd=pwd, parent=parent)


def python(script: str, *, timeout: int = LIMIT) -> Process:
    return process(sys.executable, "-c", textwrap.dedent(script), timeout=timeout)


def row(parent: Process | None = None, **fields: object) -> Process:
    """A saved Process row of nobody in particular."""
    return Process.objects.create(machine=Machine.current(), parent=parent, **fields)


def again(process: Process) -> Process:
    """The row as the database has it."""
    return Process.objects.get(pk=process.pk)


def crawl(
    *urls: str,
    user: User | None = None,
    max_depth: int = 0,
    hold: bool = False,
    config: dict[str, JSON] | None = None,
    visibility: str = "",
) -> Crawl:
    seeds = [Seed(url) for url in urls or ("https://example.com/",)]
    by = user or system_user()
    request = CrawlRequest(depth=max_depth, hold=hold, config=config or {}, visibility=visibility)
    return create_crawl(seeds, request, created_by=by, may_name_private=True)


def snapshot(
    url: str = "https://example.com/", *, max_depth: int = 0, config: dict[str, JSON] | None = None
) -> Snapshot:
    return crawl(url, max_depth=max_depth, config=config).snapshot_set.get()


def leased(item: Snapshot, worker: Process | None = None) -> Snapshot:
    """The Snapshot as a worker that has just leased it sees it."""
    owner: UUID = (worker or row(process_type="worker", status="running")).pk
    assert item.pk in Snapshot.claim([item.pk], owner)
    return Snapshot.objects.get(pk=item.pk)


def plugin(name: str, scripts: Mapping[str, str], config: dict[str, JSON] | None = None) -> Path:
    """A plugin in the data folder; its hooks are what ``scripts`` say, by file name."""
    folder = DATA_FOLDER.plugins / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config or {"type": "object", "properties": {}}))
    for file_name, script in scripts.items():
        (folder / file_name).write_text(textwrap.dedent(script))
    hooks.forget_plugins()
    return folder
