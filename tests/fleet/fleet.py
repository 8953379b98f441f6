"""Owns a fleet: three machines, a database server, the local web, and an object store or a folder of pages that all
have; in namespaces that reach nothing else.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import NAMESPACE_DNS, uuid5

import pytest

from tests.fleet.ledger import SILENT, WATCH_SEALS, FleetLedger, FleetRows
from tests.fleet.machine import FleetMachine, SharedByFleet
from tests.fleet.network import FleetNetwork
from tests.fleet.store import FleetStore, fleet_store
from tests.integration.engine.driver import Collection, wait_for
from tests.namespaces import Namespace
from tests.suite.postgres import Cluster, cluster

KEYS = {name: uuid5(NAMESPACE_DNS, name) for name in ("first", "second", "third")}
"""The machines, and the ids of their rows."""
PATIENCE = 300.0
"""Seconds after which a condition is given up: many times what a loaded machine needs."""
DESCRIBING = (
    "SELECT id, seen_at, now() FROM machine_machine",
    """SELECT page.status, page.retry_at, worker.machine_id, worker.status, count(*) FROM core_snapshot page
    LEFT JOIN machine_process worker ON worker.id = page.owner GROUP BY 1, 2, 3, 4""",
    """SELECT state, wait_event_type, wait_event, now() - xact_start, left(query, 200) FROM pg_stat_activity
    WHERE datname = current_database()""",
    "SELECT name, next_at FROM machine_periodictask",
)
"""What is asked where a condition did not come true."""
SERVER = 2
"""The last number of the database server's address; machines have 21 and more."""


@dataclass
class Fleet:
    """``made`` is the first machine's collection, whose rows are asked from outside by the server's socket."""

    made: Collection
    machines: dict[str, FleetMachine]
    network: FleetNetwork
    server: Cluster
    rows: FleetRows
    store: FleetStore | None
    """None: all machines have one folder of pages."""

    def __post_init__(self) -> None:
        self.folders = {name: machine.folder for name, machine in self.machines.items()}

    def wait_until_known(self, name: str) -> None:
        """Wait until a machine has heard of the others, as it does with each sign of life that it gives."""
        for _ in range(2):  # the first may be under way
            before = self.rows.seen_at(KEYS[name])
            wait_for("a sign of life", lambda: self.rows.seen_at(KEYS[name]) > before, seconds=PATIENCE)  # noqa: B023 - asked in this round

    def restart_database(self) -> None:
        self.server.stop()
        self.server.start()

    def give_up(self, name: str) -> None:
        """Let a machine that was killed have been silent for long, and see that others close what ran there."""
        self.rows.ask(SILENT, KEYS[name])
        left = "machine_process WHERE status <> 'exited' AND machine_id = %s"
        wait_for("what ran there is closed", lambda: not self.rows.count(left, KEYS[name]), seconds=PATIENCE)

    def note_opened(self, ledger: FleetLedger) -> None:
        """Every page opens, whole and signed, on every machine that is at work."""
        for machine in self.machines.values():
            opened = json.loads(machine.ask("tests.fleet.opener"))
            whole = [
                page for page in opened.values() if page["status"] == 200 and page["files"] and not page["problem"]
            ]
            ledger.note(f"pages that open on {machine.name}", len(whole), ledger.pages)

    def note_store(self, ledger: FleetLedger) -> None:
        """Nothing is in the store but what pages need, each as it was stored. No worker may be at work."""
        machine = next(iter(self.machines.values()))
        found = json.loads(machine.ask("tests.fleet.store_check", STORAGE_GRACE="0"))
        ledger.note("objects without a row", found["without_row"], 0)
        ledger.figures["objects deleted that nothing needed"] = found["deleted"]
        ledger.note("objects left, one for each row", found["left"], found["rows"])
        ledger.note("of these needed", found["needed"], found["rows"])
        ledger.note(
            "of these with the digest of their row, but for the collection's mark", found["same"], found["files"]
        )
        ledger.note("pages with an object", found["pages"], ledger.pages)
        ledger.figures["bytes in the store"] = f"{found['bytes']:,}"

    def stop(self, ledger: FleetLedger) -> None:
        """Have all workers end by themselves, and see that nothing else is left."""
        for machine in self.machines.values():
            machine.stop()
        left = {name: list(machine.processes().values()) for name, machine in self.machines.items()}
        ledger.note("processes left", {name: lines for name, lines in left.items() if lines}, {})

    def describe(self) -> str:
        rows = [str(row) for statement in DESCRIBING for row in self.rows.ask(statement)]
        return "\n".join([*rows, *(machine.describe() for machine in self.machines.values())])


@contextlib.contextmanager
def fleet(
    base: Path, plugins: Mapping[str, Mapping[str, str]], *, has_store: bool = False, **settings: str
) -> Iterator[Fleet]:
    """``plugins``: hooks of plugins that all machines get, by file name."""
    with contextlib.ExitStack() as ends:
        network = FleetNetwork()
        ends.callback(network.close)
        network.serve_site()
        database = Namespace(net=True)
        ends.callback(database.kill)
        address = network.connect(database, "database", SERVER)
        server = ends.enter_context(cluster(database.in_network(), address))
        ends.enter_context(pytest.MonkeyPatch.context()).setenv("DATABASE_URL", server.url)
        made = collections(base, plugins, settings)
        first = next(iter(made.values()))
        ends.callback(first.forget_rows)
        inside = first.env["DATABASE_URL"]
        path = urlsplit(inside).path
        url = urlunsplit(urlsplit(server.url)._replace(netloc=f"archivebox@{address}", path=path, query=""))
        store = ends.enter_context(fleet_store(network)) if has_store else None
        shared = SharedByFleet({"DATABASE_URL": url, **(store.settings if store else {})}, shared_pages(base, store))
        machines = {}
        for number, (name, one) in enumerate(made.items(), 21):
            machines[name] = FleetMachine(name, number, network, one, shared)
            ends.callback(machines[name].kill)
        rows = FleetRows(inside)
        rows.ask(WATCH_SEALS)
        yield Fleet(first, machines, network, server, rows, store)


def shared_pages(base: Path, store: FleetStore | None) -> Path | None:
    """The folder that all machines have as `users/`; None where there is an object store."""
    if store is not None:
        return None
    (base / "users").mkdir()
    return base / "users"


def collections(
    base: Path, plugins: Mapping[str, Mapping[str, str]], settings: Mapping[str, str]
) -> dict[str, Collection]:
    """The first machine's, which makes the database, and folders of others, which join by that."""
    found: dict[str, Collection] = {}
    for name, key in KEYS.items():
        (base / name).mkdir()
        own = {**settings, "SECRET_KEY": "of no server", "MACHINE_ID": str(key)}
        found[name] = Collection(base / name, settings=own, is_made=not found)
        for plugin, hooks in plugins.items():
            found[name].plugin(plugin, hooks)
    return found
