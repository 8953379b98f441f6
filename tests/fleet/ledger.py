"""Owns what has become of every page, result and process of a fleet, as the database and its machines have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import psycopg

WATCH_SEALS = """
CREATE TABLE fleet_seals (snapshot_id uuid, owner uuid);
CREATE FUNCTION note_seal() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN INSERT INTO fleet_seals VALUES (OLD.id, OLD.owner); RETURN NULL; END$$;
CREATE TRIGGER fleet_seals AFTER UPDATE OF status ON core_snapshot FOR EACH ROW
WHEN (OLD.status <> 'sealed' AND NEW.status = 'sealed') EXECUTE FUNCTION note_seal();
"""
"""Each seal that is committed leaves a row, whatever becomes of the page later."""
SEALS_BY_MACHINE = """
SELECT worker.machine_id, count(*) FROM fleet_seals
JOIN machine_process worker ON worker.id = fleet_seals.owner GROUP BY 1
"""
KEPT = {"succeeded", "noresults", "skipped"}
SILENT = "UPDATE machine_machine SET seen_at = seen_at - interval '11 minutes' WHERE id = %s"
"""As if a machine had been away for long: what ran there is closed by others."""


@dataclass
class FleetLedger:
    """The columns of the table that ``lines`` makes, and every rule of it that was broken."""

    pages: int
    figures: dict[str, object] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    def note(self, what: str, found: object, expected: object) -> None:
        self.figures[what] = found
        if found != expected:
            self.broken.append(f"{what}: {found}, not {expected}")

    def lines(self) -> list[str]:
        """A table in Markdown."""
        rows = [f"| {what} | {found} |" for what, found in self.figures.items()]
        return ["| what | found |", "|---|---|", *rows, *(f"BROKEN {rule}" for rule in self.broken)]


class FleetRows:
    """The rows of a fleet, asked of the database by its own words."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), arguments or None)
            return cursor.fetchall() if cursor.description else []

    def count(self, statement: str, *arguments: object) -> int:
        return int(self.ask(f"SELECT count(*) FROM {statement}", *arguments)[0][0])

    def sealed(self) -> int:
        return self.count("core_snapshot WHERE status = 'sealed'")

    def waiting_for_store(self) -> int:
        return self.count("core_snapshot WHERE reason = 'store_unavailable'")

    def held_on(self, machine: UUID) -> int:
        """Pages leased by workers of a machine."""
        join = "core_snapshot page JOIN machine_process worker ON worker.id = page.owner"
        return self.count(f"{join} WHERE worker.machine_id = %s", machine)

    def seen_at(self, machine: UUID) -> datetime:
        """When it gave its last sign of life."""
        ((moment,),) = self.ask("SELECT seen_at FROM machine_machine WHERE id = %s", machine)
        return cast("datetime", moment)

    def note_pages(self, ledger: FleetLedger) -> None:
        """Nothing is lost, nothing is there twice, and every page was sealed once."""
        ledger.note("pages", self.count("core_snapshot"), ledger.pages)
        ledger.note("different URLs", self.count("(SELECT DISTINCT url FROM core_snapshot) each"), ledger.pages)
        ledger.note("pages sealed", self.sealed(), ledger.pages)
        seals = Counter(key for (key,) in self.ask("SELECT snapshot_id FROM fleet_seals"))
        ledger.note("pages sealed once", sum(count == 1 for count in seals.values()), ledger.pages)
        hooks = self.count("(SELECT DISTINCT plugin, hook_name FROM core_archiveresult) each")
        statuses = self.ask("SELECT status, count(*) FROM core_archiveresult GROUP BY 1")
        ledger.figures["results"] = ", ".join(f"{count} {status}" for status, count in sorted(statuses))
        ledger.note("results, one for each page and hook", sum(count for _, count in statuses), ledger.pages * hooks)
        each = "(SELECT DISTINCT snapshot_id, plugin, hook_name FROM core_archiveresult) each"
        ledger.note("of these different", self.count(each), ledger.pages * hooks)
        ledger.note(
            "results that failed or are open", sum(count for status, count in statuses if status not in KEPT), 0
        )
        ledger.note("crawls not ended", self.count("crawls_crawl WHERE status <> 'sealed'"), 0)

    def note_processes(self, ledger: FleetLedger, machines: Mapping[str, UUID]) -> None:
        """Every process is on record as ended; no lease is left."""
        leased = "core_snapshot", "crawls_crawl", "crawls_crawlrun", "machine_binary", "jobs_job"
        ledger.note("leases left", sum(self.count(f"{rows} WHERE owner IS NOT NULL") for rows in leased), 0)
        ledger.note("processes not on record as ended", self.count("machine_process WHERE status <> 'exited'"), 0)
        ended = self.ask("SELECT end_reason, count(*) FROM machine_process WHERE process_type = 'hook' GROUP BY 1")
        ledger.figures["hooks by their end"] = ", ".join(f"{count} {reason}" for reason, count in sorted(ended))
        by_machine = dict(self.ask(SEALS_BY_MACHINE))
        named = [f"{name} {by_machine.get(key, 0)}" for name, key in machines.items()]
        ledger.figures["pages sealed by machine"] = ", ".join(named)
