"""Being the parent of orphans: descendants whose parents died come to the nearest subreaper."""

import os
from collections.abc import Container

from archivebox.lib.processes.children import known_pids
from archivebox.lib.processes.exits import NO_ROOM, UNSEEN, ExitJournal, ExitStatus
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.linux import P_PID, P_PIDFD, set_child_subreaper, waitid
from archivebox.lib.processes.platform import PORTABLE

if PORTABLE:
    from archivebox.lib.processes.portable import children_of
else:
    from archivebox.lib.processes.procfs import children_of


def become_subreaper() -> bool:
    """Have orphaned descendants reparented to this process (prctl(2)); False where that does not exist."""
    return not PORTABLE and set_child_subreaper()


def orphans(own: Container[int] = ()) -> set[ProcessIdentity]:
    """Children of this process that it has not started: dead workers' hooks, and strays that escaped their tree.

    ``own`` are pids of children started by other means than this package (a web server, a worker).
    """
    pids = list(children_of(os.getpid()))
    known = known_pids()
    strangers = (pid for pid in pids if pid not in known and pid not in own)
    return {identity for pid in strangers if (identity := ProcessIdentity.of(pid)) is not None}


def reap_orphans(journal: ExitJournal | None, own: Container[int] = ()) -> dict[ProcessIdentity, ExitStatus]:
    """Reap every foster child that has ended; its status goes to ``journal`` first. Call it on SIGCHLD.

    Checks each by pid: ``waitid(P_ALL, WNOWAIT)`` would return the same zombie for ever.
    """
    buried: dict[ProcessIdentity, ExitStatus] = {}
    for identity in orphans(own) if not PORTABLE else ():
        try:
            waited = waitid(P_PID, identity.pid, reap=False)
            if waited is None:
                continue
            status = ExitStatus(*waited)
            if journal is not None:
                journal.write(identity, status)
            waitid(P_PID, identity.pid, reap=True)
        except ChildProcessError:  # reaped in between by the child watcher of somebody else in this process
            continue
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            continue  # it stays a zombie until its end can be written down
        buried[identity] = status
    return buried


def poll_directly(identity: ProcessIdentity) -> ExitStatus | None:
    """Status of a process that may have become our child; UNSEEN when it is gone and was somebody else's."""
    fd = identity.open_pidfd()
    if fd is None:
        return UNSEEN
    try:
        waited = waitid(P_PIDFD, fd, reap=False)
        return None if waited is None else ExitStatus(*waited)
    except ChildProcessError:  # the child of another subreaper: its zombie says nothing to us
        return UNSEEN if identity.is_zombie() else None
    finally:
        os.close(fd)


def reap_directly(identity: ProcessIdentity) -> None:
    """Reap a zombie that became our child; one that did not is left to its parent."""
    fd = identity.open_pidfd()
    if fd is None:
        return
    try:
        waitid(P_PIDFD, fd, reap=True)
    except ChildProcessError:
        return
    finally:
        os.close(fd)
