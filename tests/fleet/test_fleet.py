"""Three machines that share a database and an object store, while one dies, one is cut off, and both servers fail.

`make fleet` does the same to ten times as many pages, with Chromium, and for longer (`run.py`).
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.fleet.fleet import KEYS, PATIENCE, Fleet, fleet
from tests.fleet.ledger import FleetLedger
from tests.fleet.network import HOSTS, PORT
from tests.integration.engine.driver import wait_for
from tests.namespaces import why_no_namespaces
from tests.suite.packages import missing

pytestmark = [
    pytest.mark.once,
    pytest.mark.timeout(900),
    pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"),
    pytest.mark.skipif(bool(why_no_namespaces()), reason=why_no_namespaces()),
]

PAGES = 30
WORDS = "echo one > words.txt\n"
"""It ends at once: of a machine that dies its files are lost, and only its result is on record."""
HOOK = """
import os, sys, time, urllib.request
url = next(word.partition("=")[2] for word in sys.argv if word.startswith("--url="))
page = os.path.basename(os.environ["SNAP_DIR"])
def note(word):
    with open(os.environ["DATA_DIR"] + "/ledger", "a") as ledger:
        print(word, page, file=ledger, flush=True)
note("begins")
with urllib.request.urlopen(url, timeout=60) as answer:
    body = answer.read()
while not os.path.exists(os.environ["DATA_DIR"] + "/go"):
    time.sleep(0.1)
with open("picture.png", "wb") as file:
    file.write(body)
note("ends")
"""


def test_nothing_is_lost_or_doubled_whatever_fails(tmp_path: Path) -> None:
    settings = {"ARCHIVEBOX_LEASE_SECONDS": "15", "WORKERS": "1", "DOMAIN_CONCURRENCY": "2"}
    plugins = {"words": {"on_Snapshot__10_words.sh": WORDS}, "picture": {"on_Snapshot__20_picture.py": HOOK}}
    with fleet(tmp_path, plugins, has_store=True, **settings) as made:
        try:
            ledger = break_it(made)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{made.describe()}") from None
    print("\n".join(ledger.lines()))
    assert not ledger.broken, "\n".join(ledger.lines())


def pages_that(made: Fleet, word: str, *names: str) -> list[str]:
    """Pages that have begun or ended on these machines, by the word of their own hooks."""
    files = [made.folders[name] / "ledger" for name in names]
    lines = [line.split() for file in files if file.exists() for line in file.read_text().splitlines()]
    return [page for said, page in lines if said == word]


def break_it(made: Fleet) -> FleetLedger:
    """All three hold pages that wait; one dies, one is cut off until others have its pages, both servers are away."""
    assert made.store is not None
    ledger = FleetLedger(PAGES)
    urls = [f"http://{HOSTS[number % len(HOSTS)]}:{PORT}/image.png?page={number}" for number in range(PAGES)]
    made.made.actor.ask("add", urls=urls, config={"PLUGINS": ["words", "picture", "hashes"]}, max_depth=0)
    made.made.forget_rows()
    for machine in made.machines.values():
        machine.work()
    wait = partial(wait_for, seconds=PATIENCE)
    wait("pages on each machine", lambda: all(pages_that(made, "begins", name) for name in KEYS))
    made.wait_until_known("second")
    made.machines.pop("third").kill()
    made.network.cut("second")
    wait("what they held is taken over", lambda: not any(made.rows.held_on(KEYS[name]) for name in ("second", "third")))
    wait(
        "its hooks are ended",
        lambda: not any("picture.py" in line for line in made.machines["second"].processes().values()),
    )
    begun_there = set(pages_that(made, "begins", "second", "third"))
    made.network.mend("second")
    made.store.stop()
    made.restart_database()
    for machine in made.machines.values():
        (machine.folder / "go").touch()
    wait("a page waits for the store", made.rows.waiting_for_store)
    made.store.start()
    wait("every page sealed", lambda: made.rows.sealed() == PAGES)
    made.give_up("third")
    made.note_opened(ledger)
    made.stop(ledger)
    made.rows.note_pages(ledger)
    made.rows.note_processes(ledger, KEYS)
    ends = Counter(pages_that(made, "ends", *KEYS))
    begins = Counter(pages_that(made, "begins", *KEYS))
    ledger.note("pages whose hook came to its end once", sum(count == 1 for count in ends.values()), PAGES)
    again = {page for page, count in begins.items() if count > 1}
    ledger.figures["pages begun again"] = len(again)
    ledger.note("pages begun again that no failed machine had", len(again - begun_there), 0)
    for machine in made.machines.values():
        for file in ("picture/picture.png", "words/words.txt"):
            found = list(map(Path.read_bytes, machine.users.glob(f"*/snapshots/*/*/*/{file}")))
            ledger.note(f"{file} on {machine.name}", len(found), PAGES)
            ledger.note(f"different {file} on {machine.name}", len(set(found)), 1)
    made.note_store(ledger)
    return ledger
