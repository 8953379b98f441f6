"""Owns a script view for a browser without a network, which asks us for all that the page wants.

    view = OfflineView(folder, snapshot.pk, url)
    reply = view.answer(view.address, "Document")  # and so for each request: send its status, headers and body
    reply.close()

The document belongs in a frame with the attribute ``sandbox`` of :data:`OfflineView.sandbox`, or alone in its tab.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from archivebox.replay.addresses import Replay, sandbox
from archivebox.replay.recorded import Reply
from archivebox.replay.scripts.place import LABEL_BYTES, origin_of_view
from archivebox.replay.scripts.policy import VIOLATIONS, view_policy
from archivebox.replay.scripts.requests import DOCUMENT, FRAMES, ScriptedPage, ViewRequest, page_place

HTTP_PORT = 80
APP = "localhost"
DESTINATIONS = {"Document": "iframe", "Fetch": "empty", "XHR": "empty", "EventSource": "empty", "Ping": "empty"}
"""What the DevTools protocol calls a resource (Network.ResourceType), as the Fetch standard does."""


class OfflineView:
    """One view of the page ``url``, recorded in ``folder``. ValueError where it is no page of the web.

    ``violation_count``: what its policy has refused so far.
    """

    sandbox = sandbox(own=True, scripts=True)

    def __init__(self, folder: Path, snapshot_id: UUID, url: str) -> None:
        place = page_place(folder, snapshot_id, url)
        self._page = ScriptedPage(folder, place)
        self._origin = origin_of_view(Replay(HTTP_PORT), secrets.token_hex(LABEL_BYTES), APP).removesuffix(":80")
        self.address = self._origin + place.address(url)
        self.violation_count = 0

    def answer(
        self, url: str, kind: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Reply:
        """What the listener would send, with all headers that matter. Blocks. ForbiddenError, NotThereError.

        ``kind``: the DevTools protocol's ResourceType. ``headers``: those of the request, names in any case.
        """
        given = {name.lower(): value for name, value in (headers or {}).items()}
        request = ViewRequest(
            url.removeprefix(self._origin),
            method,
            DESTINATIONS.get(kind, kind.lower()),
            given.get("referer", ""),
            given.get(DOCUMENT, ""),
            given.get("range", ""),
            body,
        )
        self.violation_count += request.target == VIOLATIONS
        reply = self._page.reply(request, apart=True)
        runs = request.may_run and (reply.is_clean or request.destination not in FRAMES)
        host = self._origin.partition("://")[2]
        is_clean = reply.is_clean or runs
        policy = reply.policy(view_policy(host, reply.mimetype, scripts=runs, is_clean=is_clean))
        more = {"content-security-policy": policy, "referrer-policy": "same-origin", "cache-control": "no-store"}
        reply.headers = {"content-type": reply.mimetype, **more, **reply.headers}
        return reply
