"""The command line of one run of wget, of version 1 or of wget2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from archivebox.plugins.base import Settings

# Nothing of the person's own: no ~/.wgetrc, no passwords of ~/.netrc, no ~/.wget-hsts. One try: ours come later.
_ALONE = ["--no-config", "--no-netrc", "--no-hsts", "--tries=1"]
_SECRET_OPTIONS = frozenset(
    f"--{name}"
    for name in (
        "header",
        "user",
        "password",
        "http-user",
        "http-password",
        "proxy-user",
        "proxy-password",
        "post-data",
    )
)


@dataclass(frozen=True, slots=True)
class WgetPlan:
    """Where one run writes, relative to its folder: its log, and its WARC without `.warc.gz`."""

    program: str
    is_wget2: bool
    log: str
    warc: str
    limit: int  # bytes of one file, and of all together; 0: no limit
    seconds: float  # for the whole run


def build(plan: WgetPlan, settings: Settings, url: str) -> list[str]:
    """The argv; the URL comes after `--`, so that it is never an option."""
    return [
        plan.program,
        *settings.list("WGET_ARGS"),
        *_ALONE,
        *_reporting(plan),
        *_limits(plan),
        *_identity(settings),
        *_permissions(plan, settings),
        *_warc(plan, settings),
        *settings.list("WGET_ARGS_EXTRA"),
        "--",
        url,
    ]


def secrets(settings: Settings) -> tuple[list[str], list[str]] | None:
    """Names of headers and values of options that identify the one who archives; None where there is nothing of it."""
    names: list[str] = []
    values: list[str] = []
    for word in [*settings.list("WGET_ARGS"), *settings.list("WGET_ARGS_EXTRA")]:
        option, _, value = word.partition("=")
        if option == "--header":
            name, _, value = value.partition(":")
            names.append(name.strip().lower())
        if option in _SECRET_OPTIONS and value.strip():
            values.append(value.strip())
    return (names, values) if values or _cookies(settings) else None


def _reporting(plan: WgetPlan) -> list[str]:
    """wget2 with --no-verbose says nothing of what it saves."""
    quiet = ["--progress=none"] if plan.is_wget2 else ["--no-verbose"]
    return ["--server-response", *quiet, f"--output-file={plan.log}"]


def _limits(plan: WgetPlan) -> list[str]:
    quota = [f"--quota={plan.limit}"] if plan.limit else []
    # A third of our time for one silent connection, so that one dead picture does not cost the page.
    waiting = f"--timeout={max(1.0, plan.seconds / 3):.0f}"
    return [waiting, *quota]


def _identity(settings: Settings) -> list[str]:
    agent = settings.str("WGET_USER_AGENT")
    cookies = _cookies(settings)
    return [
        *([f"--user-agent={agent}"] if agent else []),
        *([f"--load-cookies={cookies}"] if cookies else []),
    ]


def _cookies(settings: Settings) -> str:
    return settings.path("COOKIES_FILE")


def _permissions(plan: WgetPlan, settings: Settings) -> list[str]:
    """wget2 would ask the issuers of certificates about them (OCSP); nobody but the site is asked by us."""
    words = ["--no-ocsp", "--robots=off"] if plan.is_wget2 else ["--execute=robots=off"]
    if not settings.bool("CHECK_SSL_VALIDITY"):
        words.append("--no-check-certificate")
    return words


def _warc(plan: WgetPlan, settings: Settings) -> list[str]:
    """wget2 writes no WARC."""
    if plan.is_wget2 or not settings.bool("WGET_SAVE_WARC"):
        return []
    return [f"--warc-file={plan.warc}", "--warc-tempdir=."]
