"""The locks of a machine's resources, in a folder that several users share."""

import asyncio
import os
from pathlib import Path

import pytest

from archivebox.workers.execute.capacity.machine_locks import acquire_machine_locks, release_machine_locks

NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_of_the_same_programs_can_take_their_locks(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    release_machine_locks(asyncio.run(acquire_machine_locks(tmp_path / "lib", ["machine:apt"])))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(NOBODY)
            release_machine_locks(
                asyncio.run(acquire_machine_locks(tmp_path / "lib", ["machine:apt", "machine:theirs"]))
            )
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
