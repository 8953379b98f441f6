"""Starts Chromium: its program, its flags, the profile it runs on, its pipe and its temporary folders.

The profile is the person's own, a copy of the persona's, or a fresh one.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from archivebox.plugins.base import Program, Settings, find_program, log, misconfigured, start_program
from archivebox.plugins.base.cdp import CDPConnection, CDPError
from archivebox.plugins.base.extension import offered_extensions, read_manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PIPE = (3, 4)  # the descriptors on which Chromium reads and writes with --remote-debugging-pipe
FURNITURE = 87  # px of window that new headless keeps above the page: 1440x2000 asked for gives 1913 of page
NARROWEST = 500  # px of width that a window has at least; a narrower page is made so in its tab
SHM_NEEDED = 1 << 30  # bytes of /dev/shm below which pages with large canvases crash
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000  # linux/sched.h


def find_chromium(settings: Settings) -> str:
    """Return the path of Chromium: CHROME_BINARY, else the first of its usual names that is installed."""
    chosen = settings.path("CHROME_BINARY")
    if chosen and chosen not in NAMES:
        return find_program(chosen)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for name in (chosen, *NAMES) if chosen else NAMES:
        for folder in folders:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK):
                return path
    return misconfigured("No Chromium was found. Install it with: archivebox install chromium, or set CHROME_BINARY.")


@contextlib.contextmanager
def browser_pipe() -> Iterator[socket.socket]:
    """Have a socket where Chromium looks for its pipe while it is being started; gives our end of it.

    What is there otherwise (a lock that the engine handed us, anything) is put back.
    """
    ours, theirs = socket.socketpair()
    end = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, PIPE[-1] + 1)
    theirs.close()
    put_away = [_put_away(number) for number in PIPE]
    for number in PIPE:
        os.dup2(end, number)
    os.close(end)
    try:
        yield ours
    finally:
        for number, (copy, inheritable) in zip(PIPE, put_away, strict=True):
            os.close(number)
            if copy is not None:
                os.dup2(copy, number, inheritable)
                os.close(copy)


def _put_away(number: int) -> tuple[int | None, bool]:
    """Return a copy of a descriptor and whether programs inherit it; None where it is not open."""
    try:
        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, PIPE[-1] + 1), os.get_inheritable(number)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        return None, False


def window(settings: Settings) -> tuple[int, int]:
    """Return width and height of the page in CSS pixels, from RESOLUTION as in '1440,900'."""
    text = settings.str("RESOLUTION")
    width, _, height = text.replace("x", ",").partition(",")
    if not (width.strip().isdigit() and height.strip().isdigit()):
        misconfigured(f"RESOLUTION must be width and height such as 1440,900, not {text!r}.")
    return int(width), int(height)


def use_sandbox(settings: Settings) -> bool:
    """Say whether Chromium can have its sandbox: CHROME_SANDBOX, where `auto` tries a namespace as this very user."""
    wish = settings.str("CHROME_SANDBOX").lower()
    if wish not in ("auto", "true", "false"):
        misconfigured(f"CHROME_SANDBOX must be auto, true or false, not {wish!r}.")
    if wish != "auto":
        return wish == "true"
    if os.geteuid() == 0:
        log("Chromium runs without its sandbox because this is root: archive as an ordinary user to have it.")
        return False
    if not hasattr(os, "fork") or os.uname().sysname != "Linux" or _namespace_possible():
        return True
    log("Chromium runs without its sandbox: this user cannot create user namespaces here (container or AppArmor rule).")
    return False


def flags(settings: Settings, profile: str) -> list[str]:
    """Return Chromium's arguments: CHROME_ARGS, else the list of config.json; CHROME_ARGS_EXTRA comes last and wins."""
    width, height = window(settings)
    arguments = settings.list("CHROME_ARGS")
    arguments += [
        f"--user-data-dir={profile}",
        "--remote-debugging-pipe",  # a port would take orders from everybody on this machine
        f"--window-size={width},{height + (FURNITURE if settings.bool('CHROME_HEADLESS') else 0)}",
    ]
    if settings.bool("CHROME_HEADLESS"):
        # A window of nobody's would keep the browser busy for 0.2 s before it answers; with a head it would end.
        arguments += ["--headless=new", "--no-startup-window"]
    if not use_sandbox(settings):
        arguments.append("--no-sandbox")
    if _shm_size() < SHM_NEEDED:
        arguments.append("--disable-dev-shm-usage")
    if not settings.bool("CHECK_SSL_VALIDITY"):
        arguments.append("--ignore-certificate-errors")
    if folders := extensions(settings):
        arguments.append(f"--load-extension={','.join(folders)}")
    return arguments + proxy_flags() + settings.list("CHROME_ARGS_EXTRA")


def proxy_flags() -> list[str]:
    """Return what sends everything through the crawl's proxy, loopback and the look-up of names included.

    By SOCKS: what that proxy refuses is then a failure of the network, and no page of its own in place of the site's.
    """
    proxy = os.environ.get("http_proxy", "").rpartition("://")[2].rpartition("@")[2].rstrip("/")
    if not proxy:
        return []  # a trial of this hook alone
    names = f"MAP * ~NOTFOUND, EXCLUDE {proxy.rpartition(':')[0]}"
    return [f"--proxy-server=socks5://{proxy}", "--proxy-bypass-list=<-loopback>", f"--host-resolver-rules={names}"]


def extensions(settings: Settings) -> list[str]:
    """Return the folders of the extensions to load: those of CHROME_EXTENSIONS, and what other plugins offer."""
    data = os.environ.get("DATA_DIR", "")
    folders = [os.path.join(data, os.path.expanduser(folder)) for folder in settings.list("CHROME_EXTENSIONS")]
    for folder in folders:
        read_manifest(folder)
    return folders + offered_extensions()


def _shm_size() -> int:
    try:
        status = os.statvfs("/dev/shm")  # noqa: S108  (its size is asked for, nothing is written)
    except FileNotFoundError:
        return SHM_NEEDED  # not Linux
    return status.f_blocks * status.f_frsize


def _namespace_possible() -> bool:
    """Do in a child what Chromium's sandbox does first: a user namespace, its uid map, then a namespace inside it.

    Reading a sysctl would not tell: AppArmor (Ubuntu 24.04) allows the first step and denies the others, containers
    deny by seccomp.
    """
    uid = os.geteuid()
    libc = ctypes.CDLL(None, use_errno=True)
    child = os.fork()
    if child == 0:
        os._exit(0 if _make_namespaces(libc, uid) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _make_namespaces(libc: ctypes.CDLL, uid: int) -> bool:
    if libc.unshare(CLONE_NEWUSER) != 0:
        return False
    try:
        with open("/proc/self/uid_map", "w", encoding="ascii") as file:
            file.write(f"{uid} {uid} 1\n")
    except OSError:
        return False
    return bool(libc.unshare(CLONE_NEWPID | CLONE_NEWNET) == 0)


NO_PERSONA = "Default"  # need not have a folder
# What Chromium makes anew, and the locks of one that runs on the original.
LEFT_OUT = shutil.ignore_patterns(
    "Singleton*",
    "lockfile",
    "Cache",
    "Code Cache",
    "GPUCache",
    "*ShaderCache",
    "Dawn*Cache",
    "Crashpad",
    "BrowserMetrics*",
)
# What a page can fill, below the profile: kept on disk where the rest is in memory.
FILLED_BY_PAGES = (
    "Cache",
    "Code Cache",
    "File System",
    "IndexedDB",
    "Local Storage",
    "Service Worker",
    "Session Storage",
    "Shared Dictionary",
    "WebStorage",
    "blob_storage",
)


def make_profile(settings: Settings, folder: str, in_memory: str = "") -> str:
    """Return the profile to use; what is made for this crawl alone lies in `folder`, with which it goes.

    `in_memory`: a folder for a fresh one, of which then only what pages can fill lies in `folder`.

    Crawls that share a persona run on a copy each: Chromium locks its profile, and what one page leaves in it (cookies
    of trackers, a log-out) would meet all later ones.
    """
    own = settings.path("CHROME_USER_DATA_DIR")
    if own:
        return own
    profile = os.path.join(in_memory or folder, "profile")
    persona = _profile_of_persona()
    if persona:
        shutil.copytree(persona, profile, symlinks=True, ignore=LEFT_OUT)
    elif in_memory:
        _keep_on_disk(folder, profile)
    _keep_downloads_in(os.path.join(folder, "downloads"), profile)
    return profile


def is_fresh(settings: Settings) -> bool:
    """Say whether the browser starts on an empty profile, whichever crawl it is for."""
    return not settings.path("CHROME_USER_DATA_DIR") and not _profile_of_persona()


def _profile_of_persona() -> str:
    """Return the profile of the crawl's persona, '' where it has none, or the page is visited as nobody."""
    name = os.environ.get("ACTIVE_PERSONA", NO_PERSONA)
    if not name:
        return ""
    folder = os.path.join(os.environ.get("PERSONAS_DIR", ""), name)
    if name != NO_PERSONA and not os.path.isdir(folder):
        misconfigured(f"There is no persona {name}. Make it with: archivebox persona create '{name}'")
    profile = os.path.join(folder, "profile")
    return profile if os.path.isdir(profile) else ""


def _keep_on_disk(folder: str, profile: str) -> None:
    """Have Chromium write there what pages can fill."""
    default = os.path.join(profile, "Default")
    os.makedirs(default)
    for name in FILLED_BY_PAGES:
        os.mkdir(os.path.join(folder, name))
        os.symlink(os.path.join(folder, name), os.path.join(default, name))


def _keep_downloads_in(downloads: str, profile: str) -> None:
    """Have downloads go to a folder that is removed, and nobody but the site asked why a page does not load.

    The relay forbids them all, but a hook that allows them for itself and goes leaves the browser as it was started.
    """
    path = os.path.join(profile, "Default", "Preferences")
    preferences: dict[str, object] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            preferences = json.load(file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        ours = {"download": {"default_directory": downloads}, "alternate_error_pages": {"enabled": False}}
        json.dump(preferences | ours, file)


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


REMOVE_TIME, REMOVE_AGAIN = 2.0, 0.02  # seconds in which a folder must be gone; between two attempts
FOLDER_PREFIX = "archivebox-chrome-"
MEMORY_FOLDER, MEMORY_ROOM = "/dev/shm", 256 << 20  # noqa: S108  (mkdtemp follows); bytes that must be free there
SOCKET = f"/{FOLDER_PREFIX}12345678/org.chromium.Chromium.123456/SingletonSocket"


def short_temporary_folder() -> str:
    """Return TMPDIR unless it is too long: Chromium puts a socket below it, and its address has 107 bytes (unix(7))."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) + len(SOCKET) <= 107 else "/tmp"  # noqa: S108  (mkdtemp follows)


def remove_folder(folder: str) -> None:
    """Remove a folder that a hook of ours made. Processes that were just killed may finish a last write there."""
    deadline = time.monotonic() + REMOVE_TIME
    shutil.rmtree(folder, ignore_errors=True)
    while os.path.exists(folder) and time.monotonic() < deadline:
        time.sleep(REMOVE_AGAIN)
        shutil.rmtree(folder, ignore_errors=True)


def make_folder() -> tuple[str, int]:
    """Make our temporary folder and lock it; the lock falls with this process, however it ends."""
    return _make_folder_in(short_temporary_folder())


def make_folder_in_memory() -> tuple[str, int] | None:
    """Make one in shared memory (shm_overview(7)) and lock it.

    None where there is no room, or TMPDIR says where temporary files have to be.
    """
    if os.environ.get("TMPDIR"):
        return None
    try:
        status = os.statvfs(MEMORY_FOLDER)
        return _make_folder_in(MEMORY_FOLDER) if status.f_bavail * status.f_frsize >= MEMORY_ROOM else None
    except OSError:  # not Linux, or not ours to write in
        return None


def _make_folder_in(parent: str) -> tuple[str, int]:
    remove_what_killed_ones_left(parent)
    while True:
        folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent)
        lock = locked(folder)
        if lock is not None:
            return folder, lock


def remove_what_killed_ones_left(parent: str) -> None:
    """Remove folders of hooks like this one that nobody holds any more."""
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        if name.startswith(FOLDER_PREFIX) and (lock := locked(folder)) is not None:
            remove_folder(folder)
            os.close(lock)


def locked(folder: str) -> int | None:
    """Open a folder of ours and take its lock; None where it has an owner, is somebody else's, or has just gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # in a folder of everybody's anything may stand under our name, loops of links too
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_uid == os.geteuid() and os.path.samestat(os.stat(folder), os.fstat(lock)):
            return lock
        os.close(lock)
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
    return None
