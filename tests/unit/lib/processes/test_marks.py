"""Marks: a scan finds ours, and only those of this very data folder."""

import os
import time
from pathlib import Path

from archivebox.lib.processes import NOBODY, mark_environment, mark_of, marked
from tests.unit.lib.processes.starting import LIMIT, Starter

READY = "#!/bin/bash\necho 1 >&$1; sleep 60 & wait"


def test_children_of_a_hook_bear_its_mark(cold: Starter) -> None:
    child, _ = cold.until_ready(
        "import os, subprocess, sys\np = subprocess.Popen(['sleep', '60'])\n"
        "os.write(int(sys.argv[1]), b'%d\\n' % p.pid)\np.wait()"
    )
    deadline = time.monotonic() + LIMIT
    while len(found := marked(cold.folder)) < 2:  # who passes execve bears no mark for a moment
        assert time.monotonic() < deadline
    assert len(found) == 2
    assert found[child.identity] == child.process_id
    assert set(found.values()) == {child.process_id}


def test_marks_of_another_data_folder_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = Starter(tmp_path / "one"), Starter(tmp_path / "two")
    try:
        first, _ = one.until_ready(READY)
        second, _ = two.until_ready(READY)
        assert set(marked(one.folder).values()) == {first.process_id}
        assert set(marked(two.folder).values()) == {second.process_id}
        assert mark_of(first.identity.pid, two.folder) is None
    finally:
        one.clean()
        two.clean()


def test_the_folder_is_compared_by_what_it_really_is(cold: Starter, tmp_path: Path) -> None:
    child, _ = cold.until_ready(READY)
    link = tmp_path / "link"
    link.symlink_to(cold.folder)
    assert marked(link)[child.identity] == child.process_id


def test_a_mark_needs_a_folder_and_a_name(cold: Starter) -> None:
    launch = cold.launch("#!/bin/bash\nsleep 60")
    for env in (
        {"ARCHIVEBOX_PROCESS_ID": launch.process_id},
        mark_environment(NOBODY, cold.folder),
        {"NOT_ARCHIVEBOX_PROCESS_ID": "x", "DATA_DIR": str(cold.folder)},
    ):
        child = cold.start(launch._replace(env=env, process_id=env.get("ARCHIVEBOX_PROCESS_ID", "")))
        assert child.identity not in marked(cold.folder)
        child.identity.signal(9)
    assert os.getpid() not in {identity.pid for identity in marked(cold.folder)}
