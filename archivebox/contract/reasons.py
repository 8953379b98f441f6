"""Owns every reason a piece of work may end with: a code, a sentence for people, and what to do next."""

from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """A reason code, as rows keep it; one that speaks of something carries its name: ``missing_binary:wget``."""

    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LOST = "lost"
    WORKER_LOST = "worker_lost"
    RELEASED = "released"
    CRASHED = "crashed"
    SIGNALLED = "signalled"
    DECLARED = "declared"
    TEMPORARY_FAILURE = "temporary_failure"
    NO_SUCH_HOST = "no_such_host"
    CONNECTION_REFUSED = "connection_refused"
    UNREACHABLE = "unreachable"
    NO_ANSWER = "no_answer"
    CONNECTION_LOST = "connection_lost"
    TLS_FAILED = "tls_failed"
    REDIRECT_LOOP = "redirect_loop"
    NO_PAGE = "no_page"
    SERVER_BUSY = "server_busy"
    CHALLENGE = "challenge"
    LOGIN_WALL = "login_wall"
    UNFINISHED = "unfinished"
    UNKNOWN_STATUS = "unknown_status"
    NOT_APPLICABLE = "not_applicable"
    NOTHING_CAME = "nothing_came"
    KEPT_OUT = "kept_out"
    PRIVATE_PAGE = "private_page"
    DISABLED = "disabled"
    NOT_CHOSEN = "not_chosen"
    OTHER_ENGINE = "other_engine"
    NO_SESSION = "no_session"
    PAGE_LOST = "page_lost"
    PAGE_GONE = "page_gone"
    MISSING_BINARY = "missing_binary"
    MISSING_MODULE = "missing_module"
    MISSING_NODE_MODULE = "missing_node_module"
    MISSING_PLUGIN = "missing_plugin"
    COULD_NOT_START = "could_not_start"
    FOLDER_UNUSABLE = "folder_unusable"
    MISCONFIGURED = "misconfigured"
    USAGE_ERROR = "usage_error"
    RECORD_REFUSED = "record_refused"
    TOO_MANY_RECORDS = "too_many_records"
    HOOK_FAILED = "hook_failed"
    INSTALL_FAILED = "install_failed"
    NEEDS_ROOT = "needs_root"
    LOOKED_FOR_AGAIN = "looked_for_again"
    UPGRADE = "upgrade"
    PRIVATE_ADDRESS = "private_address"
    BAD_URL = "bad_url"
    SCHEME_REFUSED = "scheme_refused"
    OUT_OF_SCOPE = "out_of_scope"
    DENIED = "denied"
    NOT_ALLOWED = "not_allowed"
    TOO_DEEP = "too_deep"
    ARCHIVED_BEFORE = "archived_before"
    LIMIT_REACHED = "limit_reached"
    TOO_MUCH_FOUND = "too_much_found"
    SIZE_REACHED = "size_reached"
    FILES_MISSING = "files_missing"
    DIRECT_NETWORK = "direct_network"
    PURGED = "purged"
    BEING_ADDED = "being_added"
    STORE_UNAVAILABLE = "store_unavailable"

    @property
    def sentence(self) -> str:
        """What happened, for people; nothing particular is named."""
        return _TEXTS[self].general

    @property
    def action(self) -> str:
        """What to do next; empty where nothing is to be done."""
        return _TEXTS[self].action.replace("{}", "it")

    def of(self, detail: str) -> str:
        """The code with what it speaks of: ``Reason.MISSING_BINARY.of("wget")`` → ``missing_binary:wget``."""
        return f"{self.value}:{detail}"


class _Text(NamedTuple):
    general: str
    particular: str
    action: str


def _text(general: str, action: str = "", particular: str = "") -> _Text:
    return _Text(general, particular or general, action)


_RETRIES = "It is retried a few times by itself; after that, retry it."
_TEXTS: dict[Reason, _Text] = {
    Reason.TIMEOUT: _text(
        "It exceeded its time limit and was stopped.",
        "It is retried a few times by itself. Allow more time if this happens often.",
        "It exceeded its time limit of {} seconds and was stopped.",
    ),
    Reason.CANCELLED: _text("It was cancelled.", "Add the URL again to archive it."),
    Reason.LOST: _text("It stopped unexpectedly.", _RETRIES),
    Reason.WORKER_LOST: _text(
        "The worker that ran it died, several times in a row.",
        "See the worker's log for what killed it, then run `archivebox update`.",
    ),
    Reason.RELEASED: _text("It was put back into the queue before it had finished."),
    Reason.CRASHED: _text(
        "It ended with an error before it could say what happened.",
        "Read its error output. It is retried a few times, since a full disk or a lost helper passes. If it ends the"
        " same way again, its plugin has a defect: report it, and run `archivebox update` once it is corrected.",
        "It ended with an error before it could say what happened: {}.",
    ),
    Reason.SIGNALLED: _text(
        "It was killed by a signal that ArchiveBox did not send.",
        "Check whether the machine ran out of memory. " + _RETRIES,
        "It was killed by signal {}, which ArchiveBox did not send.",
    ),
    Reason.DECLARED: _text("The page has nothing of this kind."),
    Reason.TEMPORARY_FAILURE: _text("It ran into a problem that may be temporary.", _RETRIES),
    Reason.NO_SUCH_HOST: _text(
        "The host name does not exist.", "Check the spelling of the address and that the site still exists, then retry."
    ),
    Reason.CONNECTION_REFUSED: _text("The host exists, but refused the connection.", "Retry when the site is up."),
    Reason.UNREACHABLE: _text("The host could not be reached.", "Check this machine's network connection, then retry."),
    Reason.NO_ANSWER: _text(
        "The server did not answer in time.", "Retry later, or allow more time (CHROME_PAGELOAD_TIMEOUT)."
    ),
    Reason.CONNECTION_LOST: _text("The connection closed before the page was complete.", "Retry."),
    Reason.TLS_FAILED: _text(
        "No secure connection could be made: the server's certificate or its TLS is not valid.",
        "Retry when the site has fixed that, or with http:// if it answers there, too.",
    ),
    Reason.REDIRECT_LOOP: _text(
        "Too many redirects.", "It may need cookies: retry with a persona that is logged in there."
    ),
    Reason.NO_PAGE: _text(
        "The server answered, but without a page.", "Check that the address opens in a browser, then retry."
    ),
    Reason.SERVER_BUSY: _text(
        "The server asked to retry later instead of sending the page.",
        "It is retried by itself at the time that the server gave, or after some minutes; after that, retry it.",
    ),
    Reason.CHALLENGE: _text(
        "The site showed a bot check instead of the page.",
        "Open it in a browser, give that browser's cookies to a persona, then add it again with that persona.",
    ),
    Reason.LOGIN_WALL: _text(
        "The site showed its log-in page instead of the page.",
        "Add it again with a persona that is logged in there.",
    ),
    Reason.UNFINISHED: _text("It was stopped before it finished.", _RETRIES),
    Reason.UNKNOWN_STATUS: _text(
        "It reported an unknown status; its files decided the result.",
        "Correct the hook: a status is succeeded, noresults, skipped or failed.",
        'It reported the unknown status "{}"; its files decided the result.',
    ),
    Reason.NOT_APPLICABLE: _text("It does not apply to this page.", particular="It is not for {}."),
    Reason.NOTHING_CAME: _text(
        "The page could not be loaded, so nothing could be saved from it.",
        "See the result of the navigation for the reason, and retry that.",
    ),
    Reason.PRIVATE_PAGE: _text(
        "It shares the URL, and the page is private.", "To send it anyway, capture it again and name this plugin."
    ),
    Reason.KEPT_OUT: _text(
        "This page must not be visited.",
        "See the result of {} for the reason, and retry when that has changed.",
        "The plugin {} found that this page must not be visited.",
    ),
    Reason.DISABLED: _text("Its plugin is disabled.", "Set {}=true to run it.", "It is disabled by {}=false."),
    Reason.NOT_CHOSEN: _text(
        "The plugin was not selected for this crawl.", "Name its plugin in PLUGINS (or --plugins) to run it."
    ),
    Reason.OTHER_ENGINE: _text("Another search engine is selected.", "Set SEARCH_BACKEND_ENGINE={} to search with it."),
    Reason.NO_SESSION: _text(
        "It needs the live page, which could not be opened.",
        "See the result of the browser or navigation for the reason, and retry that.",
    ),
    Reason.PAGE_LOST: _text("The live page closed while it was used; it waits until the page is open again."),
    Reason.PAGE_GONE: _text(
        "Its live page closed permanently.", "See the result of the hook that opened the page for the reason."
    ),
    Reason.MISSING_BINARY: _text(
        "A program that it needs is not installed.", "Run `archivebox install`.", "It needs {}, which is not installed."
    ),
    Reason.MISSING_MODULE: _text(
        "It imports a module that is not installed.",
        "Name the package of {} in requirements.txt beside the hook, then run `archivebox install` and"
        " `archivebox update`.",
        "It imports {}, which is not installed.",
    ),
    Reason.MISSING_NODE_MODULE: _text(
        "It loads a Node module that is not installed.",
        "Name the npm package of {} in binaries.jsonl beside the hook, then run `archivebox install` and"
        " `archivebox update`.",
        "It loads the Node module {}, which is not installed.",
    ),
    Reason.MISSING_PLUGIN: _text(
        "A required plugin is missing or disabled.",
        "Install the plugin or enable it.",
        "It requires the plugin {}, which is missing or disabled.",
    ),
    Reason.COULD_NOT_START: _text(
        "It could not be started.",
        "Check that the hook's file is there, may be read, and that its program is installed.",
        "It could not be started: {}.",
    ),
    Reason.FOLDER_UNUSABLE: _text(
        "Its folder in the collection cannot be used.",
        "Check the folder and the disk, then run `archivebox update`.",
        "Its folder in the collection cannot be used: {}.",
    ),
    Reason.MISCONFIGURED: _text(
        "A setting of it is not allowed.",
        "Fix the setting, then `archivebox crawl resume` its crawl, or run `archivebox update` for a page.",
        "A setting of it is not allowed: {}.",
    ),
    Reason.USAGE_ERROR: _text(
        "It did not accept the options it was given.",
        "Name the options it accepts under x-hooks, argv, in its plugin's config.json.",
    ),
    Reason.RECORD_REFUSED: _text(
        "It printed a record that is not allowed; the others were kept.",
        "Correct its plugin, then run `archivebox update`.",
        "It printed a record that is not allowed: {}.",
    ),
    Reason.TOO_MANY_RECORDS: _text(
        "It printed more records than allowed and was stopped; the first ones were saved.",
        "Correct its plugin, then run `archivebox update`.",
        "Output exceeded {}, the limit of a hook, and it was stopped; the first records were saved.",
    ),
    Reason.HOOK_FAILED: _text("A hook failed; nothing was skipped for it.", "See its log.", "{} failed."),
    Reason.LOOKED_FOR_AGAIN: _text("It was missing. ArchiveBox checks whether it was installed since."),
    Reason.UPGRADE: _text("An upgrade was requested: ArchiveBox looks for the newest version."),
    Reason.INSTALL_FAILED: _text(
        "No provider could install the program.", "Install it by hand, or set its path.", "{} could not be installed."
    ),
    Reason.NEEDS_ROOT: _text(
        "It has to be installed by the administrator.", "Run {}, then `archivebox install`.", "It needs: {}"
    ),
    Reason.PRIVATE_ADDRESS: _text(
        "Its host is on a private network, which is not allowed.",
        "Name the host in PRIVATE_NETWORK_ALLOWLIST to allow it.",
        "{} is on a private network, which is not allowed.",
    ),
    Reason.BAD_URL: _text("Not a URL that can be archived.", "Correct it and add it again.", "Not a URL: {}."),
    Reason.SCHEME_REFUSED: _text(
        "Only http and https URLs are archived.",
        "Add the scheme to URL_SCHEMES to allow it.",
        "{} URLs are not archived.",
    ),
    Reason.OUT_OF_SCOPE: _text("It is outside what this crawl covers.", "Widen the crawl's scope to include it."),
    Reason.DENIED: _text("The crawl's denylist matches it.", "Change URL_DENYLIST to include it.", "It matches {}."),
    Reason.NOT_ALLOWED: _text("The crawl's allowlist does not match it.", "Change URL_ALLOWLIST to include it."),
    Reason.TOO_DEEP: _text("It is deeper than the crawl's link depth.", "Raise the crawl's depth."),
    Reason.ARCHIVED_BEFORE: _text(
        "Another crawl of its schedule has archived it.", "Have the schedule archive links again to include it."
    ),
    Reason.LIMIT_REACHED: _text("The crawl has reached its URL limit.", "Raise MAX_URLS."),
    Reason.DIRECT_NETWORK: _text(
        "It connects past the proxy that keeps pages from private networks.",
        "Set ALLOW_DIRECT_NETWORK=true to run it.",
    ),
    Reason.SIZE_REACHED: _text(
        "The crawl has reached its size limit.",
        "Raise MAX_SIZE and resume it, or add again what is missing.",
        "The crawl has reached its size limit of {}.",
    ),
    Reason.FILES_MISSING: _text(
        "Files of the page did not come before its loading was stopped.",
        "Raise CHROME_PAGELOAD_TIMEOUT, then capture it again.",
    ),
    Reason.TOO_MUCH_FOUND: _text(
        "It found more than the limit per page; the rest was skipped.",
        "Raise MAX_URLS_PER_PAGE if it was links, then run `archivebox update`.",
        "It found more than the limit of {} per page; the rest was skipped.",
    ),
    Reason.PURGED: _text("It is being deleted permanently.", "It cannot be restored: add its URL again."),
    Reason.BEING_ADDED: _text(
        "Its URLs are still being added.", "It starts when all are added; if the command was killed, add them again."
    ),
    Reason.STORE_UNAVAILABLE: _text(
        "It is archived, and waits for the object store.",
        "It is stored as soon as the store of STORAGE_URL answers; `archivebox doctor` says what is wrong.",
    ),
}


def split(code: str) -> tuple[Reason | None, str]:
    """A stored code as its reason and what it speaks of; None for a code that this version does not know."""
    name, _, detail = code.partition(":")
    return (Reason(name), detail) if name in _CODES else (None, detail)


_CODES = frozenset(reason.value for reason in Reason)

CONSEQUENCES = frozenset({Reason.NOTHING_CAME, Reason.NO_SESSION, Reason.KEPT_OUT, Reason.PAGE_GONE})
"""What another result of the same page has the reason for."""
OUT_OF_TIME = frozenset({Reason.TIMEOUT, Reason.NO_ANSWER})
"""What more time may mend."""


def sentence(code: str) -> str:
    """What happened, for people, from a stored code with or without a detail."""
    reason, detail = split(code)
    if reason is None:
        return f"It ended for a reason that this version does not know ({code})."
    return _TEXTS[reason].particular.replace("{}", detail) if detail else reason.sentence


def action(code: str) -> str:
    """What to do next, from a stored code; empty where nothing is to be done."""
    reason, detail = split(code)
    return "" if reason is None else _TEXTS[reason].action.replace("{}", detail or "it")
