"""How long the engine takes between two events, by clocks of both sides.

Hooks write the wall clock as their first and their last act, the engine its own into their rows: from the one to the
other is the end of the process itself (about a millisecond for bash), the kernel's word of it, and the engine. The
floor of an exit is a process that does nothing but wait for the same script. A crawl that is added is followed from
the commit in the process that adds it to the start of its first hook by a worker that was asleep.
"""

import multiprocessing
import os
import select
import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import UUID

from django.db import connections

from archivebox.base_models.users import system_user
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.crawls.crawl import Crawl
from archivebox.lib.jsonl import JSON
from archivebox.machine.process import Process
from benchmarks.finding import Bound, Finding, interleaved
from benchmarks.room import REST, Room, room, write_plugin

CRAWLS = 5
"""Crawls of one page that are added in a round, one after the other."""
HOOK = """#!/bin/bash
start=$EPOCHREALTIME
printf '%s %s\\n' "$start" "$EPOCHREALTIME" > "${0##*/}.times"
"""


def run(rounds: int) -> list[Finding]:
    config: dict[str, JSON] = {"PLUGINS": ["clock"]}
    scripts = write_plugin("clock", {f"on_Snapshot__{step}5_clock.sh": HOOK for step in range(10)})
    adder = start_adder(config)
    noticed = Finding("from a hook's exit until it is noticed", "ms", Bound.BEYOND, 1, [], floor_name="bare waiter")
    steps = Finding("from a step's last exit to the next start", "ms", Bound.MOST, 5, [])
    late = Finding("from a step's last exit to the next start", "ms", Bound.MOST, 50, steps.ours, quantile=0.99)
    added = Finding("from the commit of `add` to the first hook", "ms", Bound.MOST, 10, [])
    with room(["clock"]) as engine:

        def ours() -> None:
            for _ in range(CRAWLS):
                key, committed = add_one(engine, adder)
                follow(key, committed, noticed, steps, added)

        def bare() -> None:
            noticed.floor.extend(wait_for(path) for path in scripts)

        interleaved(rounds, bare, ours)
    adder.send(None)
    return [noticed, steps, late, added]


# --- the process that adds ------------------------------------------------------------------------------------


def start_adder(config: dict[str, JSON]) -> Connection:
    """A warm process that adds one page for each URL it is sent, and answers with the crawl and when it was there."""
    connections.close_all()
    here, there = multiprocessing.Pipe()
    multiprocessing.get_context("fork").Process(target=add_when_told, args=(there, config), daemon=True).start()
    return here


def add_when_told(orders: Connection, config: dict[str, JSON]) -> None:
    user = system_user()
    while (url := orders.recv()) is not None:
        crawl = create_crawl([Seed(url)], CrawlRequest(config=config), created_by=user)
        orders.send((crawl.pk, time.time()))


def add_one(engine: Room, adder: Connection) -> tuple[UUID, float]:
    """Add one page from the other process while the workers sleep, and wait for its seal."""
    time.sleep(REST)
    adder.send(f"https://clock.example/{time.time()}")
    key, committed = adder.recv()
    engine.wait(Crawl.objects.get(pk=key))
    return key, committed


# --- what the clocks say --------------------------------------------------------------------------------------


def follow(key: UUID, committed: float, noticed: Finding, steps: Finding, added: Finding) -> None:
    """Compare the ledgers of one page's hooks with their rows."""
    rows = list(Process.objects.filter(crawl_id=key, plugin="clock").order_by("hook_name"))
    began = [moment(row.started_at) for row in rows]
    last_acts = [read_times(Path(row.pwd), row.hook_name)[1] for row in rows]
    added.ours.append((began[0] - committed) * 1000)
    noticed.ours += [(moment(row.ended_at) - last) * 1000 for row, last in zip(rows, last_acts, strict=True)]
    steps.ours += [(start - last) * 1000 for start, last in zip(began[1:], last_acts[:-1], strict=True)]


def moment(of: datetime | None) -> float:
    """Seconds since the epoch; ValueError for a row that has not come so far."""
    if of is None:
        raise ValueError("a hook of a sealed crawl has no start or no end")
    return of.timestamp()


def read_times(folder: Path, hook_name: str) -> Sequence[float]:
    return [float(word) for word in (folder / f"{hook_name}.times").read_text().split()]


def wait_for(script: Path) -> float:
    """Milliseconds from a script's last act until a process that only waits for it knows of its end."""
    with subprocess.Popen(["/bin/bash", str(script)], cwd=script.parent, stdout=subprocess.DEVNULL) as child:
        pidfd = os.pidfd_open(child.pid)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll()
        moment = time.time()
        os.close(pidfd)
    return (moment - read_times(script.parent, script.name)[1]) * 1000
