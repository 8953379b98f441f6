"""What twenty adds and a kill leave is no more than what one add leaves."""

import re
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.archive.conftest import PATIENCE, Home
from tests.site.serve import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]

KEY = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_twenty_adds_and_a_kill_leave_no_more_files_than_one_add(home: Home, site: Site, tmp_path: Path) -> None:
    temporary = tmp_path / "t"
    temporary.mkdir()
    home.env["TMPDIR"] = str(temporary)

    def tree() -> Counter[str]:
        """Files by name, whatever keys of rows are in them; tabs have a lock file for each number."""
        folders = [home.data / name for name in ("logs", "run", "machines", "exports")] + [temporary]
        found = (path for folder in folders for path in folder.rglob("*"))
        return Counter(KEY.sub("*", str(path.relative_to(tmp_path))) for path in found if path.parent.name != "tabs")

    def add(number: int, plugins: str) -> None:
        assert home.type("add", "--plugins", plugins, site.url_for(f"/article?{number}"))[0] == 0

    add(0, "title,wget")
    first = tree()
    for number in range(1, 20):
        add(number, "wget")
    assert tree() == first
    assert not list(home.data.rglob("*.pid"))
    adding = home.start("add", "--plugins", "title", site.url_for("/never"))
    at_work = "SELECT 1 FROM machine_process WHERE status = 'running' AND hook_name LIKE '%navigate%'"
    deadline = time.monotonic() + PATIENCE
    while not home.rows(at_work) and time.monotonic() < deadline:
        time.sleep(0.05)
    home.kill_everything()
    adding.kill()
    adding.communicate()
    assert tree() != first
    add(20, "title,wget")
    assert tree() == first
    assert not list(home.data.rglob("*.pid"))
