"""Chromium, with its pipe and the temporary folders that go with it."""

from __future__ import annotations

import os
import subprocess

from browser_profile import is_fresh, make_profile
from folders import make_folder, make_folder_in_memory, remove_folder
from launch import PIPE, browser_pipe, find_chromium, flags

from archivebox.plugins.base import Program, Settings, log, start_program
from archivebox.plugins.base.cdp import CDPConnection, CDPError

LAUNCH_TIME = 20.0  # seconds until it must answer; it takes 0.2 on an idle machine
CLOSE_TIME = 1.0  # seconds for Chromium to leave by itself before its tree is ended; it takes 0.2


class Browser:
    """Chromium, our end of its pipe, and its temporary folders (profile included), locked for as long as we live."""

    def __init__(self, settings: Settings) -> None:
        binary = find_chromium(settings)
        self.folder, self._lock = make_folder()
        self.folder_in_memory = ""
        if is_fresh(settings) and (made := make_folder_in_memory()) is not None:
            self.folder_in_memory, self._lock_in_memory = made
        try:
            self.profile = make_profile(settings, self.folder, self.folder_in_memory)
            self.keeps_profile = bool(settings.path("CHROME_USER_DATA_DIR"))
            self.command = [binary, *flags(settings, self.profile)]
            # Its temporary files go into our folder, so that they are gone with it even when it was killed.
            environment = {**os.environ, "TMPDIR": self.folder}
            with browser_pipe() as self.pipe:
                self.program: Program = start_program(self.command, env=environment, pass_fds=PIPE)
            self.pid = self.program.pid
        except BaseException:
            self.remove_folders()
            raise

    def version(self) -> dict[str, str]:
        """Wait until it answers."""
        try:
            return CDPConnection(self.pipe).call("Browser.getVersion", timeout=LAUNCH_TIME)
        except CDPError as error:
            raise CDPError(
                f"Chromium did not start ({error}); its own words are above. If they speak of a sandbox: "
                "CHROME_SANDBOX=false."
            ) from error

    def end(self) -> None:
        """End its tree and remove its folders."""
        self.stop()
        self.program.end(0.3)
        self.remove_folders()

    def remove_folders(self) -> None:
        """Remove what it wrote, once it has ended."""
        for folder in (self.folder, self.folder_in_memory):
            if folder:
                remove_folder(folder)

    def stop(self) -> None:
        """Kill all its processes, which :meth:`end` waits for; if its profile is somebody's and stays, let it close."""
        if not self.keeps_profile:
            self.program.kill()  # half the time of TERM, which has it write its profile
            return
        self.pipe.close()
        try:
            self.program.popen.wait(CLOSE_TIME)
        except subprocess.TimeoutExpired as error:
            log(f"Chromium did not close by itself: {error}")
