"""What goes wrong beside deaths: full disks, odd files, stopped processes, a clock set back, a restarted database."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.integration.engine.disks import Disk
from tests.integration.engine.driver import Collection, identity_of
from tests.suite.postgres import Cluster

STOPPABLE = ("orchestrator", "worker")


@dataclass
class Trouble:
    """One run's means of making trouble; each kind answers whether it has happened."""

    made: Collection
    random: random.Random
    disk: Disk | None = None
    server: Cluster | None = None

    def kinds(self) -> dict[str, Callable[[], bool]]:
        """Those that can be had here: mounting a disk takes root, restarting a server one of our own."""
        kinds: dict[str, Callable[[], bool]] = {
            "stopped and continued": self.stop,
            "odd files": self.odd_files,
            "clock set back": self.set_clock_back,
        }
        if self.disk is not None:
            kinds["full disk"] = self.fill
        if self.server is not None:
            kinds["database restarted"] = self.restart
        return kinds

    def stop(self) -> bool:
        """A laptop's lid, or Ctrl-Z: one process stands still and goes on."""
        rows = self.made.processes(status="running", process_type__in=STOPPABLE, pid__isnull=False)
        if not rows:
            return False
        victim = identity_of(self.random.choice(rows))
        if not victim.signal(signal.SIGSTOP):
            return False
        time.sleep(self.random.uniform(0.5, 2.0))
        victim.signal(signal.SIGCONT)
        return True

    def set_clock_back(self) -> bool:
        """By what the rows then look like: no container may set the machine's clock."""
        return bool(self.made.actor.ask("clock_went_back", hours=1))

    def odd_files(self) -> bool:
        """Whatever a hook may leave beside the folders of plugins: names, kinds and modes."""
        folders = [self.made.root / str(row["output_dir"]) for row in self.made.rows("Snapshot", "output_dir")]
        there = [folder for folder in folders if folder.is_dir()]
        if not there:
            return False
        return leave_odd_files(self.random.choice(there))

    def fill(self) -> bool:
        if self.disk is None:
            return False
        self.disk.fill()
        time.sleep(self.random.uniform(1.0, 4.0))
        self.disk.free()
        return True

    def restart(self) -> bool:
        if self.server is None:
            return False
        self.made.forget_rows()  # its connection would end with the server
        self.server.stop()
        time.sleep(self.random.uniform(0.0, 2.0))
        self.server.start()
        return True


def leave_odd_files(folder: Path) -> bool:
    """False: they are there."""
    odd = folder / "odd"
    try:
        odd.mkdir()
        (odd / "loop").symlink_to("loop")
        (odd / "nowhere").symlink_to("/nowhere")
        os.mkfifo(odd / "pipe")
        Path(os.fsdecode(os.fsencode(odd) + b"/\xff\n")).touch()
        (odd / "closed").mkdir(mode=0)
        (odd / "closed-file").touch(mode=0)
    except OSError:  # it has them, or is gone, or the disk is full
        return False
    return True
