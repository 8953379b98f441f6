"""Owns the answers of the replay listener: files and recorded pages of one snapshot to whoever has its capability.

It reads no cookie and sets none, knows no log-in and no form.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from archivebox.core.page_storage.folder import STORE_RETRY_AFTER, STORE_UNAVAILABLE
from archivebox.hooks import outputs_of
from archivebox.lib.files import mimetype_of
from archivebox.lib.object_store import ObjectStoreError
from archivebox.replay import addresses, capability
from archivebox.replay.addresses import ReplayContext, is_shared_font_or_mask, is_url, snapshot_of_host
from archivebox.replay.answer import Make, Receive, ReplayResponse, Scope, Send, headers_of, run_in_turn, target_of
from archivebox.replay.capability import Capability, Purpose
from archivebox.replay.copies import has_links, is_xml_file, linked_copy, xml_copy
from archivebox.replay.files import NotThereError, split_path
from archivebox.replay.folders import PageFiles
from archivebox.replay.pages import listing_page
from archivebox.replay.recorded import RecordedRequest, reply_to
from archivebox.replay.scripts.listener import ViewAnswer, ViewListener
from archivebox.replay.scripts.place import label_of_host
from archivebox.replay.scripts.requests import FRAMES

log = logging.getLogger(__name__)

_GONE = ("Not here", "There is no such file in this snapshot.")
_EXPIRED = ("This address has expired", "Open the snapshot in ArchiveBox again to get a fresh one.")

_UNKNOWN = ("Not a name of this server", "Add the name to ALLOWED_HOSTS if it is yours.")

LookUp = Callable[[Capability], PageFiles | None]


class EndedError(Exception):
    """The viewer to whom a capability was given has logged out, or may not look any more."""


class Listener:
    """The application.

    ``folder_opened_by`` says which files a capability opens now; EndedError: none any more. It may block.
    ``is_known_host`` says whether a name in a request is one of ours; ``views`` answers on the hosts of script views.
    """

    def __init__(
        self, folder_opened_by: LookUp, is_known_host: Callable[[str], bool], views: ViewListener, app_url: str = ""
    ) -> None:
        self._look_up = folder_opened_by
        self._views = views
        self._is_known_host = is_known_host
        self._app_url = app_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = headers_of(scope).get("host", "")
        is_known = self._is_known_host(host)
        label = label_of_host(host)
        make = ViewAnswer if label else ReplayResponse
        answer = make(scope, receive, send, host if is_known else "", self._app_url)
        if not is_known:
            await answer.error(400, *_UNKNOWN)
            return
        if scope["method"] not in {"GET", "HEAD"} and not label:
            await answer.error(405, "Only reading is possible here", "Archived pages cannot receive forms.")
            return
        try:
            if isinstance(answer, ViewAnswer):
                await self._views.answer(scope, receive, answer, label)
            else:
                await self._answer(target_of(scope), host, answer)
        except NotThereError:
            await answer.error(404, *_GONE)
        except EndedError:
            await answer.error(403, *_EXPIRED)
        except ObjectStoreError as error:
            log.warning("%s action=store_failed", error)
            title = "The files are not available now"
            await answer.error(503, title, STORE_UNAVAILABLE, retry_after=STORE_RETRY_AFTER)

    async def _answer(self, target: str, host: str, answer: ReplayResponse) -> None:
        path, mark, query = target.partition("?")
        token, _, rest = path.lstrip("/").partition("/")
        place, shown, frame = addresses.read(token, rest)
        names = [] if is_url(shown) else split_path(shown)
        right = capability.read(token, "/".join(names))
        own = snapshot_of_host(host)
        if right is None or (own is not None and own != right.snapshot_id):
            raise EndedError
        # As a tab of its own a page with scripts can send what it sees anywhere; a frame of ours cannot be led away.
        # A recorded page runs its scripts in a view of its own (archivebox.replay.scripts); this is for copies.
        is_framed = answer.asked.get("sec-fetch-dest") in FRAMES
        answer.scripts = right.purpose is Purpose.SCRIPTS and is_framed and not is_url(shown)
        answer.is_picture = right.purpose is Purpose.FILE
        answer.is_shared = right.is_shared
        answer.is_shared_font_or_mask = is_shared_font_or_mask(
            host, answer.asked.get("origin", ""), answer.asked.get("sec-fetch-dest", "")
        )
        files = await asyncio.to_thread(self._look_up, right)
        if files is None:
            raise NotThereError
        if place is not None and not self._is_known_host(place.app.partition("://")[2]):
            raise NotThereError
        # A script could click its own links; without one, only a person does.
        if place is not None and is_url(shown):
            answer.links = not answer.is_shared
            asked = RecordedRequest(place, f"{shown}{mark}{query}", range=answer.asked.get("range", ""), frame=frame)
            await self._recorded(answer, files, asked)
        else:
            await self._file(answer, path, files, names, place or ReplayContext(token, "", ""))

    async def _recorded(self, answer: ReplayResponse, files: PageFiles, asked: RecordedRequest) -> None:
        folder = await asyncio.to_thread(files.folder)
        await self._send(answer, partial(reply_to, folder, asked))

    async def _send(self, answer: ReplayResponse, make: Make) -> None:
        reply = await run_in_turn(make)
        try:
            await answer.reply(reply)
        finally:
            reply.close()

    async def _file(
        self, answer: ReplayResponse, path: str, files: PageFiles, names: list[str], place: ReplayContext
    ) -> None:
        if answer.is_shared and not (answer.is_picture or _is_article_picture(names)):
            raise NotThereError
        opened = await asyncio.to_thread(files.open, names)
        try:
            if has_links(opened):
                opened = document = await asyncio.to_thread(opened.local)
                answer.links = bool(place.app) and not (answer.scripts or answer.is_shared)
                await self._send(answer, partial(linked_copy, document, place, scripts=answer.scripts))
            elif is_xml_file(opened) and not answer.is_picture:
                opened = document = await asyncio.to_thread(opened.local)
                await self._send(answer, partial(xml_copy, document, place))
            elif not opened.is_folder:
                await answer.file(opened)
            elif path.endswith("/"):
                await answer.page(200, listing_page(names, await asyncio.to_thread(opened.entries)))
            else:
                await answer.redirect(path.rpartition("/")[2] + "/")
        finally:
            opened.close()


def _is_article_picture(names: Sequence[str]) -> bool:
    """Whether this is a picture beside an article, which a share link opens as well."""
    if len(names) < 2 or not mimetype_of(names[-1]).startswith("image/"):
        return False
    return any(output.role == "reader" for output in outputs_of(names[0]))
