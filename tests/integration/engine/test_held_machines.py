"""A machine that is held still beyond its leases, while another takes over: it writes and shows nothing afterwards."""

import signal
import sys
from pathlib import Path

import pytest

from archivebox.lib.processes import ProcessIdentity, marked
from tests.integration.engine.driver import REPOSITORY, Collection, collection, identity_of, wait_for
from tests.namespaces import Namespace, why_no_namespaces
from tests.suite.packages import missing
from tests.suite.postgres import cluster

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"),
    pytest.mark.skipif(bool(why_no_namespaces()), reason=why_no_namespaces()),
]

WRITES = """
exec 3>>held-open
until [ -e "$DATA_DIR/go" ]; do
    echo "$DATA_DIR" >> appended
    echo "$DATA_DIR" > "new-$$"
    echo "$DATA_DIR" >&3
    sleep 0.05
done
echo "$DATA_DIR" > end
"""
SETTINGS = {"ARCHIVEBOX_LEASE_SECONDS": "4", "SECRET_KEY": "of no server", "TIMEOUT": "300"}
FILES = ("appended", "held-open", "new-*", "end")


def hold(one: Collection, machine: str) -> dict[ProcessIdentity, str]:
    """Stop the orchestrator of a machine, and its workers; what each is."""
    rows = one.processes(status="running", pid__isnull=False, machine_id=machine)
    kinds = {"orchestrator", "worker"}
    held = {identity_of(row): str(row["process_type"]) for row in rows if row["process_type"] in kinds}
    for identity in held:
        identity.signal(signal.SIGSTOP)
    return held


@pytest.mark.parametrize(
    "kinds", [{"orchestrator", "worker"}, {"orchestrator"}], ids=["all-go-on", "workers-stay-held"]
)
def test_of_a_machine_held_beyond_its_lease_nothing_is_written_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: set[str]
) -> None:
    """Its hooks run on meanwhile, in a folder that both machines share, and are ended as soon as it goes on.

    ``kinds``: what of it goes on; workers that stay held are killed and replaced by the orchestrator.
    """
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    with cluster() as server:
        monkeypatch.setenv("DATABASE_URL", server.url)
        with collection(tmp_path / "here", MACHINE_ID="here", **SETTINGS) as here:
            shared = {"MACHINE_ID": "elsewhere", "DATABASE_URL": here.env["DATABASE_URL"], **SETTINGS}
            elsewhere = Collection(tmp_path / "elsewhere", settings=shared, is_made=False)
            machine = Namespace()
            try:
                take_over(here, elsewhere, machine, kinds)
            finally:
                machine.kill()


def join(machine: Namespace, elsewhere: Collection, users: Path) -> None:
    """Have a worker of the other machine begin, which has the same folder of pages."""
    users.mkdir(exist_ok=True)
    own = elsewhere.root / "users"
    own.mkdir()
    machine.run("mount", "--bind", users, own)
    worker = [sys.executable, "-m", "archivebox", "worker"]
    machine.start(worker, elsewhere.env, cwd=REPOSITORY, log=elsewhere.base / "worker.log")


def take_over(here: Collection, elsewhere: Collection, machine: Namespace, kinds: set[str]) -> None:
    for one in (here, elsewhere):
        one.plugin("writes", {"on_Snapshot__10_writes.sh": WRITES})
    here.add()
    here.watch()
    (first_file,) = here.wait("its hook", lambda: list(here.root.glob("users/*/snapshots/*/*/*/writes/appended")))
    page = first_file.parent
    first = here.wait("its row", lambda: here.hooks("writes"))[0]["pk"]
    join(machine, elsewhere, here.root / "users")
    here.wait("another machine", lambda: len(here.rows("Machine", "pk", seen_at__isnull=False)) == 2)
    held = hold(here, here.rows("Process", "machine_id", pk=first)[0]["machine_id"])
    assert set(held.values()) == {"orchestrator", "worker"}
    here.wait("taken over", lambda: len(here.hooks("writes")) == 2)
    here.wait("its files", lambda: all(written(page, elsewhere)[name] for name in FILES[:3]))
    before = written(page, here)
    assert first in marked(here.root).values(), "the hooks of what is held run on"
    for identity, kind in held.items():
        if kind in kinds:
            identity.signal(signal.SIGCONT)
    wait_for("its hook has ended", lambda: first not in marked(here.root).values())
    (elsewhere.root / "go").touch()
    here.wait_sealed()
    after = written(page, here)
    assert (after, written(page, elsewhere)["end"]) == (before, 1)
    result = here.results()["writes"]
    assert result["process_id"] == here.hooks("writes")[1]["pk"] != first
    for watcher in here.watchers:
        watcher.terminate()
    machine.terminate()
    here.watchers.clear()
    here.wait_until_gone()
    here.check_nothing_left()


def written(page: Path, by: Collection) -> dict[str, int]:
    """How many lines of a machine each file of the page has."""
    own = str(by.root)
    return {name: sum(path.read_text().splitlines().count(own) for path in page.glob(name)) for name in FILES}
