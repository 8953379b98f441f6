"""Every process that is started, watched, signalled or accounted for, without Django.

Linux has pidfds, a subreaper and ``/proc``; elsewhere, or with ``ARCHIVEBOX_PORTABLE=1``, psutil does what it can.
"""

from archivebox.lib.processes.adoption import AdoptedChild, adopt
from archivebox.lib.processes.children import Child, foreground_child, unreaped
from archivebox.lib.processes.ending import EXEC_SECONDS, StrayProcesses
from archivebox.lib.processes.exits import UNSEEN, ExitJournal, ExitStatus
from archivebox.lib.processes.forkserver import ForkedChild, ForkServer, ForkServerGone
from archivebox.lib.processes.identity import ProcessIdentity
from archivebox.lib.processes.launch import MARK, Launch
from archivebox.lib.processes.linux import punch_hole
from archivebox.lib.processes.listening import marks_of_listeners
from archivebox.lib.processes.marks import NOBODY, mark_environment, mark_of, marked, marked_children
from archivebox.lib.processes.platform import PORTABLE
from archivebox.lib.processes.spawn import fork, spawn
from archivebox.lib.processes.spawnlog import SpawnEntry, SpawnLog
from archivebox.lib.processes.subreaper import become_subreaper, orphans, reap_orphans
from archivebox.lib.processes.title import set_title
from archivebox.lib.processes.tree import Tree
from archivebox.lib.processes.waiting import wait, wait_until_gone
from archivebox.lib.processes.watcher import ExitWatcher

__all__ = [
    "EXEC_SECONDS",
    "MARK",
    "NOBODY",
    "PORTABLE",
    "UNSEEN",
    "AdoptedChild",
    "Child",
    "ExitJournal",
    "ExitStatus",
    "ExitWatcher",
    "ForkServer",
    "ForkServerGone",
    "ForkedChild",
    "Launch",
    "ProcessIdentity",
    "SpawnEntry",
    "SpawnLog",
    "StrayProcesses",
    "Tree",
    "adopt",
    "become_subreaper",
    "foreground_child",
    "fork",
    "mark_environment",
    "mark_of",
    "marked",
    "marked_children",
    "marks_of_listeners",
    "orphans",
    "punch_hole",
    "reap_orphans",
    "set_title",
    "spawn",
    "unreaped",
    "wait",
    "wait_until_gone",
]
