"""Owns what one worker starts ahead for the next crawl next to a server, a browser above all (decision 0129)."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.hook import Hook
from archivebox.hooks import HOOK_PATH, Call, Proxy, discover_hooks, prepare_hook
from archivebox.hooks.calls import USER
from archivebox.lib.file_urls import is_file_url
from archivebox.lib.machine_load import can_spare
from archivebox.workers import early_spare
from archivebox.workers.early_spare import END_TIME, LOOPBACK, MEMORY_MIN, EarlySpare, SpareRecipe
from archivebox.workers.execute.hooks.spare import SpareCall, SpareProcess
from archivebox.workers.queue.readiness_check import drain_problem

if TYPE_CHECKING:
    import asyncio

    from archivebox.workers.execute.engine import Engine

log = logging.getLogger(__name__)

START_AFTER = 0.5
"""Seconds without any work after which one is started: what comes at once has the processors to itself."""
WARM_UP_AFTER = 0.01
"""Seconds after a hook's start until the fork server goes on to warm up where the command has started the browser."""
KEPT_FOR = 600.0
"""Seconds after the latest crawl that would have used one."""


class Spares:
    """At most one process that waits, and those that crawls have taken."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self.is_served = False
        """Whether this worker is a server's: others end with the command that waits for them."""
        self.is_idle: Callable[[], bool] = lambda: False
        """Whether this worker has nothing else to do."""
        self._waiting: SpareProcess | None = None
        self._living: set[SpareProcess] = set()
        self._recent: Call | None = None
        """Of the latest crawl that would have used one."""
        self._used_at = 0.0
        self._unwanted: SpareCall | None = None
        """What crawls with such settings cannot use, as one of them has found."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_put_off = False
        """Whether one is wanted that might not wait when it was: then it is started when it may."""

    # --- starting ---------------------------------------------------------------------------------------------

    def note_use(self, call: Call) -> None:
        """A crawl has ended that had, or would have had, one: the next crawl may be like it."""
        hook = hook_of(call)
        if self.is_served and hook is not None:
            self._recent, self._used_at = call, self._engine.loop.time()
        elif not self.is_served and sys.argv[1:2] == [early_spare.COMMAND]:  # we are forked from it
            self._leave_recipe(hook, call)

    def start_soon(self) -> None:
        """The worker has become idle: start one if it stays so."""
        if self._timer is not None:
            self._timer.cancel()
        if self.is_served and self._recent is not None and self._waiting is None:
            self._timer = self._engine.loop.call_later(START_AFTER, self._start)

    def _start(self) -> None:
        recent = self._recent
        hook = None if recent is None or self._waiting is not None else hook_of(recent)
        if recent is None or hook is None or not self.is_idle():
            return
        self._is_put_off = not self._may_wait()
        if self._is_put_off:
            return
        try:
            self._waiting = self._started(hook, recent)
        except OSError as error:
            log.warning("Nothing is started ahead: %s action=spare_failed", error)
        if self._waiting is None:
            self._engine.proxies.drop_reserved()

    def _started(self, hook: Hook, recent: Call) -> SpareProcess | None:
        """One for a crawl like a recent one; None where none could use it. OSError where it cannot be started."""
        call = self._call(hook, recent, self._engine.proxies.reserve())
        if self._unwanted is not None and call.is_like(self._unwanted):
            return None
        spare = SpareProcess(self._engine, call)
        spare.start()
        self._living.add(spare)
        spare.ended.add_done_callback(partial(self._has_ended, spare))
        return spare

    def _may_wait(self) -> bool:
        """Whether one may take memory while nobody uses it."""
        return (
            not (self._engine.stopping or drain_problem())
            and self._engine.loop.time() - self._used_at < KEPT_FOR
            and can_spare(MEMORY_MIN)
            and self._engine.disk.has_space()
        )

    def _call(self, hook: Hook, call: Call, proxy: Proxy | None = None) -> SpareCall:
        """What would be started ahead for a crawl with the settings of this one."""
        env, proxied_env = (self._environment(hook, call, each) for each in (None, proxy))
        return SpareCall(hook, env, proxied_env)

    def _environment(self, hook: Hook, call: Call, proxy: Proxy | None) -> dict[str, str]:
        programs = self._engine.programs
        bare = Call(
            DATA_FOLDER.spares, {}, {}, {}, call.settings, programs.paths, versions=programs.versions, proxy=proxy
        )
        return prepare_hook(hook, bare).env

    # --- by a command -----------------------------------------------------------------------------------------

    def adopt(self, early: EarlySpare) -> None:
        """Have the one wait that our command has started."""
        hook = next((hook for hook in discover_hooks("Crawl") if str(hook.path) == early.recipe.hook), None)
        if hook is None:
            early.release()
            return
        call = SpareCall(hook, early.recipe.env, {})
        self._engine.proxies.adopt_reserved(early.detach_port())
        self._waiting = SpareProcess.of_command(self._engine, call, early)
        self._engine.starter.later_after = WARM_UP_AFTER
        self._used_at = self._engine.loop.time()

    def _leave_recipe(self, hook: Hook | None, call: Call) -> None:
        """For the next command like ours: it starts one before it has loaded what this worker is made of."""
        path = early_spare.recipe_path(DATA_FOLDER.root)
        try:
            if hook is None:
                path.unlink(missing_ok=True)
            else:
                self._recipe(hook, call).leave(path)
        except OSError as error:
            log.warning("The next command starts no browser ahead: %s action=recipe_not_written", error)

    def _recipe(self, hook: Hook, call: Call) -> SpareRecipe:
        proxy = Proxy(f"{LOOPBACK}:0", "")
        one = self._call(hook, call, proxy)
        return SpareRecipe(
            program=early_spare.program(),
            options=early_spare.options_of(sys.argv[1:]),
            hook=str(hook.path),
            argv=list(one.argv),
            folder=str(DATA_FOLDER.spares / hook.plugin),
            env=dict(one.env),
            modules=str(HOOK_PATH),
            proxied=early_spare.template(one.env, one.proxied_env, proxy.place, USER),
            file_size_limit=self._engine.file_max,
        )

    # --- handing over -----------------------------------------------------------------------------------------

    def claim(self, crawl_id: UUID, call: Call) -> SpareProcess | None:
        """The one that waits, if it is just what this crawl's hook would start; one that is not, is ended.

        The crawl has its port from now on, so ask before the crawl gets another one.
        """
        waiting, hook = self._waiting, hook_of(call)
        if waiting is None or hook is None or self._engine.proxies.is_known(crawl_id):
            return None
        self._waiting = None
        if waiting.descriptor is None or not self._call(hook, call).is_like(waiting.call):
            self._discard(waiting)
            return None
        self._engine.proxies.assign_reserved(crawl_id)
        waiting.take(crawl_id)
        return waiting

    # --- ending -----------------------------------------------------------------------------------------------

    def review(self) -> None:
        """End the one that waits if it has waited for long, while memory is short, and while the machine drains."""
        if self._waiting is not None and not self._may_wait():
            log.info("What was started ahead is ended action=spare_ended")
            waiting, self._waiting, self._is_put_off = self._waiting, None, True
            self._discard(waiting)
        elif self._is_put_off and self._may_wait():
            self.start_soon()

    def _discard(self, spare: SpareProcess) -> None:
        spare.release()
        self._engine.proxies.drop_reserved()

    def _has_ended(self, spare: SpareProcess, _: object) -> None:
        self._living.discard(spare)
        if spare.is_unwanted:
            self._unwanted = spare.call
        if self._waiting is spare:
            self._waiting = None
            self._engine.proxies.drop_reserved()

    async def end(self) -> None:
        """End them all; crawls have let go of theirs."""
        if self._waiting is not None:
            self._waiting.release()
            self._waiting = None
        if self._timer is not None:
            self._timer.cancel()
        for spare in list(self._living):
            await spare.end(END_TIME)


def hook_of(call: Call) -> Hook | None:
    """The hook of a crawl of which a part may be started ahead; None where it has none, or begins with a file."""
    if not call.settings.get_flag("SPARE_BROWSER") or is_file_url(call.arguments.get("url", "")):
        return None
    hooks = (hook for hook in discover_hooks("Crawl") if hook.spare and hook.interpreter == "python")
    return next((hook for hook in hooks if call.settings.reason_to_skip(hook) is None), None)
