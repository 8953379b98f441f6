"""Three machines that share a database and a folder of pages, while one dies, one is cut off and the database restarts.

Where pages are in an object store (STORAGE_URL), its failures belong between the steps of ``break_it``: away for a
minute, then slow for another. `make fleet` does the same to ten times as many pages, with Chromium (`run.py`).
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
while not os.path.exists(os.environ["DATA_DIR"] + "/users/.go"):
    time.sleep(0.1)
with open("picture.png", "wb") as file:
    file.write(body)
note("ends")
"""


def test_nothing_is_lost_or_doubled_whatever_fails(tmp_path: Path) -> None:
    settings = {"ARCHIVEBOX_LEASE_SECONDS": "6", "WORKERS": "1", "DOMAIN_CONCURRENCY": "2"}
    with fleet(tmp_path, {"picture": {"on_Snapshot__20_picture.py": HOOK}}, **settings) as made:
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
    """All three hold pages that wait; one dies, one is cut off until others have its pages, the database restarts."""
    ledger = FleetLedger(PAGES)
    urls = [f"http://{HOSTS[number % len(HOSTS)]}:{PORT}/image.png?page={number}" for number in range(PAGES)]
    made.made.actor.ask("add", urls=urls, config={"PLUGINS": ["picture", "hashes"]}, max_depth=0)
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
    made.restart_database()
    (made.users / ".go").touch()
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
    digests = {path.read_bytes() for path in made.users.glob("*/snapshots/*/*/*/picture/picture.png")}
    ledger.note("different bodies of the picture", len(digests), 1)
    return ledger
