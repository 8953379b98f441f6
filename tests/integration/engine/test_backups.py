"""A backup that is made while workers write is restored and goes on: each page comes to its end with whole evidence."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import forget_database_of
from tests.integration.engine.driver import REPOSITORY, Collection, collection

pytestmark = pytest.mark.database

PAGES = 8
WRITES = """
i=0
while [ $i -lt 40 ]; do echo "$i $SNAP_DIR" > $i.txt; i=$((i + 1)); done
echo wrote >> "$DATA_DIR/ledger"
[ "$(wc -l < "$DATA_DIR/ledger")" -lt 6 ] || until [ -e "$DATA_DIR/go" ]; do sleep 0.05; done
"""
"""The first pages end by themselves; the others are at work until the test lets them go on."""


def type_(made: Collection, *words: str) -> None:
    command = [sys.executable, "-m", "archivebox", *words]
    done = subprocess.run(command, cwd=REPOSITORY, env=made.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_backup_of_a_collection_at_work_goes_on_elsewhere(forked: Collection, tmp_path: Path) -> None:
    forked.settings["MACHINE_ID"] = "the one that was lost, and came back"
    forked.names.append("hashes")
    forked.plugin("writes", {"on_Snapshot__50_writes.sh": WRITES})
    forked.add(*[f"http://h{number}.test/" for number in range(PAGES)])
    forked.watch()
    forked.wait("pages are sealed, and pages are at work", lambda: is_amid_its_work(forked))
    type_(forked, "backup", str(tmp_path / "dest"))
    forked.kill()

    with collection(tmp_path / "new", forked.mode, **forked.settings) as new:
        shutil.rmtree(new.root)
        forget_database_of(new.root)
        type_(new, "restore", str(tmp_path / "dest"))
        new.names = list(forked.names)
        (new.root / "go").touch()
        assert {row["status"] for row in new.rows("Snapshot", "status")} > {"sealed"}, "some were at work"
        new.run()
        assert {row["status"] for row in new.rows("Snapshot", "status")} == {"sealed"}
        for page in new.rows("Snapshot", "pk")[:: PAGES // 2]:
            type_(new, "snapshot", "verify", str(page["pk"]))


def is_amid_its_work(made: Collection) -> bool:
    found = {row["status"] for row in made.rows("Snapshot", "status")}
    return {"sealed", "started"} <= found and len(made.ledger) > 6
