"""Whether a page plays something, as far as what was kept of it tells: yt-dlp itself costs a second to say no."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from archivebox.plugins.base.responses import read_index
from archivebox.plugins.base.stored_html import find_page

if TYPE_CHECKING:
    from pathlib import Path

# Sites whose pages are players, whatever is seen of them without a login or a click.
_SITES = re.compile(
    r"https?://([^/?#]+\.)?(youtube\.com|youtu\.be|vimeo\.com|dailymotion\.com|twitch\.tv|soundcloud\.com|bandcamp\.com"
    r"|mixcloud\.com|tiktok\.com|rumble\.com|odysee\.com|bilibili\.com|nicovideo\.jp|peertube\.[^/]+|media\.ccc\.de"
    r"|podcasts\.apple\.com|archive\.org/details)([/?#:]|$)",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"<(video|audio)[\s>]"
    r"|<enclosure[^>]+type=[\"']?(video|audio)/"
    r"|(property|name)=[\"']?(og:video|og:audio|twitter:player)\b"
    r"|\"@type\"\s*:\s*\[?\s*\"(VideoObject|AudioObject)\""
    r"|<(iframe|embed)[^>]+src=[\"']?(https?:)?//([^/\"'>]+\.)?(youtube(-nocookie)?\.com/embed|player\.vimeo\.com"
    r"|dailymotion\.com/embed|w\.soundcloud\.com|player\.twitch\.tv|bandcamp\.com/EmbeddedPlayer|[^/\"'>]+/videos/embed/)"
    r"|\.(m3u8|mpd)\b",
    re.IGNORECASE,
)
_MANIFEST = re.compile(r"(application|audio)/(x-|vnd\.apple\.)?mpegurl|application/dash\+xml", re.IGNORECASE)
_MEDIA = re.compile(r"(video|audio)/(?!(x-)?mpegurl)", re.IGNORECASE)


def is_worth_asking(url: str, snapshot_folder: Path) -> bool:
    """Whether yt-dlp may find something: by the site, the page's markup, what its player fetched; or nothing is known.

    Where no other plugin has kept the page, only yt-dlp can say.
    """
    if _SITES.match(url):
        return True
    page = find_page(snapshot_folder)
    if page is None or _MARKUP.search(page.html):
        return True
    return any(_MEDIA.match(kind) or _MANIFEST.match(kind) for _, kind in _responses(snapshot_folder))


def manifest(snapshot_folder: Path) -> str:
    """The first list of streams or segments (HLS, DASH) that the page's player fetched, "" when there was none."""
    return next((url for url, kind in _responses(snapshot_folder) if _MANIFEST.match(kind)), "")


def _responses(snapshot_folder: Path) -> list[tuple[str, str]]:
    """URL and media type of each response that was recorded."""
    return [(entry["url"], entry.get("mime", "")) for entry in read_index(str(snapshot_folder / "responses"))]
