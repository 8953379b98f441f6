"""The ends of processes as events of an asyncio loop."""

import asyncio
import os
import selectors
from collections.abc import Callable
from functools import partial

from archivebox.lib.processes.adoption import POLL_SECONDS, AdoptedChild
from archivebox.lib.processes.children import Child
from archivebox.lib.processes.exits import ExitStatus
from archivebox.lib.processes.forkserver import ForkedChild, ForkServer
from archivebox.lib.processes.platform import PORTABLE
from archivebox.lib.processes.portable_watch import PortableWatch

OnExit = Callable[[Child, ExitStatus], None]


class ExitWatcher:
    """Calls back once for each watched child that has ended; 0.2 ms after, no timer but the one named below.

    Own and adopted children by pidfd, which costs what SIGCHLD does (0.82 ms a hook) without a poll of all the others;
    forked ones by their server's messages. The pidfds are in a selector of our own, which the loop watches as one
    descriptor: it makes a handle for each that it watches itself. All calls, and the callbacks, on the loop's thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._callbacks: dict[Child, OnExit] = {}
        self._pidfds: dict[Child, int] = {}
        self._timers: dict[Child, asyncio.TimerHandle] = {}
        self._servers: dict[ForkServer, int] = {}
        self._portable = PortableWatch(loop, self._check_all) if PORTABLE else None
        self._selector = selectors.DefaultSelector()
        loop.add_reader(self._selector, self._check_ended)

    def watch(self, child: Child, on_exit: OnExit) -> None:
        """Call ``on_exit(child, status)`` when it has ended, also if it has already; it is not reaped."""
        self._callbacks[child] = on_exit
        if self._portable is not None:
            self._portable.add(child.identity.pid)
            self._loop.call_soon(self._check, child)
        elif isinstance(child, ForkedChild) and child.is_served:
            self._loop.call_soon(self._check, child)  # it may have ended before it was watched
        else:
            self._watch_pidfd(child)

    def unwatch(self, child: Child) -> None:
        """Never call back for ``child`` again; one that is not watched is no error."""
        self._callbacks.pop(child, None)
        self._forget(child)

    def attach_fork_server(self, server: ForkServer) -> None:
        """Take the messages of a running fork server on this loop; it is let go when it ends."""
        fd = server.fileno()
        self._servers[server] = fd
        server.listener = partial(self._from_thread, server)
        self._loop.add_reader(fd, self._messages, server)

    def detach_fork_server(self, server: ForkServer) -> None:
        """Take no more messages of one, which is about to be closed and has no children."""
        fd = self._servers.pop(server, None)
        if fd is not None:
            self._loop.remove_reader(fd)
            server.listener = None

    def end_stuck_servers(self) -> None:
        """Call it now and then: who waits for the word of a fork server that was stopped would wait for ever."""
        for server in list(self._servers):
            server.end_if_stuck()

    def close(self) -> None:
        """Stop watching; the children stay as they are."""
        for child in list(self._callbacks):
            self.unwatch(child)
        for server in list(self._servers):
            self.detach_fork_server(server)
        if self._portable is not None:
            self._portable.close()
        self._loop.remove_reader(self._selector)
        self._selector.close()

    def _watch_pidfd(self, child: Child) -> None:
        fd = child.open_pidfd()
        if fd is None:
            self._loop.call_soon(self._check, child)
            return
        self._pidfds[child] = fd
        self._selector.register(fd, selectors.EVENT_READ, child)

    def _check_ended(self) -> None:
        for key, _ in self._selector.select(0):
            self._check(key.data)

    def _check(self, child: Child) -> None:
        """Check a child about which something may be known now."""
        if child not in self._callbacks:
            return
        status = child.peek()
        if status is not None:
            self._deliver(child, status)
        elif isinstance(child, AdoptedChild) and child.ended:
            self._await_record(child)

    def _await_record(self, child: Child) -> None:
        """An adopted process has ended before its exit record is there: poll for that, a second at most."""
        self._forget(child)
        self._timers[child] = self._loop.call_later(POLL_SECONDS, self._check, child)

    def _check_all(self) -> None:
        for child in list(self._callbacks):
            self._check(child)

    def _deliver(self, child: Child, status: ExitStatus) -> None:
        on_exit = self._callbacks.pop(child)
        self._forget(child)
        on_exit(child, status)

    def _forget(self, child: Child) -> None:
        fd = self._pidfds.pop(child, None)
        if fd is not None:
            self._selector.unregister(fd)
            os.close(fd)
        timer = self._timers.pop(child, None)
        if timer is not None:
            timer.cancel()

    def _messages(self, server: ForkServer) -> None:
        server.handle_messages()
        if not server.alive:
            self.detach_fork_server(server)

    def _from_thread(self, server: ForkServer, child: ForkedChild, status: ExitStatus | None) -> None:
        """The server's messages may have been taken by another thread, or in the middle of a start."""
        self._loop.call_soon_threadsafe(self._forked, server, child, status)

    def _forked(self, server: ForkServer, child: ForkedChild, status: ExitStatus | None) -> None:
        if status is None:
            self.detach_fork_server(server)
        if child not in self._callbacks:
            return
        if status is not None:
            self._deliver(child, status)
        else:  # its server is dead: it is a child of ours now
            self._watch_pidfd(child)
