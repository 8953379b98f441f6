"""How Chromium is started: which program, which flags, whether its sandbox can work here."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import socket

from archivebox.plugins.base import Settings, find_program, log, misconfigured
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
