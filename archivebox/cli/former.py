"""Owns the words and settings of earlier ArchiveBoxes: which of ours they stand for, or what to use instead.

Settings that have a successor are its aliases, in ``config/core.py`` and in ``config.json`` of the plugins.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

SAME = {
    ("setup",): ("install",),
    ("extract",): ("archiveresult", "create", "--run"),
    ("shell",): ("manage", "shell"),
    ("pluginmap",): ("plugin", "list"),
    ("config", "--get"): ("config", "get"),
    ("config", "--set"): ("config", "set"),
    ("config", "--reset"): ("config", "unset"),
    ("config", "--search"): ("config", "list", "--all"),
    ("schedule", "--show"): ("schedule", "list"),
}
"""Words at the beginning of a command → ours, which take the rest of it as it is."""

INSTEAD = {
    "archive": "`archivebox add URL` archives a page, `archivebox update` tries again what failed.",
    "oneshot": "`archivebox --data-dir FOLDER add URL` keeps a page in a collection of its own.",
}
"""Commands that are not here → what to use."""


class FormerOption(NamedTuple):
    """An option of earlier versions that is taken without effect, or answered by what to use."""

    name: str
    instead: str = ""
    """Empty: what it asked for is done anyway."""
    takes_value: bool = False

    def option(self) -> click.Option:
        """The same for a command, where no page of help shows it."""
        callback = self._refuse if self.instead else None
        return click.Option(
            [self.name], is_flag=not self.takes_value, hidden=True, expose_value=False, callback=callback
        )

    def _refuse(self, ctx: click.Context, _param: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"There is no option {self.name} any more. {self.instead}.", ctx)


OPTIONS: dict[str, tuple[FormerOption, ...]] = {
    "add": (
        FormerOption("--init"),
        FormerOption("--no-only-new"),
        FormerOption("--update-all", "`archivebox update --all` tries again what failed or is missing of all pages"),
        FormerOption("--snapshot-max-size", "`--config HOOK_FILE_MAX=BYTES` bounds each file", takes_value=True),
        FormerOption("--crawl-timeout", "`archivebox crawl cancel ID` ends a crawl", takes_value=True),
    ),
    "init": (
        FormerOption("--quick"),
        FormerOption("--setup", "Run `archivebox init`, then `archivebox install`"),
        FormerOption("--install", "Run `archivebox init`, then `archivebox install`"),
    ),
    "list": (
        FormerOption("--search", "`archivebox search WORDS` searches titles, URLs, tags and texts", takes_value=True),
    ),
    "persona create": (
        FormerOption("--import", "`archivebox persona import-cookies NAME FILE` takes a cookies.txt", True),
    ),
    "remove": (FormerOption("--delete"),),
    "schedule": (
        FormerOption("--add"),
        FormerOption("--quiet"),
        FormerOption(
            "--clear", "`archivebox schedule remove ID` forgets a schedule, `archivebox schedule list` has them"
        ),
        FormerOption("--run-all", "`archivebox schedule run ID` makes the next crawl of a schedule now"),
        FormerOption("--foreground", "Schedules are kept by `archivebox server` and `archivebox run --daemon`"),
        FormerOption("--overwrite", "--recapture archives links again that were archived"),
        FormerOption("--update", "Pages are captured each time, links once; --recapture captures links again, too"),
    ),
    "server": (
        FormerOption("--init"),
        FormerOption("--quick-init"),
        FormerOption("--createsuperuser", "Run `archivebox manage createsuperuser`, then `archivebox server`"),
        FormerOption("--debug", "Run it with LOG_LEVEL=DEBUG in its environment"),
        FormerOption("--reload", "End it and start it again"),
        FormerOption("--daemonize", "Start it from a service of the system, or as `nohup archivebox server &`"),
    ),
    "update": (
        FormerOption("--resume", takes_value=True),
        FormerOption("--batch-size", takes_value=True),
        FormerOption("--only-new", "`archivebox run` processes the queue without retries"),
        FormerOption("--index-only", "`archivebox manage reindex` brings the search index up to date"),
        FormerOption("--overwrite", "`archivebox list --csv url | archivebox add --overwrite` captures pages again"),
        FormerOption("--continuous", "`archivebox run --daemon` keeps processing the queue"),
    ),
}
"""Command → its former options."""

_WITH_OUR_WORDS = ("-h", "--help", "--json", "--data-dir")
"""Options that a group of commands has itself."""


def former_options(command: str) -> list[click.Parameter]:
    """Hidden options that stand for those of earlier versions."""
    return [one.option() for one in OPTIONS[command]]


def translated(words: Sequence[str]) -> list[str]:
    """What was typed, in the words of this version."""
    for former, ours in SAME.items():
        if tuple(words[: len(former)]) == former:
            return [*ours, *words[len(former) :]]
    if words and words[0] == "config" and set(words[1:]) <= {"--json"}:
        return ["config", "list", "--all", *words[1:]]
    if len(words) > 1 and words[0] == "schedule" and _is_to_be_added(words[1]):
        return ["schedule", "add", *words[1:]]
    return list(words)


def _is_to_be_added(word: str) -> bool:
    """Whether a schedule was made by such a word, without a command of its own."""
    return "://" in word or (word.startswith("-") and not word.startswith(_WITH_OUR_WORDS))


_SWITCH = "{}_ENABLED turns it on and off"
_FOR_ALL = "{} applies to every program"
_BY_PAGE = "the page itself decides which plugins apply to it"

SETTINGS_INSTEAD = {
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
    return [(name, SETTINGS_INSTEAD[name]) for name in sorted(set(names) & SETTINGS_INSTEAD.keys())]
