"""Owns the answers on the hosts of script views: who may see one, and with which headers an answer goes out."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from archivebox.replay.answer import Receive, ReplayResponse, Scope, run_in_turn, target_of
from archivebox.replay.scripts.exchanges import BODY_MOST
from archivebox.replay.scripts.memory import ViewMemory
from archivebox.replay.scripts.place import ScriptPlace
from archivebox.replay.scripts.policy import VIOLATIONS, view_policy
from archivebox.replay.scripts.requests import DOCUMENT, WORKERS, ForbiddenError, ScriptedPage, ViewRequest

_FORBIDDEN = ("Not here", "Nothing that was recorded has this address.")
_TOO_LARGE = ("Too large", "A request may have 1 MB.")
VIOLATIONS_EVERY = 1.0
"""Seconds between two times that refused requests of one view are written down."""


@dataclass(frozen=True, slots=True)
class OpenView:
    """A view that a label opens now."""

    key: UUID
    folder: Path
    place: ScriptPlace


LookUpView = Callable[[str], OpenView]
"""The view with this label; EndedError: none any more. Blocks."""


class ViewAnswer(ReplayResponse):
    """One answer on the host of a view. ``destination``: what it is fetched for."""

    destination = ""

    def _policy(self, mimetype: str) -> str:
        is_document = self.scripts and self.is_clean
        runs = is_document or (self.scripts and self.destination in WORKERS)
        return view_policy(self._host, mimetype, self._app_url, scripts=runs, is_clean=self.is_clean or runs)

    @property
    def _referrer_policy(self) -> str:
        return "same-origin"  # by which a module of another host is known

    @property
    def _kept(self) -> str:
        return "no-store"  # the n-th request has the n-th answer


class ViewListener:
    """The part of the listener that is for script views."""

    def __init__(
        self,
        view_opened_by: LookUpView,
        add_violations: Callable[[UUID, int], None],
        memories: Callable[[UUID], ViewMemory],
    ) -> None:
        """``add_violations`` writes down how often the policy of a view has refused something more; it may block.

        ``memories``: what is remembered of a view, whichever web server is asked.
        """
        self._look_up = view_opened_by
        self._add_violations = add_violations
        self._violations: Counter[UUID] = Counter()
        self._memories = memories

    async def answer(self, scope: Scope, receive: Receive, answer: ViewAnswer, label: str) -> None:
        """Send the answer. EndedError, NotThereError."""
        headers = answer.asked
        if headers.get("service-worker") or headers.get("sec-fetch-dest") == "serviceworker":
            await answer.error(403, *_FORBIDDEN)  # it would outlive the view
            return
        view = await asyncio.to_thread(self._look_up, label)
        body = await _read(receive) if scope["method"] not in {"GET", "HEAD"} else b""
        if body is None:
            await answer.error(413, *_TOO_LARGE)
            return
        target = target_of(scope)
        request = ViewRequest(
            target,
            scope["method"],
            headers.get("sec-fetch-dest", ""),
            headers.get("referer", ""),
            headers.get(DOCUMENT, ""),
            headers.get("range", ""),
            body,
        )
        if target == VIOLATIONS:
            await self._count_violation(view.key)
        answer.scripts, answer.destination = request.may_run, request.destination
        page = ScriptedPage(view.folder, view.place, self._memories(view.key))
        try:
            reply = await run_in_turn(partial(page.reply, request))
        except ForbiddenError:
            await answer.error(403, *_FORBIDDEN)
            return
        try:
            await answer.reply(reply)
        finally:
            reply.close()

    async def _count_violation(self, key: UUID) -> None:
        """Count one; the first who comes writes down those of the next second, as a page can cause thousands."""
        self._violations[key] += 1
        if self._violations[key] == 1:
            try:
                await asyncio.sleep(VIOLATIONS_EVERY)
            finally:
                count = self._violations.pop(key)
            await asyncio.to_thread(self._add_violations, key, count)


async def _read(receive: Receive) -> bytes | None:
    """The body of a request; None for one that is too large, or whose reader has left."""
    body, has_more = b"", True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body, has_more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > BODY_MOST:
            return None
    return body
