"""Owns the settings of earlier versions that have no successor of the same meaning here: what to use instead.

Those that have one are its aliases, in ``config/core.py`` and in ``config.json`` of the plugins.
"""

from collections.abc import Iterable

_SWITCH = "{}_ENABLED turns it on and off"
_FOR_ALL = "{} applies to every program"
_BY_PAGE = "the page itself decides which plugins apply to it"

INSTEAD = {
    "ADMIN_BASE_URL": "BASE_URL is the address that people type",
    "ARCHIVE_BASE_URL": "REPLAY_URL is the address of archived pages",
    "CSRF_TRUSTED_ORIGINS": "BASE_URL is the address that people type, which is trusted",
    "CURL_ARGS": "curl is not used",
    "CURL_BINARY": "curl is not used",
    "CURL_USER_AGENT": "curl is not used; USER_AGENT applies to every program",
    "CUSTOM_TEMPLATES_DIR": "templates cannot be replaced",
    "DEFAULT_PERSONA": "ACTIVE_PERSONA names the persona of crawls for which none is chosen",
    "FOOTER_INFO": "the pages have no such footer",
    "GALLERYDL_CHECK_SSL_VALIDITY": _FOR_ALL.format("CHECK_SSL_VALIDITY"),
    "GALLERYDL_COOKIES_FILE": _FOR_ALL.format("COOKIES_FILE"),
    "GIT_DOMAINS": "known hosts and addresses that end in .git are mirrored",
    "LDAP": "people log in by OpenID Connect (OIDC_ISSUER) or at a proxy (REVERSE_PROXY_USER_HEADER)",
    "LDAP_SERVER_URI": "people log in by OpenID Connect (OIDC_ISSUER) or at a proxy (REVERSE_PROXY_USER_HEADER)",
    "LISTEN_HOST": "BIND_ADDR is the address that the server listens on",
    "ONLY_NEW": "`archivebox add --update` runs only the missing hooks of archived pages",
    "OUTPUT_DIR": "DATA_DIR names the folder of the collection",
    "RESTRICT_FILE_NAMES": "WGET_ARGS has --restrict-file-names",
    "SAVE_ALLOWLIST": _BY_PAGE,
    "SAVE_DENYLIST": _BY_PAGE,
    "SAVE_PLAYLISTS": "YTDLP_ARGS_EXTRA takes options such as --no-playlist",
    "SAVE_WGET_REQUISITES": "WGET_ARGS has --page-requisites",
    "SNAPSHOTS_PER_PAGE": "long lists are shown in parts",
    "SONIC_COLLECTION": "its name is archivebox; SEARCH_BACKEND_SONIC_BUCKET names the bucket",
    "USE_CURL": "curl is not used",
    "USE_GIT": _SWITCH.format("GIT"),
    "USE_INDEXING_BACKEND": "SEARCH_BACKEND_ENGINE, when empty, indexes nothing",
    "USE_MERCURY": _SWITCH.format("MERCURY"),
    "USE_NODE": "plugins whose programs need Node are turned on and off one by one",
    "USE_READABILITY": _SWITCH.format("READABILITY"),
    "USE_SEARCHING_BACKEND": "SEARCH_BACKEND_ENGINE, when empty, searches titles and URLs alone",
    "USE_SINGLEFILE": _SWITCH.format("SINGLEFILE"),
    "USE_WGET": _SWITCH.format("WGET"),
    "USE_YOUTUBEDL": _SWITCH.format("YTDLP"),
    "WGET_AUTO_COMPRESSION": "WGET_ARGS_EXTRA takes options such as --compression=auto",
    "WGET_CHECK_SSL_VALIDITY": _FOR_ALL.format("CHECK_SSL_VALIDITY"),
    "WGET_COOKIES_FILE": _FOR_ALL.format("COOKIES_FILE"),
    "YTDLP_CHECK_SSL_VALIDITY": _FOR_ALL.format("CHECK_SSL_VALIDITY"),
    "YTDLP_COOKIES_FILE": _FOR_ALL.format("COOKIES_FILE"),
    "YTDLP_USER_AGENT": _FOR_ALL.format("USER_AGENT"),
}
"""Name → what holds here, as the rest of a sentence."""


def without_effect(names: Iterable[str]) -> list[tuple[str, str]]:
    """Those of ``names`` that an earlier version would have read, each with what holds here."""
    return [(name, INSTEAD[name]) for name in sorted(set(names) & INSTEAD.keys())]
