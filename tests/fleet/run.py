"""``make fleet``: 300 pages with four outputs on three machines that have a database and an object store in common.

One machine dies, one is cut off for two minutes, the database restarts, the store is away for a minute and slow for
another. ``python -m tests.fleet.run [PAGES]``. Needs root, PostgreSQL, Swift, Chromium, and half an hour; prints the
ledger as a table. The lease is that of a real fleet, so that the machine that is cut off loses its pages after half a
minute.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tests.fleet.fleet import KEYS, Fleet, fleet
from tests.fleet.ledger import FleetLedger
from tests.fleet.network import HOSTS, PORT
from tests.integration.engine.driver import wait_for
from tests.namespaces import why_no_namespaces
from tests.suite.postgres import end_on_signals

PAGES = 300
CUT_OFF = 120.0
"""Seconds."""
STORE_FAILS = 60.0
"""Seconds for which it is away, and then slow."""
PATIENCE = 3600.0
OUTPUTS = ("title", "dom", "screenshot", "warc")
PLUGINS = ("chrome", *OUTPUTS, "hashes")
PATHS = ("article", "colour", "unicode", "tree/", "video")


def main(pages: int = PAGES) -> int:
    """Return 1 where something was lost, doubled or left."""
    if why := why_no_namespaces():
        raise SystemExit(f"No fleet can be made here: {why}")
    end_on_signals()
    began = time.monotonic()
    settings = {"LIB_DIR": os.environ["ARCHIVEBOX_TESTS_LIB"], "CHROME_SANDBOX": "false"}
    with (
        tempfile.TemporaryDirectory(prefix="fleet-") as base,
        fleet(Path(base), {}, has_store=True, **settings) as made,
    ):
        try:
            ledger = run(made, pages)
        except AssertionError:
            print(made.describe(), file=sys.stderr)
            raise
    ledger.figures["minutes"] = f"{(time.monotonic() - began) / 60:.1f}"
    print("\n".join(ledger.lines()))
    return 1 if ledger.broken else 0


def run(made: Fleet, pages: int) -> FleetLedger:
    """Each failure comes once a part of the pages is done."""
    ledger = FleetLedger(pages)
    urls = [page_url(number) for number in range(pages)]
    made.made.actor.ask("add", urls=urls, config={"PLUGINS": list(PLUGINS)}, max_depth=0)
    made.made.forget_rows()
    for machine in made.machines.values():
        machine.work()
    kill_machine(made, ledger)
    break_store(made, ledger)
    wait_for_share(made, pages, 0.45)
    made.restart_database()
    cut_machine_off(made, ledger)
    wait_for_share(made, pages, 1.0)
    made.give_up("third")
    made.note_opened(ledger)
    made.stop(ledger)
    made.rows.note_pages(ledger)
    made.rows.note_processes(ledger, KEYS)
    made.note_store(ledger)
    return ledger


def kill_machine(made: Fleet, ledger: FleetLedger) -> None:
    wait_for_share(made, ledger.pages, 0.1)
    ledger.figures["pages that the killed machine held"] = made.rows.held_on(KEYS["third"])
    made.machines.pop("third").kill()


def break_store(made: Fleet, ledger: FleetLedger) -> None:
    """It is away, and later slow; pages are captured meanwhile, and wait for it."""
    assert made.store is not None
    wait_for_share(made, ledger.pages, 0.15)
    made.store.stop()
    time.sleep(STORE_FAILS)
    ledger.figures["pages that waited when the store came back"] = made.rows.waiting_for_store()
    made.store.start()
    wait_for_share(made, ledger.pages, 0.3)
    sealed = made.rows.sealed()
    with made.store.slow():
        time.sleep(STORE_FAILS)
    ledger.figures["pages sealed while the store was slow"] = made.rows.sealed() - sealed


def cut_machine_off(made: Fleet, ledger: FleetLedger) -> None:
    wait_for_share(made, ledger.pages, 0.55)
    ledger.figures["pages that the machine held when it was cut off"] = made.rows.held_on(KEYS["second"])
    made.network.cut("second")
    time.sleep(CUT_OFF)
    made.network.mend("second")
    ledger.figures["pages sealed when it was back"] = made.rows.sealed()


def page_url(number: int) -> str:
    return f"http://{HOSTS[number % len(HOSTS)]}:{PORT}/{PATHS[number % len(PATHS)]}?page={number}"


def wait_for_share(made: Fleet, pages: int, share: float) -> None:
    what = f"{share:.0%} of the pages sealed"
    wait_for(what, lambda: made.rows.sealed() >= share * pages, seconds=PATIENCE)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
